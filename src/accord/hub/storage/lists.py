"""Lists of items: filtered and sorted, as a tree page by page, and saved views.

Names of columns come only from constants of this module; values of callers are passed as
parameters. Every statement of the outline (the tree of items) follows an index, so the cost of a
page does not depend on its place in a list of thousands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from accord.hub.domain.rules import Kind
from accord.hub.storage import items, rows
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
"""By filter condition: its SQL; `{}` is the placeholder of the value."""


NO_ASSIGNEE: Final = ""
"""The `assignee_id` for items without an assignee."""


class ItemFilter(Struct, frozen=True, kw_only=True):
    """A query for a list of items."""

    kind: Kind
    where: Mapping[str, Any]
    """By name in `_CLAUSES`: a value, a tuple of alternatives, or None for no condition."""
    sort: Sort
    limit: int
    cursor: str | None = None


def _clause(name: str, value: Any, values: list[Any]) -> str:
    """Return the SQL condition for a filter, and add its values to `values`."""
    parts = []
    for each in value if isinstance(value, tuple) else (value,):
        if name == "assignee_id" and each == NO_ASSIGNEE:
            parts.append("i.assignee_id IS NULL")
        else:
            values.append(each)
            parts.append(_CLAUSES[name].format(f"${len(values)}"))
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"


async def list_items(db: Database, item_filter: ItemFilter) -> Page[ItemRow]:
    """Return one page of the items that match a filter.

    Raises InvalidError for a cursor of another list.
    """
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
    direction = "DESC" if descends else "ASC"
    rows = await db.fetch(
        f"{SELECT} WHERE {' AND '.join(clauses)} "
        f"ORDER BY {column} {direction}, i.number {direction} LIMIT {item_filter.limit + 1}",
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

    Raises NotFoundError if there is no such view.
    """
    rows = await db.fetch(VIEW_BY_ID, user_id, id.lower()) if is_uuid(id) else []
    if not rows:
        raise NotFoundError(f"there is no saved view {id!r}")
    return _view(rows[0])


async def find_view_named(db: Database, user_id: str, name: str) -> ViewRow | None:
    """Return a user's own view with this name, or None."""
    rows = await db.fetch(VIEW_BY_NAME, user_id, name)
    return _view(rows[0]) if rows else None


async def views_after(db: Database, user_id: str, name: str, id: str, limit: int) -> list[ViewRow]:
    """Return the views that a user may see after a position, by name."""
    return [_view(row) for row in await db.fetch(VIEWS_PAGE, user_id, name, id, limit)]


async def count_views(db: Database, user_id: str, *, own: bool = False) -> int:
    """Return the number of views that a user may see; with `own`, of those they own."""
    return await total(db, OWN_VIEWS if own else COUNT_VIEWS, user_id)


def _view(row: Any) -> ViewRow:
    return ViewRow(*row)


ROOT_KINDS: Final[tuple[Kind, ...]] = ("epic",)
KINDS_UNDER: Final[dict[Kind, tuple[Kind, ...]]] = {
    "epic": ("user_story",),
    "user_story": ("requirement", "acceptance_criteria"),
}
"""By kind: the kinds of its children, in reading order."""

SELECT_OUTLINE: Final = """
SELECT i.id, i.kind, i.number, i.reference_id, i.parent_id, i.position, i.title,
       CASE WHEN i.title = '' THEN substr(i.description, 1, 480) ELSE '' END AS beginning,
       i.status, assignee.username AS assignee,
       EXISTS (SELECT 1 FROM items c WHERE c.parent_id = i.id) AS has_children,
       EXISTS (SELECT 1 FROM relationships l JOIN items o ON o.id = l.target_id
               WHERE l.source_id = i.id AND l.target_version < o.said_version)
       OR EXISTS (SELECT 1 FROM relationships l JOIN items o ON o.id = l.source_id
                  WHERE l.target_id = i.id AND l.source_version < o.said_version) AS is_suspect
FROM items i LEFT JOIN users assignee ON assignee.id = i.assignee_id
"""
OUTLINE_BY_ID: Final = SELECT_OUTLINE + "WHERE i.id = $1"
OUTLINE_PAGE: Final = (
    SELECT_OUTLINE
    + """
WHERE {under} AND i.kind = $1 AND (i.position, i.number) > ($2, $3){matching}
ORDER BY i.position, i.number LIMIT {limit}
"""
)
COUNT_OUTLINE: Final = (
    "SELECT COUNT(*) AS total FROM items i WHERE {under} AND i.kind IN ({kinds}){matching}"
)
WITH_MANY_MATCHES: Final = """ AND ({itself} OR EXISTS (
    SELECT 1 FROM items c WHERE c.parent_id = i.id AND ({child} OR EXISTS (
        SELECT 1 FROM items g WHERE g.parent_id = c.id AND {grandchild}))))"""
