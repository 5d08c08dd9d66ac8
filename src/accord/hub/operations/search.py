"""Operations for full text search and saved views.

A saved view is a filter and an order under a name, private or shared.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from accord.hub.domain.rules import KINDS
from accord.hub.domain.text import fold, no_such
from accord.hub.entities import (
    HAVE_ASSIGNEES,
    SEVERAL,
    UNASSIGNED,
    AnyOfAssignee,
    AnyOfName,
    AnyOfPriority,
    AnyOfRequirementStatus,
    AnyOfStatus,
    AnyOfUsername,
    Cursor,
    Deletion,
    Id,
    Limit,
    Name,
    Page,
    each_of,
)
from accord.hub.lifecycle import check_line
from accord.hub.presentation import assignee_id, one_or_several, summary
from accord.hub.search_index import facet
from accord.hub.search_query import (
    MAX_RANKED,
    Hit,
    ParsedQuery,
    SearchPosition,
    Snippets,
    UnassignedFilter,
    find_best,
    groups_of,
)
from accord.hub.storage import items, lists, reference_data, rows
from accord.hub.storage.lists import Sort, ViewRow
from accord.hub.storage.reference_data import find_requirement_type
from accord.operations.choices import Choices, choices_of, corrected
from accord.operations.context import Changed, Database, OperationContext
from accord.operations.errors import ConflictError, InvalidError
from accord.operations.operation import Rest
from accord.operations.pages import Cursor as ShortCursor, cursor_after, map_page, page_of
from accord.operations.registry import Registry

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


class SearchHit(Struct, kw_only=True):
    """What was found. A comment has the reference id and title of what it is on."""

    __schema_name__ = "Found"

    kind: FoundKind
    id: str
    reference_id: str
    title: str
    status: str
    snippet: str
    marks: list[list[int]]
    """Where words that were asked for begin and end in the snippet."""
    score: int


class SearchPage(Page[SearchHit], kw_only=True):
    """What was found, the best first."""

    __schema_name__ = "FoundPage"

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
    work: OperationContext,
    *,
    query: Query,
    kinds: list[FoundKind] | None = None,
    status: AnyOfStatus | None = None,
    priority: AnyOfPriority | None = None,
    assignee: AnyOfAssignee | None = None,
    label: AnyOfName | None = None,
    type: AnyOfName | None = None,
    epic_id: Id | None = None,
    limit: Limit = rows.DEFAULT_LIMIT,
    cursor: ShortCursor | None = None,
) -> SearchPage:
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
    work: OperationContext,
    *,
    query: Query,
    status: AnyOfRequirementStatus | None = None,
    priority: AnyOfPriority | None = None,
    assignee: AnyOfAssignee | None = None,
    label: AnyOfName | None = None,
    type: AnyOfName | None = None,
    epic_id: Id | None = None,
    limit: Limit = rows.DEFAULT_LIMIT,
    cursor: ShortCursor | None = None,
) -> SearchPage:
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
    work: OperationContext, query: str, filters: Filters, limit: int, cursor: str | None
) -> SearchPage:
    name = rows.query_hash("search", query, filters)
    groups = groups_of(query)
    if not filters.kinds and not groups:
        filters = replace(filters, kinds=(*KINDS, "comment"))  # the index needs something to find
    place, total = None, 0
    if cursor is not None:
        *values, total = rows.cursor_values(cursor, name, int, int, int, int, int)
        place = SearchPosition(*values)
    parsed = ParsedQuery(
        groups=groups,
        facets=await _facets(work.db, filters),
        unassigned=await _unassigned(work.db, filters),
    )
    if not parsed.groups and query.strip() not in ("", EVERYTHING):
        return _page([], None, 0, None)  # the query has no words, such as "?!"
    best = await find_best(work.db, work.engine, query, parsed, place, limit + 1)
    hits = best.matches.hits
    if place is None:
        total = best.matches.total
    following = None
    if len(hits) > limit:
        last = hits[limit - 1]
        newest = place.newest if place else best.matches.newest
        following = cursor_after(name, last.score, last.sequence, newest, best.attempt, total)
    snippets = Snippets(best.parsed.groups)
    found = [_found(hit, snippets) for hit in hits[:limit]]
    return _page(found, following, total, _corrected(parsed, best.parsed) if hits else None)


def _page(
    found: list[SearchHit], following: str | None, total: int, corrected: str | None
) -> SearchPage:
    return SearchPage(
        items=found,
        next_cursor=following,
        has_more=following is not None,
        total=total,
        total_is_exact=total < MAX_RANKED,
        corrected=corrected,
    )


def _found(hit: Hit, snippets: Snippets) -> SearchHit:
    (_, id, kind, reference_id, title, description, content, status, comment_id, comment, *_) = (
        hit.row
    )
    if comment_id is not None:
        kind, id, text = "comment", comment_id, comment
    else:
        text = description or content
    piece = snippets.of(text)
    return SearchHit(
        kind=kind,
        id=id,
        reference_id=reference_id,
        title=title or summary(description),
        status=status,
        snippet=piece.text,
        marks=piece.marks,
        score=hit.score,
    )


def _corrected(parsed: ParsedQuery, found_by: ParsedQuery) -> str | None:
    if parsed.groups == found_by.groups:
        return None
    return " ".join(group.words[0] for group in found_by.groups)


async def _facets(db: Database, filters: Filters) -> tuple[tuple[str, ...], ...]:
    """Return the filters as facets of the search index.

    Raises InvalidError and NotFoundError for names that do not exist.
    """
    found = [tuple(facet("kind", each) for each in filters.kinds)] if filters.kinds else []
    if filters.status is not None:
        found.append(tuple(facet("status", each) for each in _each(filters.status)))
    if filters.priority is not None:
        found.append(tuple(facet("priority", str(each)) for each in _each(filters.priority)))
    if filters.assignee is not None and not _includes_unassigned(filters):
        found.append(await _assignees(db, filters))
    if filters.label is not None:
        ids = [await _label(db, each) for each in _each(filters.label)]
        found.append(tuple(facet("label", each) for each in ids))
    if filters.type is not None:
        types = [await find_requirement_type(db, each) for each in _each(filters.type)]
        found.append(tuple(facet("type", each) for each in types))
    if filters.epic_id is not None:
        found.append((facet("epic", (await items.find(db, filters.epic_id, "epic")).id),))
    return tuple(found)


async def _assignees(db: Database, filters: Filters) -> tuple[str, ...]:
    """Return the facets of the assignees in a filter.

    Raises InvalidError for unknown names.
    """
    ids = [await assignee_id(db, each) for each in _each(filters.assignee)]
    return tuple(facet("assignee", each) for each in ids if each)


async def _unassigned(db: Database, filters: Filters) -> UnassignedFilter | None:
    """Return the filter for unassigned items; None if the caller did not ask for them."""
    if not _includes_unassigned(filters):
        return None
    assigned = await reference_data.assigned_people(db)
    return UnassignedFilter(
        kinds=tuple(facet("kind", each) for each in HAVE_ASSIGNEES),
        assigned=tuple(facet("assignee", each) for each in assigned),
        others=await _assignees(db, filters),
    )


def _includes_unassigned(filters: Filters) -> bool:
    return any(each.lower() == UNASSIGNED for each in _each(filters.assignee))


def _several(value: Any) -> Any:
    return None if value is None else one_or_several(each_of(value))


def _each(value: T | tuple[T, ...] | None) -> tuple[T, ...]:
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


async def _label(db: Database, name: str) -> str:
    """Return the id of the label with this name.

    Raises InvalidError, with the valid names, if there is none.
    """
    known = await reference_data.label_names(db)
    for each in known:
        if each.name_key == fold(name):
            return each.id
    valid = [each.name for each in known]
    raise InvalidError("label", no_such("label", name, valid), valid=valid)


view_operations: Final = Registry()

STATUSES: Final[Choices] = choices_of([("status", AnyOfStatus)])
MAX_VIEWS: Final = 200
"""The maximum number of views of one person."""

Words: TypeAlias = Annotated[str, Meta(max_length=500)]
AnyOfKind: TypeAlias = FoundKind | Annotated[list[FoundKind], SEVERAL]


class Filter(Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a view shows: items for which all of it holds."""

    kind: AnyOfKind | None = None
    query: Words | None = None
    status: AnyOfName | None = None
    priority: AnyOfPriority | None = None
    type: AnyOfName | None = None
    label: AnyOfName | None = None
    assignee: AnyOfAssignee | None = None
    creator: AnyOfUsername | None = None
    epic_id: Id | None = None
    user_story_id: Id | None = None


