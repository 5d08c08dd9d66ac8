"""Rows of the hub's tables by key, savepoints, cursors and differences.

A key is the primary key of a row. Effects name their rows by key, and undo finds these rows by key.
Names of tables and columns never come from a caller.

A cursor holds the sort values and the id of the last row of a page, so rows that are added or
deleted between two pages neither repeat nor hide others. It also holds a hash of the query and is
refused by other queries.

In the differences that callers get, ids are replaced by names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from types import GenericAlias
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Struct

from accord.hub.domain.rules import KINDS
from accord.hub.domain.text import FieldDifference, differences
from accord.hub.entities import Difference
from accord.operations.context import Database, Effect
from accord.operations.errors import InvalidError
from accord.operations.pages import cursor_keys
from accord.store.store import Row, Transaction

T = TypeVar("T")


class Table(Struct, frozen=True):
    """The table of the entities of one kind, and its key."""

    name: str
    key: tuple[str, ...] = ("id",)

    def id_of(self, row: Mapping[str, Any]) -> str:
        """Return the id of a row in effects: its key, joined by colons."""
        return ":".join(str(row[column]) for column in self.key)

    def key_of(self, id: str) -> dict[str, str]:
        """Return the key of the row with this id in effects."""
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
"""By kind of effect: its table. These kinds can be undone, because their effects contain rows as
they are stored."""


async def insert(db: Transaction, table: str, values: Mapping[str, Any]) -> None:
    """Insert a row; `values` has its columns."""
    names = ", ".join(values)
    await db.execute(
        f"INSERT INTO {table} ({names}) VALUES ({places(len(values))})", *values.values()
    )


async def update(
    db: Transaction, table: str, key: Mapping[str, Any], values: Mapping[str, Any]
) -> int:
    """Update columns of the row with this key; return the number of rows."""
    setting = ", ".join(f"{name} = ${place}" for place, name in enumerate(values, 1))
    return await db.execute(
        f"UPDATE {table} SET {setting} WHERE {_matching(key, len(values) + 1)}",
        *values.values(),
        *key.values(),
    )


async def delete(db: Transaction, table: str, key: Mapping[str, Any]) -> int:
    """Delete the row with this key; return the number of rows."""
    return await db.execute(f"DELETE FROM {table} WHERE {_matching(key, 1)}", *key.values())


async def where(db: Database, table: str, column: str, value: str) -> list[dict[str, Any]]:
    """Return all rows of a table that have this value in a column."""
    return [
        _dict(row) for row in await db.fetch(f"SELECT * FROM {table} WHERE {column} = $1", value)
    ]


async def get(db: Database, table: Table, key: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the row with this key, or None."""
    found = await db.fetch(f"SELECT * FROM {table.name} WHERE {_matching(key, 1)}", *key.values())
    return _dict(found[0]) if found else None


async def after(db: Database, table: Table, key: Sequence[Any], limit: int) -> list[Row]:
    """Return the rows after a key, in the order of their keys."""
    columns = ", ".join(table.key)
    return await db.fetch(
        f"SELECT * FROM {table.name} WHERE ({columns}) > ({places(len(key))}) "
        f"ORDER BY {columns} LIMIT {limit}",
        *key,
    )


async def total(db: Database, statement: str, *values: Any) -> int:
    """Return the number that a statement gives as `total` in its only row."""
    number: int = (await db.fetch(statement, *values))[0]["total"]
    return number


async def savepoint(db: Transaction, name: str) -> None:
    """Set a savepoint, to which `roll_back` returns."""
    await db.execute(f"SAVEPOINT {name}")


async def roll_back(db: Transaction, name: str) -> None:
    """Undo everything since a savepoint; the savepoint remains."""
    await db.execute(f"ROLLBACK TO SAVEPOINT {name}")


async def release(db: Transaction, name: str) -> None:
    """Remove a savepoint; keep everything written since."""
    await db.execute(f"RELEASE SAVEPOINT {name}")


def effect(
    kind: str,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    reference_id: str = "",
) -> Effect:
    """Return the effect of writing a row of `kind`.

    `before` is None for a new row, `after` for a deleted one.
    """
    row = after or before
    assert row is not None
    return Effect(
        action="created" if before is None else "deleted" if after is None else "updated",
        kind=kind,
        id=TABLES[kind].id_of(row),
        reference_id=reference_id,
        version=row.get("version", 0),
        before=before,
        after=after,
    )


def _dict(row: Any) -> dict[str, Any]:
    return dict(row)


def places(count: int, first: int = 1) -> str:
    """Return `count` placeholders for a statement: `$1, $2, …`, from number `first` on."""
    return ", ".join(f"${place}" for place in range(first, first + count))


