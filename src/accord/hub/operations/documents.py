"""Operations on steering documents and prompts.

Steering documents guide the work on epics. Assistants get the active prompt, if there is one, when
they connect.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from accord.hub import lifecycle
from accord.hub.domain.rules import parse_reference
from accord.hub.entities import (
    AnyOfName,
    AnyOfUsername,
    Cursor,
    Deletion,
    Detail,
    Fields,
    Id,
    Limit,
    Page,
    PromptItem,
    PromptRole,
    Since,
    SteeringDocument,
    Text,
    Title,
    Version,
)
from accord.hub.operations.items import ItemOperations
from accord.hub.storage import items, rows
from accord.hub.storage.items import ItemRow
from accord.hub.storage.lists import Sort
from accord.hub.storage.rows import DEFAULT_LIMIT
from accord.operations.context import Database, OperationContext, is_uuid
from accord.operations.errors import ConflictError, InvalidError, NotFoundError
from accord.operations.operation import Rest

EpicIds: TypeAlias = Annotated[list[Id], Meta(max_length=200)]

documents: Final = ItemOperations("steering_document", SteeringDocument)
document_operations: Final = documents.operations


@documents.declare_create()
async def create_steering_document(
    work: OperationContext,
    *,
    title: Title,
    description: Text = "",
    epic_ids: EpicIds | UnsetType = UNSET,
) -> SteeringDocument:
    """Create a steering document, linked to epics."""
    row = await lifecycle.create(work, "steering_document", title=title, description=description)
    await _link(work, row, epic_ids)
    return await documents.shown(work, row)


@documents.declare_get()
async def get_steering_document(
    work: OperationContext, *, id: Id, detail: Detail = "full", fields: Fields | None = None
) -> SteeringDocument:
    """Get a steering document."""
    return await documents.get(work, id, detail, fields)


@documents.declare_update(destructive=True)
async def update_steering_document(
    work: OperationContext,
    *,
    id: Id,
    title: Title | UnsetType = UNSET,
    description: Text | UnsetType = UNSET,
    epic_ids: EpicIds | UnsetType = UNSET,
    expected_version: Version | None = None,
) -> SteeringDocument:
    """Change a steering document: only what you give. `epic_ids` are all epics it is linked to."""
    row = await lifecycle.update(
        work, "steering_document", id, expected_version, title=title, description=description
    )
    await _link(work, row, epic_ids)
    return await documents.shown(work, row)


@documents.declare_delete()
async def delete_steering_document(
    work: OperationContext, *, id: Id, force: bool = False
) -> Deletion:
    """Delete a steering document. With links only by `force` (administrators)."""
    return await documents.delete(work, id, force=force)


@documents.declare_list(under=["/epics/{epic_id}"])
async def list_steering_documents(
    work: OperationContext,
    *,
    epic_id: Id | None = None,
    creator: AnyOfUsername | None = None,
    label: AnyOfName | None = None,
    updated_since: Since | None = None,
    sort: Sort | None = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor | None = None,
    detail: Detail | None = None,
    fields: Fields | None = None,
) -> Page[SteeringDocument]:
    """List steering documents: all, or those of an epic."""
    return await documents.page(
        work,
        epic_id=epic_id,
        creator=creator,
        label=label,
        updated_since=updated_since,
        sort=sort,
        limit=limit,
        cursor=cursor,
        detail=detail,
        fields=fields,
    )


async def _link(work: OperationContext, row: ItemRow, epic_ids: list[str] | UnsetType) -> None:
    """Link a steering document to exactly these epics."""
    if epic_ids is UNSET:
        return
    chosen = {(await items.find(work.db, id, "epic")).id: None for id in epic_ids}
    linked = await rows.where(work.db, "steering_links", "steering_id", row.id)
    for link in linked:
        if link["epic_id"] not in chosen:
            await rows.delete(work.db, "steering_links", link)
            work.record(rows.effect("steering_link", link, None, row.reference_id))
    for epic_id in chosen:
        link = {"steering_id": row.id, "epic_id": epic_id}
        if link not in linked:
            await rows.insert(work.db, "steering_links", link)
            work.record(rows.effect("steering_link", None, link, row.reference_id))


PromptName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
PromptId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
Content: TypeAlias = Annotated[str, Meta(min_length=1, max_length=50_000)]

_PROMPT_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*", re.ASCII)

prompts: Final = ItemOperations("prompt", PromptItem, write="admin", delete="admin")
prompt_operations: Final = prompts.operations


@prompts.declare_create()
async def create_prompt(
    work: OperationContext,
    *,
    name: PromptName,
    content: Content,
    title: Title | None = None,
    description: Text = "",
    role: PromptRole = "user",
) -> PromptItem:
    """Create a prompt, not yet active. Its name has letters, digits, `_`, `-` and `.` only."""
    await _check_prompt_name(work.db, name, None)
    return await prompts.create(
        work,
        name=name,
        title=name if title is None else title,
        description=description,
        content=content,
        role=role,
    )


@prompt_operations.read(rest=Rest("GET", "/prompts/active"), tag="prompts")
async def get_active_prompt(work: OperationContext) -> PromptItem:
    """Get the active prompt."""
    row = await items.active_prompt(work.db)
    if row is None:
        raise NotFoundError("no prompt is active")
    return await prompts.shown(work, row)


@prompts.declare_get()
async def get_prompt(
    work: OperationContext, *, id: PromptId, detail: Detail = "full", fields: Fields | None = None
) -> PromptItem:
    """Get a prompt by id or name."""
    row = await find_prompt(work.db, id)
    return await prompts.shown(work, row, detail=detail, fields=fields)


@prompts.declare_update()
async def update_prompt(
    work: OperationContext,
    *,
    id: PromptId,
    name: PromptName | UnsetType = UNSET,
    title: Title | UnsetType = UNSET,
    description: Text | UnsetType = UNSET,
    content: Content | UnsetType = UNSET,
    role: PromptRole | UnsetType = UNSET,
    expected_version: Version | None = None,
) -> PromptItem:
    """Change a prompt: only what you give."""
    found = await find_prompt(work.db, id)
    if name is not UNSET:
        await _check_prompt_name(work.db, name, found.id)
    return await prompts.update(
        work,
        found.id,
        expected_version,
        name=name,
        title=title,
        description=description,
        content=content,
        role=role,
    )


@prompts.declare_delete()
async def delete_prompt(work: OperationContext, *, id: PromptId) -> Deletion:
    """Delete a prompt."""
    found = await find_prompt(work.db, id)
    return await prompts.delete(work, found.id, force=False)


@prompt_operations.write(
    right="admin",
    rest=(Rest("PATCH", "/prompts/{id}/activate"), Rest("POST", "/prompts/{id}/activate")),
    tag="prompts",
    idempotent=True,
)
async def activate_prompt(work: OperationContext, *, id: PromptId) -> PromptItem:
    """Make a prompt the active one, in place of the one that was."""
    row = await find_prompt(work.db, id)
    if not row.active:
        # Deactivate first: a unique index allows one active prompt.
        other = await items.active_prompt(work.db)
        if other is not None:
            await lifecycle.write_unversioned(work, other, {"active": 0})
        row = await lifecycle.write_unversioned(work, row, {"active": 1})
    return await prompts.shown(work, row)


@prompt_operations.write(
    right="admin",
    rest=(Rest("PATCH", "/prompts/{id}/deactivate"), Rest("POST", "/prompts/{id}/deactivate")),
    tag="prompts",
    tool=False,
    idempotent=True,
)
async def deactivate_prompt(work: OperationContext, *, id: PromptId) -> PromptItem:
    """Have no prompt active, if it is this one."""
    row = await find_prompt(work.db, id)
    if row.active:
        row = await lifecycle.write_unversioned(work, row, {"active": 0})
    return await prompts.shown(work, row)


@prompts.declare_list()
async def list_prompts(
    work: OperationContext,
    *,
    active: bool | None = None,
    sort: Sort | None = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor | None = None,
    detail: Detail | None = None,
    fields: Fields | None = None,
) -> Page[PromptItem]:
    """List prompts; `active` (true or false) filters."""
    return await prompts.page(
        work,
        active=None if active is None else int(active),
        sort=sort,
        limit=limit,
        cursor=cursor,
        detail=detail,
        fields=fields,
    )


async def find_prompt(db: Database, id: Id) -> ItemRow:
    """Return the prompt with this UUID, reference id or name.

    Raises NotFoundError if there is none.
    """
    if is_uuid(id) or parse_reference(id) is not None:
        return await items.find(db, id, "prompt")
    named = await items.prompt_named(db, id)
    if named is None:
        raise NotFoundError(f"there is no prompt {id!r}")
    return named


async def _check_prompt_name(db: Database, name: str, own_id: str | None) -> None:
    if _PROMPT_NAME.fullmatch(name) is None:
        raise InvalidError("name", "must have letters, digits, '_', '-' and '.' only")
    if is_uuid(name) or parse_reference(name) is not None:
        raise InvalidError("name", "must not look like an id")
    taken = await items.prompt_named(db, name)
    if taken is not None and taken.id != own_id:
        raise ConflictError(f"{taken.reference_id} has the name {taken.name!r} already")