"""The filter if many items match: it looks for a match below each item, and finds one soon."""
WITH_FEW_MATCHES: Final = """ AND ({itself} OR i.id IN (
    SELECT m.parent_id FROM items m WHERE m.kind IN ({kinds}) AND {found}) OR i.id IN (
    SELECT s.parent_id FROM items s WHERE s.kind = 'user_story' AND s.id IN (
        SELECT m.parent_id FROM items m WHERE m.kind IN ({kinds}) AND {found})))"""
"""The filter if few items match: it finds all matches first."""
COUNT_MATCHING: Final = """
SELECT COUNT(*) AS total FROM (
    SELECT 1 FROM items m WHERE m.kind IN ({kinds}) AND {found} LIMIT {most}) few
"""
FIRST_EPICS: Final = "WHERE i.kind = 'epic' ORDER BY i.position, i.number LIMIT $1"
CHILDREN: Final = """
WHERE i.parent_id IN ({places}) ORDER BY i.kind, i.position, i.number LIMIT {limit}
"""
COUNT_CHILDREN: Final = """
SELECT parent_id, COUNT(*) AS total FROM items WHERE parent_id IN ({places}) GROUP BY parent_id
"""
OUTLINE_KINDS: Final = "'epic', 'user_story', 'requirement'"
MAX_FEW_MATCHES: Final = 8_000

_ALIASES: Final = {"itself": "i", "child": "c", "grandchild": "g"}
_BEFORE_ALL: Final = (0, -1e308, 0)


class OutlineRow(Struct, frozen=True):
    """An item as a row of the tree."""

    id: str
    kind: Kind
    number: int
    reference_id: str
    parent_id: str | None
    position: float
    title: str
    beginning: str
    """The beginning of the description, if there is no title."""
    status: str
    assignee: str | None
    has_children: bool
    is_suspect: bool
    """True if the item has a suspect link because the other end changed."""


class OutlineFilter(Struct, frozen=True, kw_only=True):
    """A query for the children of an item that match, or have a match below them."""

    parent_id: str | None = None
    kinds: tuple[Kind, ...] = ROOT_KINDS
    statuses: tuple[str, ...] = ()
    """Statuses that match; empty for every status."""
    assignee_ids: tuple[str, ...] = ()
    """Assignees that match, `NO_ASSIGNEE` for none; empty for no filter."""
    matches_few: bool = False
    """True if `WITH_FEW_MATCHES` is the faster statement; see `filter_epics`."""

    @property
    def name(self) -> str:
        """The hash of the query. Every cursor of the query begins with this hash."""
        return rows.query_hash(
            "outline", self.parent_id, _cursor_form(self.statuses), _cursor_form(self.assignee_ids)
        )


async def filter_epics(
    db: Database, statuses: tuple[str, ...], assignee_ids: tuple[str, ...]
) -> OutlineFilter:
    """Return a query for epics that match, or have matches below them.

    Counts the matches up to `MAX_FEW_MATCHES` to choose the faster of two statements.
    """
    under = OutlineFilter(statuses=statuses, assignee_ids=assignee_ids)
    if not statuses and not assignee_ids:
        return under
    values: list[Any] = []
    found = _by_index("m", _column_conditions(under, values))
    statement = COUNT_MATCHING.format(kinds=OUTLINE_KINDS, found=found, most=MAX_FEW_MATCHES + 1)
    matches = await rows.total(db, statement, *values)
    return replace(under, matches_few=matches <= MAX_FEW_MATCHES)


async def outline_row(db: Database, id: str) -> OutlineRow:
    """Return the row of the existing item with this id."""
    return _outline_row((await db.fetch(OUTLINE_BY_ID, id))[0])


async def rows_under(
    db: Database, under: OutlineFilter, *, limit: int, cursor: str | None = None
) -> Page[OutlineRow]:
    """Return one page of the children that match an outline query.

    Raises InvalidError for a cursor of another list.
    """
    place, position, number = _BEFORE_ALL
    if cursor is not None:
        place, position, number = rows.cursor_values(cursor, under.name, int, float, int)
    found: list[OutlineRow] = []
    for index, kind in enumerate(under.kinds):
        if index >= place and len(found) <= limit:
            after = (position, number) if index == place else _BEFORE_ALL[1:]
            found += await _outline_page(db, under, kind, after, limit + 1 - len(found))
    is_all = cursor is None and len(found) <= limit
    return page_of(
        found,
        limit=limit,
        total=len(found) if is_all else await _count_outline(db, under),
        key=lambda row: (under.name, under.kinds.index(row.kind), row.position, row.number),
    )


async def epics(db: Database, limit: int) -> list[ItemRow]:
    """Return the first epics, in their order."""
    return await items.select(db, FIRST_EPICS, limit)