def _matching(key: Mapping[str, Any], first: int) -> str:
    return " AND ".join(f"{name} = ${place}" for place, name in enumerate(key, first))


def chunks(values: Sequence[T], size: int = 500) -> Iterator[Sequence[T]]:
    """Yield `values` in parts that fit into one statement."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


DEFAULT_LIMIT: Final = 20


def query_hash(*what: Any) -> str:
    """Return a short hash of a query: its name, filters and order."""
    return sha256(msgspec.json.encode(what, order="deterministic")).hexdigest()[:12]


def cursor_values(cursor: str, query: str, *types: type) -> list[Any]:
    """Return the values in a cursor, which must be of these `types`.

    Raises InvalidError for a cursor of another list: its query hash differs from `query`.
    """
    keys: Any = GenericAlias(tuple, (str, *types))
    name, *values = cursor_keys(cursor, keys)
    if name != query:
        raise InvalidError("cursor", "belongs to another list, filter or order")
    return list(values)


HIDDEN_FIELDS: Final = frozenset(
    {
        *("id", "kind", "number", "reference_id", "name_key", "created_at", "updated_at"),
        *("version", "said_version", "source_version", "target_version", "position"),
    }
)
"""Fields that are not shown as differences.

Every change sets some of them, such as the version and the times; the others identify the entity,
or order items, such as the position."""

PARENT_FIELD: Final[dict[str, str]] = {
    "user_story": "epic_id",
    "acceptance_criteria": "user_story_id",
    "requirement": "user_story_id",
}
"""The operation argument that names the parent of an item, by kind of the item."""

_FIELD_NAMES: Final = {
    "creator_id": "creator",
    "assignee_id": "assignee",
    "author_id": "author",
    "owner_id": "owner",
    "criteria_id": "acceptance_criteria_id",
    "label_id": "label",
}
_NAME_COLUMNS: Final[dict[str, tuple[str, str]]] = {
    **dict.fromkeys(
        ("creator_id", "assignee_id", "author_id", "owner_id", "resolved_by", "confirmed_by"),
        ("users", "username"),
    ),
    **dict.fromkeys(
        ("parent_id", "criteria_id", "source_id", "target_id", "item_id", "steering_id", "epic_id"),
        ("items", "reference_id"),
    ),
    "label_id": ("labels", "name"),
}
"""By column: the table and column with the name of the row it refers to."""


class StatePair(Struct, frozen=True):
    """Two states of a row; None means that the row did not exist."""

    kind: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


async def named_differences(db: Database, pairs: Sequence[StatePair]) -> list[list[Difference]]:
    """Return the differences of each pair, with names in place of ids."""
    found = [
        [
            each
            for each in differences(pair.before or {}, pair.after or {}, HIDDEN_FIELDS)
            if each.before not in (None, "") or each.after not in (None, "")
        ]
        for pair in pairs
    ]
    names = await _names_of_ids(db, (each for some in found for each in some))
    return [
        [_named_difference(pair.kind, each, names) for each in some]
        for pair, some in zip(pairs, found, strict=True)
    ]


def _named_difference(
    kind: str, difference: FieldDifference, names: Mapping[str, str]
) -> Difference:
    field = difference.field
    name = PARENT_FIELD.get(kind, field) if field == "parent_id" else _FIELD_NAMES.get(field, field)
    diff = difference.diff
    if diff is not None:
        return Difference(field=name, diff=diff)
    before, after = difference.before, difference.after
    if field in _NAME_COLUMNS:
        before, after = names.get(before, before), names.get(after, after)
    return Difference(
        field=name,
        before=UNSET if before is None and field not in _NAME_COLUMNS else before,
        after=UNSET if after is None and field not in _NAME_COLUMNS else after,
    )


async def _names_of_ids(db: Database, found: Iterable[FieldDifference]) -> dict[str, str]:
    """Return the names for the ids in these differences."""
    ids_by_column: dict[tuple[str, str], dict[str, None]] = {}
    for each in found:
        where = _NAME_COLUMNS.get(each.field)
        if where is not None:
            ids = ids_by_column.setdefault(where, {})
            ids.update((id, None) for id in (each.before, each.after) if id)
    names: dict[str, str] = {}
    for (table, column), ids in ids_by_column.items():
        for some in chunks(list(ids)):
            statement = (
                f"SELECT id, {column} AS name FROM {table} WHERE id IN ({places(len(some))})"
            )
            names.update({row["id"]: row["name"] for row in await db.fetch(statement, *some)})
    return names
