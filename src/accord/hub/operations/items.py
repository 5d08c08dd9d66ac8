"""Operations on items: epics, user stories, acceptance criteria, requirements.

`ItemOperations` has the parts that the operations of all kinds share: routes, rights and bodies.
Each kind declares its operations here with its own fields: adapters publish their signatures and
docstrings. Steering documents and prompts, which have more operations, are declared in the same way
in `accord.hub.operations.documents`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Generic, TypeAlias, TypeVar

from msgspec import UNSET, Meta, UnsetType

from accord.hub import lifecycle
from accord.hub.domain.rules import KINDS, Kind
from accord.hub.entities import (
    AcceptanceCriteria,
    AnyOfAssignee,
    AnyOfName,
    AnyOfPriority,
    AnyOfRequirementStatus,
    AnyOfUsername,
    AnyOfWorkStatus,
    Cursor,
    Deletion,
    Detail,
    Entity,
    Epic,
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
    UserStory,
    Version,
    WorkStatus,
)
from accord.hub.presentation import entity, new_entity, page_of
from accord.hub.storage import items
from accord.hub.storage.items import ItemRow
from accord.hub.storage.lists import Sort
from accord.hub.storage.rows import DEFAULT_LIMIT
from accord.operations.context import OperationContext, Right
from accord.operations.operation import Rest
from accord.operations.registry import Registry

E = TypeVar("E", bound=Entity)
F = TypeVar("F", bound=Callable[..., Any])

Criteria: TypeAlias = Annotated[str, Meta(min_length=1, max_length=50_000)]


class ItemOperations(Generic[E]):
    """The operations on items of one kind.

    The `declare_…` decorators add an operation to the registry; routes follow one pattern for all
    kinds. The other methods are the bodies of the operations.
    """

    def __init__(
        self, kind: Kind, entity: type[E], *, write: Right = "write", delete: Right = "delete"
    ) -> None:
        """Take the rights that a caller needs to write and to delete items of this kind."""
        plural = KINDS[kind].plural
        self.operations: Final = Registry()
        self._kind: Final[Kind] = kind
        self._entity = entity
        self._write: Final[Right] = write
        self._delete: Final[Right] = delete
        self._tag = plural.replace("-", "_")
        self._all = f"/{plural}"
        self._one = f"/{plural}/{{id}}"

    def declare_create(self, *, under: Sequence[str] = ()) -> Callable[[F], F]:
        """Declare the operation that creates an item, such as `POST /epics`.

        Also declare it below the parents in `under`, such as `/epics/{epic_id}`.
        """
        paths = (self._all, *(parent + self._all for parent in under))
        rest = tuple(Rest("POST", path, 201, self._one) for path in paths)
        return self.operations.write(right=self._write, rest=rest, tag=self._tag)

    def declare_get(self) -> Callable[[F], F]:
        """Declare the operation that reads an item, such as `GET /epics/{id}`."""
        return self.operations.read(rest=Rest("GET", self._one), tag=self._tag)

    def declare_update(self, *, destructive: bool = False) -> Callable[[F], F]:
        """Declare the operation that updates an item, such as `PATCH /epics/{id}`.

        `PUT` is declared too; both methods change only the given fields.
        """
        rest = (Rest("PUT", self._one), Rest("PATCH", self._one))
        return self.operations.write(
            right=self._write, rest=rest, tag=self._tag, destructive=destructive
        )

    def declare_delete(self) -> Callable[[F], F]:
        """Declare the operation that deletes an item, such as `DELETE /epics/{id}`."""
        rest = Rest("DELETE", self._one, 204)
        return self.operations.write(right=self._delete, rest=rest, tag=self._tag, destructive=True)

    def declare_list(self, *, under: Sequence[str] = ()) -> Callable[[F], F]:
        """Declare the operation that lists items, such as `GET /epics`.

        Also declare it below the parents in `under`, such as `/epics/{epic_id}`.
        """
        paths = (self._all, *(parent + self._all for parent in under))
        rest = tuple(Rest("GET", path) for path in paths)
        return self.operations.read(rest=rest, tag=self._tag, snapshot=True)

    async def create(self, work: OperationContext, **fields: Any) -> E:
        """Create an item from the fields of a caller.

        Raises ServiceError if a field is invalid or names something that does not exist.
        """
        return new_entity(await lifecycle.create(work, self._kind, **fields), self._entity)

    async def get(
        self, work: OperationContext, id: str, detail: Detail, fields: Sequence[str] | None
    ) -> E:
        """Return the item with this UUID or reference id.

        Raises NotFoundError if there is none of this kind, and InvalidError for unknown `fields`.
        """
        row = await items.find(work.db, id, self._kind)
        return await self.shown(work, row, detail=detail, fields=fields)

    async def update(
        self, work: OperationContext, id: str, expected_version: int | None, **fields: Any
    ) -> E:
        """Update an item; fields that are UNSET stay unchanged.

        Raises ServiceError if there is no such item, its version differs from the expected one, a
        field is invalid, or a rule is violated.
        """
        row = await lifecycle.update(work, self._kind, id, expected_version, **fields)
        return await self.shown(work, row)

    async def delete(self, work: OperationContext, id: str, *, force: bool) -> Deletion:
        """Delete an item with the rows that belong to it.

        Raises ServiceError if there is no such item, the caller may not delete it, or children or
        links are in the way.
        """
        return await lifecycle.delete(work, self._kind, id, force=force)

    async def page(
        self,
        work: OperationContext,
        *,
        sort: Sort | None,
        limit: int,
        cursor: str | None,
        detail: Detail | None,
        fields: Sequence[str] | None,
        **where: Any,
    ) -> Page[E]:
        """Return a page of the items that match `where`.

        Raises ServiceError if a filter, a field name or the cursor is invalid.
        """
        return await page_of(
            *(work, self._kind, self._entity),
            sort=sort,
            limit=limit,
            cursor=cursor,
            detail=detail,
            fields=fields,
            **where,
        )

    async def shown(
        self,
        work: OperationContext,
        row: ItemRow,
        *,
        detail: Detail = "full",
        fields: Sequence[str] | None = None,
    ) -> E:
        """Convert a row to the entity that callers get.

        Raises InvalidError for unknown `fields`.
        """
        return await entity(work.db, row, self._entity, detail=detail, fields=fields)


epics: Final = ItemOperations("epic", Epic)


@epics.declare_create()
async def create_epic(
    work: OperationContext,
    *,
    title: Title,
    description: Text = "",
    status: WorkStatus = "Backlog",
    priority: Priority = 3,
    assignee: Username | None | UnsetType = UNSET,
) -> Epic:
    """Create an epic. It is assigned to you unless you name somebody."""
    return await epics.create(
        work,
        title=title,
        description=description,
        status=status,
        priority=priority,
        assignee=assignee,
    )


@epics.declare_get()
async def get_epic(
    work: OperationContext, *, id: Id, detail: Detail = "full", fields: Fields | None = None
) -> Epic:
    """Get an epic."""
    return await epics.get(work, id, detail, fields)


@epics.declare_update()
async def update_epic(
    work: OperationContext,
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
    return await epics.update(
        work,
        id,
        expected_version,
        title=title,
        description=description,
        status=status,
        priority=priority,
        assignee=assignee,
    )


@epics.declare_delete()
async def delete_epic(work: OperationContext, *, id: Id, force: bool = False) -> Deletion:
    """Delete an epic. With children or links only by `force`, for administrators: they go too."""
    return await epics.delete(work, id, force=force)


@epics.declare_list()
async def list_epics(
    work: OperationContext,
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
    return await epics.page(
        work,
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


user_stories: Final = ItemOperations("user_story", UserStory)


@user_stories.declare_create()
async def create_user_story(
    work: OperationContext,
    *,
    epic_id: Id,
    title: Title,
    description: Text = "",
    status: WorkStatus = "Backlog",
    priority: Priority = 3,
    assignee: Username | None | UnsetType = UNSET,
) -> UserStory:
    """Create a user story under an epic, best as: as a … I want … so that …"""
    return await user_stories.create(
        work,
        epic_id=epic_id,
        title=title,
        description=description,
        status=status,
        priority=priority,
        assignee=assignee,
    )


@user_stories.declare_get()
async def get_user_story(
    work: OperationContext, *, id: Id, detail: Detail = "full", fields: Fields | None = None
) -> UserStory:
    """Get a user story."""
    return await user_stories.get(work, id, detail, fields)


@user_stories.declare_update()
async def update_user_story(
    work: OperationContext,
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
    return await user_stories.update(
        work,
        id,
        expected_version,
        epic_id=epic_id,
        title=title,
        description=description,
        status=status,
        priority=priority,
        assignee=assignee,
    )


@user_stories.declare_delete()
async def delete_user_story(work: OperationContext, *, id: Id, force: bool = False) -> Deletion:
    """Delete a user story. With children or links only by `force` (administrators)."""
    return await user_stories.delete(work, id, force=force)


@user_stories.declare_list(under=["/epics/{epic_id}"])
async def list_user_stories(
    work: OperationContext,
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
    return await user_stories.page(
        work,
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


acceptance_criteria: Final = ItemOperations("acceptance_criteria", AcceptanceCriteria)


@acceptance_criteria.declare_create(under=["/user-stories/{user_story_id}"])
async def create_acceptance_criteria(
    work: OperationContext, *, user_story_id: Id, description: Criteria
) -> AcceptanceCriteria:
    """Add acceptance criteria to a user story."""
    return await acceptance_criteria.create(
        work, user_story_id=user_story_id, description=description
    )


@acceptance_criteria.declare_get()
async def get_acceptance_criteria(
    work: OperationContext, *, id: Id, detail: Detail = "full", fields: Fields | None = None
) -> AcceptanceCriteria:
    """Get acceptance criteria."""
    return await acceptance_criteria.get(work, id, detail, fields)


@acceptance_criteria.declare_update()
async def update_acceptance_criteria(
    work: OperationContext,
    *,
    id: Id,
    user_story_id: Id | UnsetType = UNSET,
    description: Criteria | UnsetType = UNSET,
    expected_version: Version | None = None,
) -> AcceptanceCriteria:
    """Change acceptance criteria: only what you give."""
    return await acceptance_criteria.update(
        work, id, expected_version, user_story_id=user_story_id, description=description
    )


@acceptance_criteria.declare_delete()
async def delete_acceptance_criteria(
    work: OperationContext, *, id: Id, force: bool = False
) -> Deletion:
    """Delete acceptance criteria. With requirements only by `force` (administrators): those stay
    under their user story."""
    return await acceptance_criteria.delete(work, id, force=force)


@acceptance_criteria.declare_list(under=["/epics/{epic_id}", "/user-stories/{user_story_id}"])
async def list_acceptance_criteria(
    work: OperationContext,
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
    return await acceptance_criteria.page(
        work,
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


requirements: Final = ItemOperations("requirement", Requirement)


@requirements.declare_create()
async def create_requirement(
    work: OperationContext,
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
    return await requirements.create(
        work,
        user_story_id=user_story_id,
        acceptance_criteria_id=acceptance_criteria_id,
        type=type,
        title=title,
        description=description,
        status=status,
        priority=priority,
        assignee=assignee,
    )


@requirements.declare_get()
async def get_requirement(
    work: OperationContext, *, id: Id, detail: Detail = "full", fields: Fields | None = None
) -> Requirement:
    """Get a requirement."""
    return await requirements.get(work, id, detail, fields)


@requirements.declare_update()
async def update_requirement(
    work: OperationContext,
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
    return await requirements.update(
        work,
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


@requirements.declare_delete()
async def delete_requirement(work: OperationContext, *, id: Id, force: bool = False) -> Deletion:
    """Delete a requirement. With links only by `force`, for administrators: they go too."""
    return await requirements.delete(work, id, force=force)


@requirements.declare_list(
    under=[
        "/epics/{epic_id}",
        "/user-stories/{user_story_id}",
        "/acceptance-criteria/{acceptance_criteria_id}",
    ]
)
async def list_requirements(
    work: OperationContext,
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
    return await requirements.page(
        work,
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
