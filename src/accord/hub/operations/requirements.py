"""Requirements."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, UnsetType

from accord.hub import deletion, lifecycle
from accord.hub.entities import (
    AnyOfAssignee,
    AnyOfName,
    AnyOfPriority,
    AnyOfRequirementStatus,
    AnyOfUsername,
    Cursor,
    Deleted,
    Detail,
    Fields,
    Id,
    Limit,
    Name,
    Page,
    Priority,
    Requirement,
    RequirementStatus,
    Since,
    Text,
    Title,
    Username,
    Version,
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


@operations.write(rest=Rest("POST", "/requirements", 201, "/requirements/{id}"), tag="requirements")
async def create_requirement(
    work: Work,
    *,
    user_story_id: Id,
    title: Title,
    description: Text = "",
    type: Name = "Functional",
    acceptance_criteria_id: Id | None = None,
    status: RequirementStatus = "Draft",
    priority: Priority = 3,
    assignee: Username | None | UnsetType = UNSET,
) -> Requirement:
    """Create a requirement under a user story, best as one sentence with "shall"."""
    row = await lifecycle.create(
        work,
        "requirement",
        user_story_id=user_story_id,
        acceptance_criteria_id=acceptance_criteria_id,
        type=type,
        title=title,
        description=description,
        status=status,
        priority=priority,
        assignee=assignee,
    )
    return new_entity(row, Requirement)


@operations.read(rest=Rest("GET", "/requirements/{id}"), tag="requirements")
async def get_requirement(
    work: Work, *, id: Id, detail: Detail = "full", fields: Fields | None = None
) -> Requirement:
    """Get a requirement."""
    row = await items.find(work.db, id, "requirement")
    return await entity(work.db, row, Requirement, detail=detail, fields=fields)


@operations.write(
    rest=(Rest("PUT", "/requirements/{id}"), Rest("PATCH", "/requirements/{id}")),
    tag="requirements",
)
async def update_requirement(
    work: Work,
    *,
    id: Id,
    user_story_id: Id | UnsetType = UNSET,
    acceptance_criteria_id: Id | None | UnsetType = UNSET,
    type: Name | UnsetType = UNSET,
    title: Title | UnsetType = UNSET,
    description: Text | UnsetType = UNSET,
    status: RequirementStatus | UnsetType = UNSET,
    priority: Priority | UnsetType = UNSET,
    assignee: Username | None | UnsetType = UNSET,
    expected_version: Version | None = None,
) -> Requirement:
    """Change a requirement: only what you give. Use edit_text for parts of its description."""
    row = await lifecycle.update(
        work,
        "requirement",
        id,
        expected_version,
        user_story_id=user_story_id,
        acceptance_criteria_id=acceptance_criteria_id,
        type=type,
        title=title,
        description=description,
        status=status,
        priority=priority,
        assignee=assignee,
    )
    return await entity(work.db, row, Requirement)


@operations.write(
    right="delete",
    rest=Rest("DELETE", "/requirements/{id}", 204),
    tag="requirements",
    destructive=True,
)
async def delete_requirement(work: Work, *, id: Id, force: bool = False) -> Deleted:
    """Delete a requirement. With links only by `force`, for administrators: they go too."""
    return await deletion.delete(work, "requirement", id, force=force)


@operations.read(
    rest=(
        Rest("GET", "/requirements"),
        Rest("GET", "/epics/{epic_id}/requirements"),
        Rest("GET", "/user-stories/{user_story_id}/requirements"),
        Rest("GET", "/acceptance-criteria/{acceptance_criteria_id}/requirements"),
    ),
    tag="requirements",
    snapshot=True,
)
async def list_requirements(
    work: Work,
    *,
    epic_id: Id | None = None,
    user_story_id: Id | None = None,
    acceptance_criteria_id: Id | None = None,
    type: AnyOfName | None = None,
    status: AnyOfRequirementStatus | None = None,
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
) -> Page[Requirement]:
    """List requirements: all, or those of an epic, a story or acceptance criteria."""
    return await page_of(
        work,
        "requirement",
        Requirement,
        epic_id=epic_id,
        user_story_id=user_story_id,
        acceptance_criteria_id=acceptance_criteria_id,
        type=type,
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