class SavedView(Changed, kw_only=True):
    id: str
    name: str
    owner: str
    filter: Filter
    sort: str
    shared: bool
    created_at: str
    updated_at: str


@view_operations.write(rest=Rest("POST", "/views", 201, "/views/{id}"), tag="views", tool=False)
async def create_view(
    work: OperationContext,
    *,
    name: Name,
    filter: Filter,
    sort: Sort | None = None,
    shared: bool = False,
) -> SavedView:
    """Save a filter and an order under a name."""
    await _check_view_name(work, work.caller.user_id, name)
    if await lists.count_views(work.db, work.caller.user_id, own=True) >= MAX_VIEWS:
        raise ConflictError(f"you have {MAX_VIEWS} views already: delete one first")
    values = {
        "id": work.new_id(),
        "owner_id": work.caller.user_id,
        "name": name,
        "filter": _filter_json(filter),
        "sort": sort or "",
        "shared": int(shared),
        "created_at": work.now,
        "updated_at": work.now,
    }
    await rows.insert(work.db, "saved_views", values)
    work.record(rows.effect("saved_view", None, values, name))
    return _view(await lists.find_view(work.db, work.caller.user_id, str(values["id"])))


@view_operations.read(rest=Rest("GET", "/views/{id}"), tag="views", tool=False)
async def get_view(work: OperationContext, *, id: Id) -> SavedView:
    """Get a saved view: your own, or a shared one."""
    return _view(await lists.find_view(work.db, work.caller.user_id, id))


