"""Lists of items: what is asked for, as a statement.

All names of columns are from tables here; what callers give is only ever bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from accord.hub.domain.kinds import Kind
from accord.hub.entities import Page
from accord.hub.storage import pages
from accord.hub.storage.items import SELECT, ItemRow, item_row
from accord.operations.work import Database

Sort: TypeAlias = Literal[
    "reference_id",
    "-reference_id",
    "position",
    "-position",
    "title",
    "-title",
    "priority",
    "-priority",
    "status",
    "-status",
    "created_at",
    "-created_at",
    "updated_at",
    "-updated_at",
]
"""The sort key of a list; `-` reverses the order."""

_SORTED_BY: Final[dict[str, tuple[str, type]]] = {
    "reference_id": ("i.number", int),
    "position": ("i.position", float),
    "title": ("i.title", str),
    "priority": ("i.priority", int),
    "status": ("i.status", str),
    "created_at": ("i.created_at", str),
    "updated_at": ("i.updated_at", str),
}

_CLAUSES: Final[dict[str, str]] = {
    "status": "i.status = {}",
    "priority": "i.priority = {}",
    "assignee_id": "i.assignee_id = {}",
    "creator_id": "i.creator_id = {}",
    "type": "i.type = {}",
    "parent_id": "i.parent_id = {}",
    "epic_id": "i.parent_id IN (SELECT id FROM items WHERE parent_id = {})",
    "criteria_id": "i.criteria_id = {}",
    "active": "i.active = {}",
    "updated_since": "i.updated_at >= {}",
    "label": """i.id IN (SELECT item_id FROM item_labels JOIN labels ON labels.id = label_id
        WHERE labels.name_key = {})""",
    "steers": "i.id IN (SELECT steering_id FROM steering_links WHERE epic_id = {})",
}
"""The conditions of filters; `{}` is the placeholder of the value."""


NOBODY: Final = ""
"""The `assignee_id` for items without an assignee."""


class Asked(Struct, frozen=True, kw_only=True):
    """A query for a list of items."""

    kind: Kind
    where: Mapping[str, Any]
    """By names of `_CLAUSES`: a value, a tuple of alternatives, or None for no condition."""
    sort: Sort
    limit: int
    cursor: str | None = None


def _clause(name: str, value: Any, values: list[Any]) -> str:
    """Return the condition for a filter, and add its values to `values`."""
    parts = []
    for each in value if isinstance(value, tuple) else (value,):
        if name == "assignee_id" and each == NOBODY:
            parts.append("i.assignee_id IS NULL")
        else:
            values.append(each)
            parts.append(_CLAUSES[name].format(f"${len(values)}"))
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"


async def list_items(db: Database, asked: Asked) -> Page[ItemRow]:
    """Return one page. Raises InvalidError for a cursor of another list."""
    where = {name: value for name, value in asked.where.items() if value is not None}
    clauses: list[str] = ["i.kind = $1"]
    values: list[Any] = [asked.kind]
    clauses += [_clause(name, value, values) for name, value in where.items()]
    counted = await db.fetch(
        f"SELECT COUNT(*) AS total FROM items i WHERE {' AND '.join(clauses)}", *values
    )
    descends = asked.sort.startswith("-")
    column, type_ = _SORTED_BY[asked.sort.removeprefix("-")]
    name = pages.asked(asked.kind, where, asked.sort)
    if asked.cursor is not None:
        place = len(values) + 1
        values += pages.place_of(asked.cursor, name, type_, int)
        # A forged cursor may hold a number that is too large for the column, but not for a bigint.
        value = f"CAST(${place} AS bigint)" if type_ is int else f"${place}"
        clauses.append(f"({column}, i.number) {'<' if descends else '>'} ({value}, ${place + 1})")
    way = "DESC" if descends else "ASC"
    rows = await db.fetch(
        f"{SELECT} WHERE {' AND '.join(clauses)} "
        f"ORDER BY {column} {way}, i.number {way} LIMIT {asked.limit + 1}",
        *values,
    )
    return pages.page(
        [item_row(row) for row in rows],
        asked.limit,
        counted[0]["total"],
        lambda last: pages.cursor_behind(
            name, getattr(last, column.removeprefix("i.")), last.number
        ),
    )
