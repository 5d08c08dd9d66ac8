"""Epics."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, UnsetType

from accord.hub import deletion, lifecycle
from accord.hub.entities import (
    AnyOfAssignee,
    AnyOfName,
    AnyOfPriority,
    AnyOfUsername,
    AnyOfWorkStatus,
    Cursor,
    Deleted,
    Detail,
    Epic,
    Fields,
    Id,
    Limit,
    Page,
    Priority,
    Since,
    Text,
    Title,
    Username,
    Version,
    WorkStatus,
)
from accord.hub.listing import page_of
from accord.hub.presentation import entity, new_entity
from accord.hub.storage import items
from accord.hub.storage.lists import Sort
from accord.hub.storage.pages import DEFAULT_LIMIT
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.work import Work

operations: Final = Registry()


@operations.write(rest=Rest("POST", "/epics", 201, "/epics/{id}"), tag="epics")
async def create_epic(
    work: Work,
    *,
    title: Title,
    description: Text = "",
    status: WorkStatus = "Backlog",
    priority: Priority = 3,
    assignee: Username | None | UnsetType = UNSET,
) -> Epic:
    """Create an epic. It is assigned to you unless you name somebody."""
    row = await lifecycle.create(
        work,
        "epic",
        title=title,
        description=description,
        status=status,
        priority=priority,
        assignee=assignee,
    )
    return new_entity(row, Epic)


@operations.read(rest=Rest("GET", "/epics/{id}"), tag="epics")
async def get_epic(
    work: Work, *, id: Id, detail: Detail = "full", fields: Fields | None = None
) -> Epic:
    """Get an epic."""
    row = await items.find(work.db, id, "epic")
    return await entity(work.db, row, Epic, detail=detail, fields=fields)


@operations.write(rest=(Rest("PUT", "/epics/{id}"), Rest("PATCH", "/epics/{id}")), tag="epics")
async def update_epic(
    work: Work,
    *,
    id: Id,
    title: Title | UnsetType = UNSET,
    description: Text | UnsetType = UNSET,
    status: WorkStatus | UnsetType = UNSET,
    priority: Priority | UnsetType = UNSET,
    assignee: Username | None | UnsetType = UNSET,
    expected_version: Version | None = None,
) -> Epic:
    """Change an epic: only what you give. Use edit_text for parts of its description."""
    row = await lifecycle.update(
        work,
        "epic",
        id,
        expected_version,
        title=title,
        description=description,
        status=status,
        priority=priority,
        assignee=assignee,
    )
    return await entity(work.db, row, Epic)


@operations.write(
    right="delete", rest=Rest("DELETE", "/epics/{id}", 204), tag="epics", destructive=True
)
async def delete_epic(work: Work, *, id: Id, force: bool = False) -> Deleted:
    """Delete an epic. With children or links only by `force`, for administrators: they go too."""
    return await deletion.delete(work, "epic", id, force=force)


@operations.read(rest=Rest("GET", "/epics"), tag="epics", snapshot=True)
async def list_epics(
    work: Work,
    *,
    status: AnyOfWorkStatus | None = None,
    priority: AnyOfPriority | None = None,
    assignee: AnyOfAssignee | None = None,
    creator: AnyOfUsername | None = None,
    label: AnyOfName | None = None,
    updated_since: Since | None = None,
    sort: Sort | None = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor | None = None,
    detail: Detail | None = None,
    fields: Fields | None = None,
) -> Page[Epic]:
    """List epics."""
    return await page_of(
        work,
        "epic",
        Epic,
        status=status,
        priority=priority,
        assignee=assignee,
        creator=creator,
        label=label,
        updated_since=updated_since,
        sort=sort,
        limit=limit,
        cursor=cursor,
        detail=detail,
        fields=fields,
    )
