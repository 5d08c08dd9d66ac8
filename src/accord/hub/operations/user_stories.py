"""User stories."""

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
    Fields,
    Id,
    Limit,
    Page,
    Priority,
    Since,
    Text,
    Title,
    Username,
    UserStory,
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


@operations.write(rest=Rest("POST", "/user-stories", 201, "/user-stories/{id}"), tag="user_stories")
async def create_user_story(
    work: Work,
    *,
    epic_id: Id,
    title: Title,
    description: Text = "",
    status: WorkStatus = "Backlog",
    priority: Priority = 3,
    assignee: Username | None | UnsetType = UNSET,
) -> UserStory:
    """Create a user story under an epic, best as: as a … I want … so that …"""
    row = await lifecycle.create(
        work,
        "user_story",
        epic_id=epic_id,
        title=title,
        description=description,
        status=status,
        priority=priority,
        assignee=assignee,
    )
    return new_entity(row, UserStory)


@operations.read(rest=Rest("GET", "/user-stories/{id}"), tag="user_stories")
async def get_user_story(
    work: Work, *, id: Id, detail: Detail = "full", fields: Fields | None = None
) -> UserStory:
    """Get a user story."""
    row = await items.find(work.db, id, "user_story")
    return await entity(work.db, row, UserStory, detail=detail, fields=fields)


@operations.write(
    rest=(Rest("PUT", "/user-stories/{id}"), Rest("PATCH", "/user-stories/{id}")),
    tag="user_stories",
)
async def update_user_story(
    work: Work,
    *,
    id: Id,
    epic_id: Id | UnsetType = UNSET,
    title: Title | UnsetType = UNSET,
    description: Text | UnsetType = UNSET,
    status: WorkStatus | UnsetType = UNSET,
    priority: Priority | UnsetType = UNSET,
    assignee: Username | None | UnsetType = UNSET,
    expected_version: Version | None = None,
) -> UserStory:
    """Change a user story: only what you give. Use edit_text for parts of its description."""
    row = await lifecycle.update(
        work,
        "user_story",
        id,
        expected_version,
        epic_id=epic_id,
        title=title,
        description=description,
        status=status,
        priority=priority,
        assignee=assignee,
    )
    return await entity(work.db, row, UserStory)


@operations.write(
    right="delete",
    rest=Rest("DELETE", "/user-stories/{id}", 204),
    tag="user_stories",
    destructive=True,
)
async def delete_user_story(work: Work, *, id: Id, force: bool = False) -> Deleted:
    """Delete a user story. With children or links only by `force` (administrators)."""
    return await deletion.delete(work, "user_story", id, force=force)


@operations.read(
    rest=(Rest("GET", "/user-stories"), Rest("GET", "/epics/{epic_id}/user-stories")),
    tag="user_stories",
    snapshot=True,
)
async def list_user_stories(
    work: Work,
    *,
    epic_id: Id | None = None,
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
) -> Page[UserStory]:
    """List user stories: all, or those of an epic."""
    return await page_of(
        work,
        "user_story",
        UserStory,
        epic_id=epic_id,
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