async def children(db: Database, ids: Sequence[str], limit: int) -> list[ItemRow]:
    """Return children of these items, at most `limit`, by kind and place."""
    found: list[ItemRow] = []
    for some in rows.chunks(ids):
        if len(found) < limit:
            clause = CHILDREN.format(places=rows.places(len(some)), limit=limit - len(found))
            found += await items.select(db, clause, *some)
    return found


async def count_children(db: Database, ids: Sequence[str]) -> dict[str, int]:
    """Return the number of children by item; items without children are missing."""
    found: dict[str, int] = {}
    for some in rows.chunks(ids):
        counted = await db.fetch(COUNT_CHILDREN.format(places=rows.places(len(some))), *some)
        found |= {row["parent_id"]: row["total"] for row in counted}
    return {id: found[id] for id in ids if id in found}


async def _outline_page(
    db: Database, under: OutlineFilter, kind: Kind, after: Sequence[float], limit: int
) -> list[OutlineRow]:
    values: list[Any] = [kind, *after]
    where, matching = _outline_where(under, values)
    found = await db.fetch(
        OUTLINE_PAGE.format(under=where, matching=matching, limit=limit), *values
    )
    return [_outline_row(row) for row in found]


async def _count_outline(db: Database, under: OutlineFilter) -> int:
    values: list[Any] = list(under.kinds)
    kinds = ", ".join(f"${place}" for place in range(1, len(values) + 1))
    where, matching = _outline_where(under, values)
    statement = COUNT_OUTLINE.format(under=where, kinds=kinds, matching=matching)
    return await rows.total(db, statement, *values)


def _outline_where(under: OutlineFilter, values: list[Any]) -> tuple[str, str]:
    """Return two SQL conditions of an outline query: its parent, and its filters.

    The values of the conditions are added to `values`.
    """
    where = "i.parent_id IS NULL"
    if under.parent_id is not None:
        values.append(under.parent_id)
        where = f"i.parent_id = ${len(values)}"
    conditions = _column_conditions(under, values)
    if not conditions:
        return where, ""
    if under.matches_few:
        itself, found = _by_index("i", conditions), _by_index("m", conditions)
        return where, WITH_FEW_MATCHES.format(itself=itself, found=found, kinds=OUTLINE_KINDS)
    clauses = {name: _without_index(alias, conditions) for name, alias in _ALIASES.items()}
    return where, WITH_MANY_MATCHES.format(**clauses)


class _ColumnCondition(Struct, frozen=True):
    """A condition on a column."""

    column: str
    places: list[str]
    """Placeholders of the values that match."""
    or_unassigned: bool = False
    """True if NULL matches too."""


def _column_conditions(under: OutlineFilter, values: list[Any]) -> list[_ColumnCondition]:
    """Return the filters as conditions on columns, and add their values to `values`."""
    conditions: list[_ColumnCondition] = []
    for column, some in (("status", under.statuses), ("assignee_id", under.assignee_ids)):
        places = []
        for value in some:
            if value != NO_ASSIGNEE:
                values.append(value)
                places.append(f"${len(values)}")
        if some:
            conditions.append(_ColumnCondition(column, places, NO_ASSIGNEE in some))
    return conditions


def _by_index(alias: str, conditions: Sequence[_ColumnCondition]) -> str:
    """Return conditions as SQL that lets the database use only one index.

    This is the index on the column of the first condition.
    """
    first, *others = conditions
    column = f"{alias}.{first.column}"
    parts = [f"{column} {_one_of(first.places)}"] if first.places else []
    if first.or_unassigned:
        parts.append(f"({column} IS NULL AND {alias}.kind IN ({OUTLINE_KINDS}))")
    found = f"({' OR '.join(parts)})"
    return f"({found} AND {_without_index(alias, others)})" if others else found


def _without_index(alias: str, conditions: Sequence[_ColumnCondition]) -> str:
    """Return conditions as SQL that prevents the use of an index, with COALESCE.

    An index on these columns would be slower than the index on the parent: many thousand items may
    have the same status or assignee, but only few items have the same parent.
    """
    clauses = []
    for each in conditions:
        column = f"COALESCE({alias}.{each.column}, '')"
        parts = [f"{column} {_one_of(each.places)}"] if each.places else []
        if each.or_unassigned:
            parts.append(f"({column} = '' AND {alias}.kind IN ({OUTLINE_KINDS}))")
        clauses.append(parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})")
    return f"({' AND '.join(clauses)})"


def _one_of(places: Sequence[str]) -> str:
    return f"= {places[0]}" if len(places) == 1 else f"IN ({', '.join(places)})"


def _cursor_form(some: tuple[str, ...]) -> Any:
    """Return filter values in the form that is hashed for cursors.

    A single value is hashed without tuple, so that cursors of earlier releases stay valid.
    """
    return some if len(some) > 1 else next(iter(some), None)


def _outline_row(row: Any) -> OutlineRow:
    return OutlineRow(*row)
