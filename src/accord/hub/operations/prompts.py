"""Prompts: texts for assistants. The active one, if any, is handed to them when they connect."""

from __future__ import annotations

import re
from typing import Annotated, Final, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from accord.hub import lifecycle
from accord.hub.domain.kinds import parse_reference
from accord.hub.entities import (
    Cursor,
    Deleted,
    Detail,
    Fields,
    Id,
    Limit,
    Page,
    Prompt,
    PromptRole,
    Text,
    Title,
    Version,
)
from accord.hub.operations.items import ItemOperations
from accord.hub.storage import items
from accord.hub.storage.items import ItemRow
from accord.hub.storage.lists import Sort
from accord.hub.storage.pages import DEFAULT_LIMIT
from accord.operations.errors import ConflictError, InvalidError, NotFoundError
from accord.operations.operation import Rest
from accord.operations.work import Database, Work, is_uuid

PromptName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
PromptId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
Content: TypeAlias = Annotated[str, Meta(min_length=1, max_length=50_000)]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*", re.ASCII)

prompts: Final = ItemOperations("prompt", Prompt, write="admin", delete="admin")
operations: Final = prompts.operations


@prompts.declare_create()
async def create_prompt(
    work: Work,
    *,
    name: PromptName,
    content: Content,
    title: Title | None = None,
    description: Text = "",
    role: PromptRole = "user",
) -> Prompt:
    """Create a prompt, not yet active. Its name has letters, digits, `_`, `-` and `.` only."""
    await _check_name(work.db, name, None)
    return await prompts.create(
        work,
        name=name,
        title=name if title is None else title,
        description=description,
        content=content,
        role=role,
    )


@operations.read(rest=Rest("GET", "/prompts/active"), tag="prompts")
async def get_active_prompt(work: Work) -> Prompt:
    """Get the active prompt."""
    row = await items.active_prompt(work.db)
    if row is None:
        raise NotFoundError("no prompt is active")
    return await prompts.shown(work, row)


@prompts.declare_get()
async def get_prompt(
    work: Work, *, id: PromptId, detail: Detail = "full", fields: Fields | None = None
) -> Prompt:
    """Get a prompt by id or name."""
    row = await find_prompt(work.db, id)
    return await prompts.shown(work, row, detail=detail, fields=fields)


@prompts.declare_update()
async def update_prompt(
    work: Work,
    *,
    id: PromptId,
    name: PromptName | UnsetType = UNSET,
    title: Title | UnsetType = UNSET,
    description: Text | UnsetType = UNSET,
    content: Content | UnsetType = UNSET,
    role: PromptRole | UnsetType = UNSET,
    expected_version: Version | None = None,
) -> Prompt:
    """Change a prompt: only what you give."""
    found = await find_prompt(work.db, id)
    if name is not UNSET:
        await _check_name(work.db, name, found.id)
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
async def delete_prompt(work: Work, *, id: PromptId) -> Deleted:
    """Delete a prompt."""
    found = await find_prompt(work.db, id)
    return await prompts.delete(work, found.id, force=False)


@operations.write(
    right="admin",
    rest=(Rest("PATCH", "/prompts/{id}/activate"), Rest("POST", "/prompts/{id}/activate")),
    tag="prompts",
    idempotent=True,
)
async def activate_prompt(work: Work, *, id: PromptId) -> Prompt:
    """Make a prompt the active one, in place of the one that was."""
    row = await find_prompt(work.db, id)
    if not row.active:
        # Deactivate first: a unique index allows one active prompt.
        other = await items.active_prompt(work.db)
        if other is not None:
            await lifecycle.set_aside(work, other, {"active": 0})
        row = await lifecycle.set_aside(work, row, {"active": 1})
    return await prompts.shown(work, row)


@operations.write(
    right="admin",
    rest=(Rest("PATCH", "/prompts/{id}/deactivate"), Rest("POST", "/prompts/{id}/deactivate")),
    tag="prompts",
    tool=False,
    idempotent=True,
)
async def deactivate_prompt(work: Work, *, id: PromptId) -> Prompt:
    """Have no prompt active, if it is this one."""
    row = await find_prompt(work.db, id)
    if row.active:
        row = await lifecycle.set_aside(work, row, {"active": 0})
    return await prompts.shown(work, row)


@prompts.declare_list()
async def list_prompts(
    work: Work,
    *,
    active: bool | None = None,
    sort: Sort | None = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor | None = None,
    detail: Detail | None = None,
    fields: Fields | None = None,
) -> Page[Prompt]:
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
    """Return the prompt with this UUID, reference id or name. Raises NotFoundError."""
    if is_uuid(id) or parse_reference(id) is not None:
        return await items.find(db, id, "prompt")
    named = await items.prompt_named(db, id)
    if named is None:
        raise NotFoundError(f"there is no prompt {id!r}")
    return named


async def _check_name(db: Database, name: str, own_id: str | None) -> None:
    if _NAME.fullmatch(name) is None:
        raise InvalidError("name", "must have letters, digits, '_', '-' and '.' only")
    if is_uuid(name) or parse_reference(name) is not None:
        raise InvalidError("name", "must not look like an id")
    taken = await items.prompt_named(db, name)
    if taken is not None and taken.id != own_id:
        raise ConflictError(f"{taken.reference_id} has the name {taken.name!r} already")
