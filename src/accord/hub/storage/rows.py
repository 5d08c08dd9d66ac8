"""Rows of the hub's tables, by key: what effects tell of, and undo puts back.

Names of tables and columns are never what a caller gave.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from msgspec import Struct

from accord.hub.domain.kinds import KINDS
from accord.operations.work import Action, Database, Effect
from accord.store.store import Transaction

T = TypeVar("T")


class Table(Struct, frozen=True):
    """Where entities of one kind are kept."""

    name: str
    key: tuple[str, ...] = ("id",)

    def id_of(self, row: Mapping[str, Any]) -> str:
        """What effects call a row: its key, with colons between."""
        return ":".join(str(row[column]) for column in self.key)

    def key_of(self, id: str) -> dict[str, str]:
        """The key of the row that effects call `id`."""
        return dict(zip(self.key, id.split(":", len(self.key) - 1), strict=True))


TABLES: Final[dict[str, Table]] = {
    **{kind: Table("items") for kind in KINDS},
    "comment": Table("comments"),
    "relationship": Table("relationships"),
    "steering_link": Table("steering_links", ("steering_id", "epic_id")),
    "label": Table("labels"),
    "item_label": Table("item_labels", ("item_id", "label_id")),
    "saved_view": Table("saved_views"),
    "requirement_type": Table("requirement_types", ("name",)),
    "relationship_type": Table("relationship_types", ("name",)),
    "lint_suppression": Table("lint_suppressions", ("item_id", "rule")),
    "item_source": Table("item_sources", ("item_id", "source")),
}
"""By kind of effect: what can be undone, given that effects tell rows as they are stored."""


async def insert(db: Transaction, table: str, values: Mapping[str, Any]) -> None:
    """Add a row of ours; `values` has its columns."""
    names = ", ".join(values)
    await db.execute(
        f"INSERT INTO {table} ({names}) VALUES ({places(len(values))})", *values.values()
    )


async def update(
    db: Transaction, table: str, key: Mapping[str, Any], values: Mapping[str, Any]
) -> int:
    """Change columns of the row with this key; how many rows that were."""
    setting = ", ".join(f"{name} = ${place}" for place, name in enumerate(values, 1))
    return await db.execute(
        f"UPDATE {table} SET {setting} WHERE {_matching(key, len(values) + 1)}",
        *values.values(),
        *key.values(),
    )


async def delete(db: Transaction, table: str, key: Mapping[str, Any]) -> int:
    """Take the row with this key away; how many rows that were."""
    return await db.execute(f"DELETE FROM {table} WHERE {_matching(key, 1)}", *key.values())


async def where(db: Database, table: str, column: str, value: str) -> list[dict[str, Any]]:
    """All rows with a value in a column."""
    return [
        _dict(row) for row in await db.fetch(f"SELECT * FROM {table} WHERE {column} = $1", value)
    ]


async def get(db: Database, table: Table, key: Mapping[str, Any]) -> dict[str, Any] | None:
    """The row with this key."""
    found = await db.fetch(f"SELECT * FROM {table.name} WHERE {_matching(key, 1)}", *key.values())
    return _dict(found[0]) if found else None


def effect(action: Action, kind: str, row: Mapping[str, Any], reference_id: str = "") -> Effect:
    """The effect of adding a row of `kind`, or taking it away."""
    return Effect(
        action=action,
        kind=kind,
        id=TABLES[kind].id_of(row),
        reference_id=reference_id,
        version=row.get("version", 0),
        before=row if action == "deleted" else None,
        after=row if action == "created" else None,
    )


def _dict(row: Any) -> dict[str, Any]:
    return dict(row)


def places(count: int, first: int = 1) -> str:
    """`$1, $2, …`"""
    return ", ".join(f"${place}" for place in range(first, first + count))


def _matching(key: Mapping[str, Any], first: int) -> str:
    return " AND ".join(f"{name} = ${place}" for place, name in enumerate(key, first))


def chunks(values: Sequence[T], size: int = 500) -> Iterator[Sequence[T]]:
    """`values` in pieces that a statement can take."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
