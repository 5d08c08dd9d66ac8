"""Acceptance criteria."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from accord.hub import deletion, lifecycle
from accord.hub.entities import (
    AcceptanceCriteria,
    AnyOfName,
    AnyOfUsername,
    Cursor,
    Deleted,
    Detail,
    Fields,
    Id,
    Limit,
    Page,
    Since,
    Version,
)
from accord.hub.listing import page_of
from accord.hub.presentation import entity
from accord.hub.storage import items
from accord.hub.storage.lists import Sort
from accord.hub.storage.pages import DEFAULT_LIMIT
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.work import Work

Criteria: TypeAlias = Annotated[str, Meta(min_length=1, max_length=50_000)]

operations: Final = Registry()


@operations.write(
    rest=(
        Rest("POST", "/acceptance-criteria", 201, "/acceptance-criteria/{id}"),
        Rest(
            *("POST", "/user-stories/{user_story_id}/acceptance-criteria", 201),
            "/acceptance-criteria/{id}",
        ),
    ),
    tag="acceptance_criteria",
)
async def create_acceptance_criteria(
    work: Work, *, user_story_id: Id, description: Criteria
) -> AcceptanceCriteria:
    """Add acceptance criteria to a user story."""
    row = await lifecycle.create(
        work, "acceptance_criteria", user_story_id=user_story_id, description=description
    )
    return await entity(work.db, row, AcceptanceCriteria)


@operations.read(rest=Rest("GET", "/acceptance-criteria/{id}"), tag="acceptance_criteria")
async def get_acceptance_criteria(
    work: Work, *, id: Id, detail: Detail = "full", fields: Fields | None = None
) -> AcceptanceCriteria:
    """Get acceptance criteria."""
    row = await items.find(work.db, id, "acceptance_criteria")
    return await entity(work.db, row, AcceptanceCriteria, detail=detail, fields=fields)


@operations.write(
    rest=(Rest("PUT", "/acceptance-criteria/{id}"), Rest("PATCH", "/acceptance-criteria/{id}")),
    tag="acceptance_criteria",
)
async def update_acceptance_criteria(
    work: Work,
    *,
    id: Id,
    user_story_id: Id | UnsetType = UNSET,
    description: Criteria | UnsetType = UNSET,
    expected_version: Version | None = None,
) -> AcceptanceCriteria:
    """Change acceptance criteria: only what you give."""
    row = await lifecycle.update(
        work,
        "acceptance_criteria",
        id,
        expected_version,
        user_story_id=user_story_id,
        description=description,
    )
    return await entity(work.db, row, AcceptanceCriteria)


@operations.write(
    right="delete",
    rest=Rest("DELETE", "/acceptance-criteria/{id}", 204),
    tag="acceptance_criteria",
    destructive=True,
)
async def delete_acceptance_criteria(work: Work, *, id: Id, force: bool = False) -> Deleted:
    """Delete acceptance criteria. With requirements only by `force` (administrators): those stay
    under their user story."""
    return await deletion.delete(work, "acceptance_criteria", id, force=force)


@operations.read(
    rest=(
        Rest("GET", "/acceptance-criteria"),
        Rest("GET", "/epics/{epic_id}/acceptance-criteria"),
        Rest("GET", "/user-stories/{user_story_id}/acceptance-criteria"),
    ),
    tag="acceptance_criteria",
    snapshot=True,
)
async def list_acceptance_criteria(
    work: Work,
    *,
    epic_id: Id | None = None,
    user_story_id: Id | None = None,
    creator: AnyOfUsername | None = None,
    label: AnyOfName | None = None,
    updated_since: Since | None = None,
    sort: Sort | None = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor | None = None,
    detail: Detail | None = None,
    fields: Fields | None = None,
) -> Page[AcceptanceCriteria]:
    """List acceptance criteria: all, or those of an epic or a user story."""
    return await page_of(
        work,
        "acceptance_criteria",
        AcceptanceCriteria,
        epic_id=epic_id,
        user_story_id=user_story_id,
        creator=creator,
        label=label,
        updated_since=updated_since,
        sort=sort,
        limit=limit,
        cursor=cursor,
        detail=detail,
        fields=fields,
    )