@view_operations.write(
    rest=(Rest("PUT", "/views/{id}"), Rest("PATCH", "/views/{id}")), tag="views", tool=False
)
async def update_view(
    work: OperationContext,
    *,
    id: Id,
    name: Name | UnsetType = UNSET,
    filter: Filter | UnsetType = UNSET,
    sort: Sort | None | UnsetType = UNSET,
    shared: bool | UnsetType = UNSET,
) -> SavedView:
    """Change a saved view of yours."""
    before = await lists.find_view(work.db, work.caller.user_id, id)
    work.caller.require_own(before.owner_id, f"the view {before.name!r}")
    values: dict[str, Any] = {}
    if name is not UNSET and name != before.name:
        await _check_view_name(work, before.owner_id, name)
        values["name"] = name
    if filter is not UNSET:
        values["filter"] = _filter_json(filter)
    if sort is not UNSET:
        values["sort"] = sort or ""
    if shared is not UNSET:
        values["shared"] = int(shared)
    if all(getattr(before, name) == value for name, value in values.items()):
        return _view(before)
    await rows.update(work.db, "saved_views", {"id": before.id}, {**values, "updated_at": work.now})
    after = ViewRow(**{**msgspec.structs.asdict(before), **values, "updated_at": work.now})
    work.record(rows.effect("saved_view", before.stored(), after.stored(), after.name))
    return _view(after)


@view_operations.write(
    right="delete",
    rest=Rest("DELETE", "/views/{id}", 204),
    tag="views",
    tool=False,
    destructive=True,
)
async def delete_view(work: OperationContext, *, id: Id) -> Deletion:
    """Delete a saved view of yours."""
    row = await lists.find_view(work.db, work.caller.user_id, id)
    work.caller.require_own(row.owner_id, f"the view {row.name!r}")
    await rows.delete(work.db, "saved_views", {"id": row.id})
    work.record(rows.effect("saved_view", row.stored(), None, row.name))
    return Deletion(deleted=row.name, also_deleted=[])


@view_operations.read(rest=Rest("GET", "/views"), tag="views", tool=False, snapshot=True)
async def list_views(
    work: OperationContext, *, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[SavedView]:
    """List saved views: your own and the shared ones."""
    query = rows.query_hash("views", work.caller.user_id)
    name, id = ["", ""] if cursor is None else rows.cursor_values(cursor, query, str, str)
    found = await lists.views_after(work.db, work.caller.user_id, name, id, limit + 1)
    page = page_of(
        found,
        limit=limit,
        total=await lists.count_views(work.db, work.caller.user_id),
        key=lambda row: (query, row.name, row.id),
    )
    return map_page(page, _view)


async def _check_view_name(work: OperationContext, owner_id: str, name: str) -> None:
    check_line("name", name)
    if await lists.find_view_named(work.db, owner_id, name) is not None:
        raise ConflictError(f"there is a view {name!r} already")


def _filter_json(filter: Filter) -> str:
    """Return the stored form of a filter.

    Raises InvalidError for an unknown status.
    """
    if filter.status is not None:
        found = corrected({"status": filter.status}, STATUSES, "filter")
        filter = replace(filter, status=found["status"])
    return msgspec.json.encode(filter).decode()


def _view(row: ViewRow) -> SavedView:
    return SavedView(
        id=row.id,
        name=row.name,
        owner=row.owner,
        filter=msgspec.json.decode(row.filter, type=Filter),
        sort=row.sort,
        shared=bool(row.shared),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
