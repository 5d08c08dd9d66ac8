"""Search: over everything, or over requirements."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from accord.hub.domain.choices import no_such
from accord.hub.domain.folding import fold
from accord.hub.domain.kinds import KINDS
from accord.hub.entities import (
    HAVE_ASSIGNEES,
    UNASSIGNED,
    AnyOfAssignee,
    AnyOfName,
    AnyOfPriority,
    AnyOfRequirementStatus,
    AnyOfStatus,
    Id,
    each_of,
)
from accord.hub.lifecycle import find_type
from accord.hub.listing import assignee_id, one_or_several
from accord.hub.presentation import summary
from accord.hub.search.asking import MAX_RANKED
from accord.hub.search.finding import Hit, Place, find_best
from accord.hub.search.matching import Asked, Unassigned, facet, groups_of
from accord.hub.search.snippets import Snippets
from accord.hub.storage import items, labels, pages, people
from accord.operations.errors import InvalidError
from accord.operations.operation import Rest
from accord.operations.pages import Cursor, Limit, Page
from accord.operations.registry import Registry
from accord.operations.work import Database, Work

operations: Final = Registry()

Query: TypeAlias = Annotated[str, Meta(max_length=10_000, description="Words or a reference id.")]
FoundKind: TypeAlias = Literal[
    "epic",
    "user_story",
    "acceptance_criteria",
    "requirement",
    "steering_document",
    "prompt",
    "comment",
]
EVERYTHING: Final = "*"
"""The query that matches everything."""


class Found(Struct, kw_only=True):
    """What was found. A comment has the reference id and title of what it is on."""

    kind: FoundKind
    id: str
    reference_id: str
    title: str
    status: str
    snippet: str
    marks: list[list[int]]
    """Where words that were asked for begin and end in the snippet."""
    score: int


class FoundPage(Page[Found], kw_only=True):
    """What was found, the best first."""

    total_is_exact: bool
    """False where there is more: only the newest matches are ranked."""
    corrected: str | None
    """What was looked for instead, where nothing was spelt like the query."""


T = TypeVar("T")
_Several: TypeAlias = T | tuple[T, ...] | None


class Filters(Struct, frozen=True, kw_only=True):
    """The filters of a search."""

    kinds: tuple[FoundKind, ...]
    """Empty for all kinds."""
    status: _Several[str] = None
    """One value, or a tuple of alternatives."""
    priority: _Several[int] = None
    assignee: _Several[str] = None
    label: _Several[str] = None
    type: _Several[str] = None
    epic_id: str | None = None


@operations.read(rest=Rest("GET", "/search", aliases=(("q", "query"),)), tag="search")
async def search_global(
    work: Work,
    *,
    query: Query,
    kinds: list[FoundKind] | None = None,
    status: AnyOfStatus | None = None,
    priority: AnyOfPriority | None = None,
    assignee: AnyOfAssignee | None = None,
    label: AnyOfName | None = None,
    type: AnyOfName | None = None,
    epic_id: Id | None = None,
    limit: Limit = pages.DEFAULT_LIMIT,
    cursor: Cursor | None = None,
) -> FoundPage:
    """Search everything, comments too: words, beginnings of words, reference ids. `*` finds all."""
    return await _search(
        work,
        query,
        Filters(
            kinds=tuple(kinds or ()),
            status=_several(status),
            priority=_several(priority),
            assignee=_several(assignee),
            label=_several(label),
            type=_several(type),
            epic_id=epic_id,
        ),
        limit,
        cursor,
    )


@operations.read(rest=Rest("GET", "/search/requirements", aliases=(("q", "query"),)), tag="search")
async def search_requirements(
    work: Work,
    *,
    query: Query,
    status: AnyOfRequirementStatus | None = None,
    priority: AnyOfPriority | None = None,
    assignee: AnyOfAssignee | None = None,
    label: AnyOfName | None = None,
    type: AnyOfName | None = None,
    epic_id: Id | None = None,
    limit: Limit = pages.DEFAULT_LIMIT,
    cursor: Cursor | None = None,
) -> FoundPage:
    """Search requirements only: words, beginnings of words, reference ids. `*` finds all."""
    filters = Filters(
        kinds=("requirement",),
        status=_several(status),
        priority=_several(priority),
        assignee=_several(assignee),
        label=_several(label),
        type=_several(type),
        epic_id=epic_id,
    )
    return await _search(work, query, filters, limit, cursor)


async def _search(
    work: Work, query: str, filters: Filters, limit: int, cursor: str | None
) -> FoundPage:
    name = pages.asked("search", query, filters)
    groups = groups_of(query)
    if not filters.kinds and not groups:
        filters = replace(filters, kinds=(*KINDS, "comment"))  # the index needs something to find
    place, total = None, 0
    if cursor is not None:
        *values, total = pages.place_of(cursor, name, int, int, int, int, int)
        place = Place(*values)
    asked = Asked(
        groups=groups,
        facets=await _facets(work.db, filters),
        unassigned=await _unassigned(work.db, filters),
    )
    if not asked.groups and query.strip() not in ("", EVERYTHING):
        return _page([], None, 0, None)  # the query has no words, such as "?!"
    best = await find_best(work.db, work.engine, query, asked, place, limit + 1)
    hits = best.matches.hits
    if place is None:
        total = best.matches.total
    following = None
    if len(hits) > limit:
        last = hits[limit - 1]
        newest = place.newest if place else best.matches.newest
        following = pages.cursor_behind(
            name, last.score, last.sequence, newest, best.attempt, total
        )
    snippets = Snippets(best.asked.groups)
    found = [_found(hit, snippets) for hit in hits[:limit]]
    return _page(found, following, total, _corrected(asked, best.asked) if hits else None)


def _page(
    found: list[Found], following: str | None, total: int, corrected: str | None
) -> FoundPage:
    return FoundPage(
        items=found,
        next_cursor=following,
        has_more=following is not None,
        total=total,
        total_is_exact=total < MAX_RANKED,
        corrected=corrected,
    )


def _found(hit: Hit, snippets: Snippets) -> Found:
    (_, id, kind, reference_id, title, description, content, status, comment_id, comment, *_) = (
        hit.row
    )
    if comment_id is not None:
        kind, id, text = "comment", comment_id, comment
    else:
        text = description or content
    piece = snippets.of(text)
    return Found(
        kind=kind,
        id=id,
        reference_id=reference_id,
        title=title or summary(description),
        status=status,
        snippet=piece.text,
        marks=piece.marks,
        score=hit.score,
    )


def _corrected(asked: Asked, found_by: Asked) -> str | None:
    if asked.groups == found_by.groups:
        return None
    return " ".join(group.words[0] for group in found_by.groups)


async def _facets(db: Database, filters: Filters) -> tuple[tuple[str, ...], ...]:
    """Return the filters as facets of the index.

    Raises InvalidError and NotFoundError for unknown names.
    """
    found = [tuple(facet("kind", each) for each in filters.kinds)] if filters.kinds else []
    if filters.status is not None:
        found.append(tuple(facet("status", each) for each in _each(filters.status)))
    if filters.priority is not None:
        found.append(tuple(facet("priority", str(each)) for each in _each(filters.priority)))
    if filters.assignee is not None and not _asks_for_nobody(filters):
        found.append(await _assignees(db, filters))
    if filters.label is not None:
        ids = [await _label(db, each) for each in _each(filters.label)]
        found.append(tuple(facet("label", each) for each in ids))
    if filters.type is not None:
        types = [await find_type(db, each) for each in _each(filters.type)]
        found.append(tuple(facet("type", each) for each in types))
    if filters.epic_id is not None:
        found.append((facet("epic", (await items.find(db, filters.epic_id, "epic")).id),))
    return tuple(found)


async def _assignees(db: Database, filters: Filters) -> tuple[str, ...]:
    """Return the facets of the requested assignees.

    Raises InvalidError for unknown names.
    """
    ids = [await assignee_id(db, each) for each in _each(filters.assignee)]
    return tuple(facet("assignee", each) for each in ids if each)


async def _unassigned(db: Database, filters: Filters) -> Unassigned | None:
    """Return the filter for items without an assignee, or None."""
    if not _asks_for_nobody(filters):
        return None
    assigned = await people.assigned(db)
    return Unassigned(
        kinds=tuple(facet("kind", each) for each in HAVE_ASSIGNEES),
        assigned=tuple(facet("assignee", each) for each in assigned),
        others=await _assignees(db, filters),
    )


def _asks_for_nobody(filters: Filters) -> bool:
    return any(each.lower() == UNASSIGNED for each in _each(filters.assignee))


def _several(value: Any) -> Any:
    return None if value is None else one_or_several(each_of(value))


def _each(value: T | tuple[T, ...] | None) -> tuple[T, ...]:
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


async def _label(db: Database, name: str) -> str:
    """Return the id of a label. Raises InvalidError with the valid names."""
    known = await labels.names(db)
    for each in known:
        if each.name_key == fold(name):
            return each.id
    valid = [each.name for each in known]
    raise InvalidError("label", no_such("label", name, valid), valid=valid)
