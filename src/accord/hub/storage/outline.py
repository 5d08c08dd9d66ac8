"""The tree of items as rows: the children of an item, page by page. Knows only the tables.

Every statement goes along one index, so that a page costs the same wherever in a list of thousands
it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from accord.hub.domain.rules import Kind
from accord.hub.storage import items, rows
from accord.hub.storage.items import ItemRow
from accord.hub.storage.lists import NO_ASSIGNEE
from accord.operations.context import Database
from accord.operations.pages import Page, page_of

UNDER_NOTHING: Final[tuple[Kind, ...]] = ("epic",)
UNDER: Final[dict[Kind, tuple[Kind, ...]]] = {
    "epic": ("user_story",),
    "user_story": ("requirement", "acceptance_criteria"),
}
"""By kind: the kinds of its children, in reading order."""

SELECT: Final = """
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
BY_ID: Final = SELECT + "WHERE i.id = $1"
SOME: Final = (
    SELECT
    + """
WHERE {under} AND i.kind = $1 AND (i.position, i.number) > ($2, $3){matching}
ORDER BY i.position, i.number LIMIT {limit}
"""
)
COUNT: Final = (
    "SELECT COUNT(*) AS total FROM items i WHERE {under} AND i.kind IN ({kinds}){matching}"
)
WITH_MANY_MATCHES: Final = """ AND ({itself} OR EXISTS (
    SELECT 1 FROM items c WHERE c.parent_id = i.id AND ({child} OR EXISTS (
        SELECT 1 FROM items g WHERE g.parent_id = c.id AND {grandchild}))))"""
"""For filters that many items match: a match is found soon below any item."""
WITH_FEW_MATCHES: Final = """ AND ({itself} OR i.id IN (
    SELECT m.parent_id FROM items m WHERE m.kind IN ({kinds}) AND {found}) OR i.id IN (
    SELECT s.parent_id FROM items s WHERE s.kind = 'user_story' AND s.id IN (
        SELECT m.parent_id FROM items m WHERE m.kind IN ({kinds}) AND {found})))"""
"""For filters that few items match: all matches are found first."""
COUNT_MATCHING: Final = """
SELECT COUNT(*) AS total FROM (
    SELECT 1 FROM items m WHERE m.kind IN ({kinds}) AND {found} LIMIT {most}) few
"""
EPICS: Final = "WHERE i.kind = 'epic' ORDER BY i.position, i.number LIMIT $1"
CHILDREN: Final = """
WHERE i.parent_id IN ({places}) ORDER BY i.kind, i.position, i.number LIMIT {limit}
"""
COUNT_CHILDREN: Final = """
SELECT parent_id, COUNT(*) AS total FROM items WHERE parent_id IN ({places}) GROUP BY parent_id
"""
KINDS: Final = "'epic', 'user_story', 'requirement'"
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
    """A query for the children of an item that match, or have matches below them."""

    parent_id: str | None = None
    kinds: tuple[Kind, ...] = UNDER_NOTHING
    statuses: tuple[str, ...] = ()
    """Statuses that match; empty for every status."""
    assignee_ids: tuple[str, ...] = ()
    """Assignees that match, `NO_ASSIGNEE` for none; empty for no filter."""
    matches_few: bool = False
    """True if `WITH_FEW_MATCHES` is the faster statement; see `filter_epics`."""

    @property
    def name(self) -> str:
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
    found = _found("m", _conditions(under, values))
    statement = COUNT_MATCHING.format(kinds=KINDS, found=found, most=MAX_FEW_MATCHES + 1)
    matches = await rows.total(db, statement, *values)
    return replace(under, matches_few=matches <= MAX_FEW_MATCHES)


async def row_of(db: Database, id: str) -> OutlineRow:
    """Return the row of the existing item with this id."""
    return _row((await db.fetch(BY_ID, id))[0])


