"""Saved views: a filter and an order under a name, for oneself or for everybody."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from accord.hub.entities import (
    SEVERAL,
    AnyOfAssignee,
    AnyOfName,
    AnyOfPriority,
    AnyOfStatus,
    AnyOfUsername,
    Cursor,
    Deleted,
    Id,
    Limit,
    Name,
    Page,
)
from accord.hub.lifecycle import check_line
from accord.hub.operations.search import FoundKind
from accord.hub.storage import pages, rows, views
from accord.hub.storage.lists import Sort
from accord.hub.storage.views import ViewRow
from accord.operations.choices import Choices, choices_of, corrected
from accord.operations.errors import ConflictError
from accord.operations.operation import Rest
from accord.operations.pages import page_of, shown_page
from accord.operations.registry import Registry
from accord.operations.work import Changed, Effect, Work

operations: Final = Registry()

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


@operations.write(rest=Rest("POST", "/views", 201, "/views/{id}"), tag="views", tool=False)
async def create_view(
    work: Work, *, name: Name, filter: Filter, sort: Sort | None = None, shared: bool = False
) -> SavedView:
    """Save a filter and an order under a name."""
    await _check_name(work, work.caller.user_id, name)
    if await views.count(work.db, work.caller.user_id, own=True) >= MAX_VIEWS:
        raise ConflictError(f"you have {MAX_VIEWS} views already: delete one first")
    values = {
        "id": work.new_id(),
        "owner_id": work.caller.user_id,
        "name": name,
        "filter": _json(filter),
        "sort": sort or "",
        "shared": int(shared),
        "created_at": work.now,
        "updated_at": work.now,
    }
    await rows.insert(work.db, "saved_views", values)
    work.did(rows.effect("created", "saved_view", values, name))
    return _shown(await views.find(work.db, work.caller.user_id, str(values["id"])))


@operations.read(rest=Rest("GET", "/views/{id}"), tag="views", tool=False)
async def get_view(work: Work, *, id: Id) -> SavedView:
    """Get a saved view: your own, or a shared one."""
    return _shown(await views.find(work.db, work.caller.user_id, id))


@operations.write(
    rest=(Rest("PUT", "/views/{id}"), Rest("PATCH", "/views/{id}")), tag="views", tool=False
)
async def update_view(
    work: Work,
    *,
    id: Id,
    name: Name | UnsetType = UNSET,
    filter: Filter | UnsetType = UNSET,
    sort: Sort | None | UnsetType = UNSET,
    shared: bool | UnsetType = UNSET,
) -> SavedView:
    """Change a saved view of yours."""
    before = await views.find(work.db, work.caller.user_id, id)
    work.caller.require_own(before.owner_id, f"the view {before.name!r}")
    values: dict[str, Any] = {}
    if name is not UNSET and name != before.name:
        await _check_name(work, before.owner_id, name)
        values["name"] = name
    if filter is not UNSET:
        values["filter"] = _json(filter)
    if sort is not UNSET:
        values["sort"] = sort or ""
    if shared is not UNSET:
        values["shared"] = int(shared)
    if all(getattr(before, name) == value for name, value in values.items()):
        return _shown(before)
    await rows.update(work.db, "saved_views", {"id": before.id}, {**values, "updated_at": work.now})
    after = ViewRow(**{**msgspec.structs.asdict(before), **values, "updated_at": work.now})
    work.did(
        Effect(
            action="updated",
            kind="saved_view",
            id=after.id,
            reference_id=after.name,
            before=before.stored(),
            after=after.stored(),
        )
    )
    return _shown(after)


@operations.write(
    right="delete",
    rest=Rest("DELETE", "/views/{id}", 204),
    tag="views",
    tool=False,
    destructive=True,
)
async def delete_view(work: Work, *, id: Id) -> Deleted:
    """Delete a saved view of yours."""
    row = await views.find(work.db, work.caller.user_id, id)
    work.caller.require_own(row.owner_id, f"the view {row.name!r}")
    await rows.delete(work.db, "saved_views", {"id": row.id})
    work.did(rows.effect("deleted", "saved_view", row.stored(), row.name))
    return Deleted(deleted=row.name, also_deleted=[])


@operations.read(rest=Rest("GET", "/views"), tag="views", tool=False, snapshot=True)
async def list_views(
    work: Work, *, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[SavedView]:
    """List saved views: your own and the shared ones."""
    asked = pages.asked("views", work.caller.user_id)
    name, id = ["", ""] if cursor is None else pages.place_of(cursor, asked, str, str)
    found = await views.behind(work.db, work.caller.user_id, name, id, limit + 1)
    page = page_of(
        found,
        limit=limit,
        total=await views.count(work.db, work.caller.user_id),
        key=lambda row: (asked, row.name, row.id),
    )
    return shown_page(page, _shown)


async def _check_name(work: Work, owner_id: str, name: str) -> None:
    check_line("name", name)
    if await views.find_named(work.db, owner_id, name) is not None:
        raise ConflictError(f"there is a view {name!r} already")


def _json(filter: Filter) -> str:
    """Return the stored form of a filter.

    Raises InvalidError for an unknown status.
    """
    if filter.status is not None:
        found = corrected({"status": filter.status}, STATUSES, "filter")
        filter = replace(filter, status=found["status"])
    return msgspec.json.encode(filter).decode()


def _shown(row: ViewRow) -> SavedView:
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
