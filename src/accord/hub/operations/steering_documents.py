"""Steering documents: what guides the work on epics."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from accord.hub import lifecycle
from accord.hub.entities import (
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
    SteeringDocument,
    Text,
    Title,
    Version,
)
from accord.hub.operations.items import ItemOperations
from accord.hub.storage import items, rows
from accord.hub.storage.items import ItemRow
from accord.hub.storage.lists import Sort
from accord.hub.storage.pages import DEFAULT_LIMIT
from accord.operations.work import Work

EpicIds: TypeAlias = Annotated[list[Id], Meta(max_length=200)]

documents: Final = ItemOperations("steering_document", SteeringDocument)
operations: Final = documents.operations


@documents.declare_create()
async def create_steering_document(
    work: Work, *, title: Title, description: Text = "", epic_ids: EpicIds | UnsetType = UNSET
) -> SteeringDocument:
    """Create a steering document, linked to epics."""
    row = await lifecycle.create(work, "steering_document", title=title, description=description)
    await _link(work, row, epic_ids)
    return await documents.shown(work, row)


@documents.declare_get()
async def get_steering_document(
    work: Work, *, id: Id, detail: Detail = "full", fields: Fields | None = None
) -> SteeringDocument:
    """Get a steering document."""
    return await documents.get(work, id, detail, fields)


@documents.declare_update(destructive=True)
async def update_steering_document(
    work: Work,
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
async def delete_steering_document(work: Work, *, id: Id, force: bool = False) -> Deleted:
    """Delete a steering document. With links only by `force` (administrators)."""
    return await documents.delete(work, id, force=force)


@documents.declare_list(under=["/epics/{epic_id}"])
async def list_steering_documents(
    work: Work,
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


async def _link(work: Work, row: ItemRow, epic_ids: list[str] | UnsetType) -> None:
    """Link a steering document to exactly these epics."""
    if epic_ids is UNSET:
        return
    wanted = {(await items.find(work.db, id, "epic")).id: None for id in epic_ids}
    linked = await rows.where(work.db, "steering_links", "steering_id", row.id)
    for link in linked:
        if link["epic_id"] not in wanted:
            await rows.delete(work.db, "steering_links", link)
            work.did(rows.effect("deleted", "steering_link", link, row.reference_id))
    for epic_id in wanted:
        link = {"steering_id": row.id, "epic_id": epic_id}
        if link not in linked:
            await rows.insert(work.db, "steering_links", link)
            work.did(rows.effect("created", "steering_link", link, row.reference_id))
