"""Filtered, sorted lists of items as one statement, and saved views.

All names of columns come from tables here; values of callers are only bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from accord.hub.domain.rules import Kind
from accord.hub.storage.items import SELECT, ItemRow, item_row
from accord.hub.storage.rows import cursor_values, query_hash, total
from accord.operations.context import Database, is_uuid
from accord.operations.errors import NotFoundError
from accord.operations.pages import Page, page_of

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


NO_ASSIGNEE: Final = ""
"""The `assignee_id` for items without an assignee."""


class ItemFilter(Struct, frozen=True, kw_only=True):
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
        if name == "assignee_id" and each == NO_ASSIGNEE:
            parts.append("i.assignee_id IS NULL")
        else:
            values.append(each)
            parts.append(_CLAUSES[name].format(f"${len(values)}"))
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"


async def list_items(db: Database, item_filter: ItemFilter) -> Page[ItemRow]:
    """Return one page. Raises InvalidError for a cursor of another list."""
    where = {name: value for name, value in item_filter.where.items() if value is not None}
    clauses: list[str] = ["i.kind = $1"]
    values: list[Any] = [item_filter.kind]
    clauses += [_clause(name, value, values) for name, value in where.items()]
    count = f"SELECT COUNT(*) AS total FROM items i WHERE {' AND '.join(clauses)}"
    counted = await total(db, count, *values)
    descends = item_filter.sort.startswith("-")
    column, type_ = _SORTED_BY[item_filter.sort.removeprefix("-")]
    name = query_hash(item_filter.kind, where, item_filter.sort)
    if item_filter.cursor is not None:
        place = len(values) + 1
        values += cursor_values(item_filter.cursor, name, type_, int)
        # A forged cursor may hold a number that is too large for the column, but not for a bigint.
        value = f"CAST(${place} AS bigint)" if type_ is int else f"${place}"
        clauses.append(f"({column}, i.number) {'<' if descends else '>'} ({value}, ${place + 1})")
    way = "DESC" if descends else "ASC"
    rows = await db.fetch(
        f"{SELECT} WHERE {' AND '.join(clauses)} "
        f"ORDER BY {column} {way}, i.number {way} LIMIT {item_filter.limit + 1}",
        *values,
    )
    return page_of(
        [item_row(row) for row in rows],
        limit=item_filter.limit,
        total=counted,
        key=lambda row: (name, getattr(row, column.removeprefix("i.")), row.number),
    )


SELECT_VIEWS: Final = """
SELECT v.id, v.owner_id, v.name, v.filter, v.sort, v.shared, v.created_at, v.updated_at,
       owner.username AS owner
FROM saved_views v JOIN users owner ON owner.id = v.owner_id
"""
VISIBLE_VIEWS: Final = "(v.owner_id = $1 OR v.shared = 1)"
VIEW_BY_ID: Final = SELECT_VIEWS + f"WHERE {VISIBLE_VIEWS} AND v.id = $2"
VIEW_BY_NAME: Final = SELECT_VIEWS + "WHERE v.owner_id = $1 AND v.name = $2"
VIEWS_PAGE: Final = (
    SELECT_VIEWS
    + f"WHERE {VISIBLE_VIEWS} AND (v.name, v.id) > ($2, $3) ORDER BY v.name, v.id LIMIT $4"
)
COUNT_VIEWS: Final = f"SELECT COUNT(*) AS total FROM saved_views v WHERE {VISIBLE_VIEWS}"
OWN_VIEWS: Final = "SELECT COUNT(*) AS total FROM saved_views v WHERE v.owner_id = $1"


class ViewRow(Struct, frozen=True):
    """One saved view."""

    id: str
    owner_id: str
    name: str
    filter: str
    sort: str
    shared: int
    created_at: str
    updated_at: str
    owner: str

    def stored(self) -> dict[str, Any]:
        """Return the columns of the table."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "owner"}


async def find_view(db: Database, user_id: str, id: str) -> ViewRow:
    """Return a view that a user may see: their own, or a shared one.

    Raises NotFoundError.
    """
    rows = await db.fetch(VIEW_BY_ID, user_id, id.lower()) if is_uuid(id) else []
    if not rows:
        raise NotFoundError(f"there is no saved view {id!r}")
    return _view(rows[0])


async def find_view_named(db: Database, user_id: str, name: str) -> ViewRow | None:
    """Return a user's own view with this name."""
    rows = await db.fetch(VIEW_BY_NAME, user_id, name)
    return _view(rows[0]) if rows else None


async def views_after(db: Database, user_id: str, name: str, id: str, limit: int) -> list[ViewRow]:
    """Return the views that a user may see after a position, by name."""
    return [_view(row) for row in await db.fetch(VIEWS_PAGE, user_id, name, id, limit)]


async def count_views(db: Database, user_id: str, *, own: bool = False) -> int:
    """Return the number of views that a user may see, or owns."""
    return await total(db, OWN_VIEWS if own else COUNT_VIEWS, user_id)


def _view(row: Any) -> ViewRow:
    return ViewRow(*row)