async def rows_under(
    db: Database, under: OutlineFilter, *, limit: int, cursor: str | None = None
) -> Page[OutlineRow]:
    """Return one page. Raises InvalidError for a cursor of another list."""
    place, position, number = _BEFORE_ALL
    if cursor is not None:
        place, position, number = rows.cursor_values(cursor, under.name, int, float, int)
    found: list[OutlineRow] = []
    for index, kind in enumerate(under.kinds):
        if index >= place and len(found) <= limit:
            behind = (position, number) if index == place else _BEFORE_ALL[1:]
            found += await _some(db, under, kind, behind, limit + 1 - len(found))
    is_all = cursor is None and len(found) <= limit
    return page_of(
        found,
        limit=limit,
        total=len(found) if is_all else await _count(db, under),
        key=lambda row: (under.name, under.kinds.index(row.kind), row.position, row.number),
    )


async def epics(db: Database, limit: int) -> list[ItemRow]:
    """Return epics, in their order."""
    return await items.select(db, EPICS, limit)


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


async def _some(
    db: Database, under: OutlineFilter, kind: Kind, behind: Sequence[float], limit: int
) -> list[OutlineRow]:
    values: list[Any] = [kind, *behind]
    where, matching = _where(under, values)
    found = await db.fetch(SOME.format(under=where, matching=matching, limit=limit), *values)
    return [_row(row) for row in found]


async def _count(db: Database, under: OutlineFilter) -> int:
    values: list[Any] = list(under.kinds)
    kinds = ", ".join(f"${place}" for place in range(1, len(values) + 1))
    where, matching = _where(under, values)
    statement = COUNT.format(under=where, kinds=kinds, matching=matching)
    return await rows.total(db, statement, *values)


def _where(under: OutlineFilter, values: list[Any]) -> tuple[str, str]:
    """Return the conditions of a query, and add their values to `values`."""
    where = "i.parent_id IS NULL"
    if under.parent_id is not None:
        values.append(under.parent_id)
        where = f"i.parent_id = ${len(values)}"
    wanted = _conditions(under, values)
    if not wanted:
        return where, ""
    if under.matches_few:
        itself, found = _found("i", wanted), _found("m", wanted)
        return where, WITH_FEW_MATCHES.format(itself=itself, found=found, kinds=KINDS)
    clauses = {name: _matches(alias, wanted) for name, alias in _ALIASES.items()}
    return where, WITH_MANY_MATCHES.format(**clauses)


class _Conditions(Struct, frozen=True):
    """A condition on a column."""

    column: str
    places: list[str]
    """Placeholders of the values that match."""
    nobody: bool = False
    """True if NULL matches too."""


def _conditions(under: OutlineFilter, values: list[Any]) -> list[_Conditions]:
    """Return the conditions on columns, and add their values to `values`."""
    wanted: list[_Conditions] = []
    for column, some in (("status", under.statuses), ("assignee_id", under.assignee_ids)):
        places = []
        for value in some:
            if value != NO_ASSIGNEE:
                values.append(value)
                places.append(f"${len(values)}")
        if some:
            wanted.append(_Conditions(column, places, NO_ASSIGNEE in some))
    return wanted


def _found(alias: str, wanted: Sequence[_Conditions]) -> str:
    """Return a condition that uses the index on the first column only."""
    first, *others = wanted
    column = f"{alias}.{first.column}"
    parts = [f"{column} {_one_of(first.places)}"] if first.places else []
    if first.nobody:
        parts.append(f"({column} IS NULL AND {alias}.kind IN ({KINDS}))")
    found = f"({' OR '.join(parts)})"
    return f"({found} AND {_matches(alias, others)})" if others else found


def _matches(alias: str, wanted: Sequence[_Conditions]) -> str:
    """Return a condition that uses no index on these columns, by COALESCE.

    Many thousand items share one value, while few share one parent.
    """
    clauses = []
    for each in wanted:
        column = f"COALESCE({alias}.{each.column}, '')"
        parts = [f"{column} {_one_of(each.places)}"] if each.places else []
        if each.nobody:
            parts.append(f"({column} = '' AND {alias}.kind IN ({KINDS}))")
        clauses.append(parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})")
    return f"({' AND '.join(clauses)})"


def _one_of(places: Sequence[str]) -> str:
    return f"= {places[0]}" if len(places) == 1 else f"IN ({', '.join(places)})"


def _cursor_form(some: tuple[str, ...]) -> Any:
    """Return a single value as itself, so cursors of earlier releases stay valid."""
    return some if len(some) > 1 else next(iter(some), None)


def _row(row: Any) -> OutlineRow:
    return OutlineRow(*row)
