"""Create, retype, confirm and delete relationships: rules and effects."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from accord.hub.domain.kinds import CycleError, RuleError
from accord.hub.domain.traceability import check_acyclic, check_linkable
from accord.hub.entities import Relationship
from accord.hub.presentation import summary
from accord.hub.storage import items, relationships, rows
from accord.hub.storage.items import ItemRow
from accord.hub.storage.relationships import LinkRow, TypeRow
from accord.operations.context import Database, OperationContext
from accord.operations.errors import ConflictError, InvalidError


async def create(work: OperationContext, source_id: str, target_id: str, type: str) -> LinkRow:
    """Create a relationship that belongs to the caller. Raises ServiceError."""
    of_type = await relationships.find_type(work.db, type)
    source = await _end(work.db, source_id, "source_id")
    target = await _end(work.db, target_id, "target_id")
    if source.id == target.id:
        raise InvalidError("target_id", f"{source.reference_id} cannot be linked to itself")
    await check(work.db, source, target, of_type)
    values: dict[str, Any] = {
        "id": work.new_id(),
        "source_id": source.id,
        "target_id": target.id,
        "type": of_type.name,
        "creator_id": work.caller.user_id,
        "created_at": work.now,
        "source_version": source.version,
        "target_version": target.version,
        "confirmed_by": None,
        "confirmed_at": None,
        "confirmed_reason": "",
    }
    await rows.insert(work.db, "relationships", values)
    row = await relationships.find(work.db, values["id"])
    work.did(rows.effect("relationship", None, row.stored(), row.reference))
    return row


async def retype(work: OperationContext, row: LinkRow, type: str) -> LinkRow:
    """Change the type of a relationship. Raises ServiceError."""
    of_type = await relationships.find_type(work.db, type)
    if of_type.name == row.type:
        return row
    source = await items.find(work.db, row.source_id)
    target = await items.find(work.db, row.target_id)
    await check(work.db, source, target, of_type)
    return await _write(work, row, {"type": of_type.name})


async def confirm(work: OperationContext, row: LinkRow, reason: str) -> LinkRow:
    """Confirm a relationship for the current content of both ends."""
    return await _write(
        work,
        row,
        {
            "source_version": row.source_now,
            "target_version": row.target_now,
            "confirmed_by": work.caller.user_id,
            "confirmed_at": work.now,
            "confirmed_reason": reason,
        },
    )


async def delete(work: OperationContext, row: LinkRow) -> None:
    """Delete a relationship."""
    await rows.delete(work.db, "relationships", {"id": row.id})
    work.did(rows.effect("relationship", row.stored(), None, row.reference))


def link_entity(row: LinkRow) -> Relationship:
    """Return a relationship as callers see it."""
    changed = row.changed
    is_confirmed = row.confirmed_at is not None
    return Relationship(
        id=row.id,
        source_id=row.source_id,
        source_reference_id=row.source_reference_id,
        source_title=row.source_title or summary(row.source_description),
        source_status=row.source_status,
        target_id=row.target_id,
        target_reference_id=row.target_reference_id,
        target_title=row.target_title or summary(row.target_description),
        target_status=row.target_status,
        type=row.type,
        inverse=row.inverse,
        creator=row.creator,
        created_at=row.created_at,
        suspect=bool(changed),
        changed=list(changed) if changed else UNSET,
        confirmed_by=row.confirmer if row.confirmer is not None else UNSET,
        confirmed_at=row.confirmed_at if row.confirmed_at is not None else UNSET,
        confirmed_reason=row.confirmed_reason if is_confirmed else UNSET,
    )


async def _end(db: Database, id: str, field: str) -> ItemRow:
    row = await items.find(db, id)
    try:
        check_linkable(row.kind)
    except RuleError as error:
        raise InvalidError(field, str(error)) from None
    return row


async def check(db: Database, source: ItemRow, target: ItemRow, type: TypeRow) -> None:
    """Raise ConflictError if the link already exists or would close a cycle."""
    found = await relationships.between(db, source.id, target.id, type)
    if found is not None:
        raise ConflictError(
            f"there is such a relationship already: {found.reference}", relationship_id=found.id
        )
    if not type.is_acyclic:
        return
    edges = await relationships.reached_edges(db, target.id, type.name)
    try:
        check_acyclic(type.name, edges, source.reference_id, target.reference_id)
    except CycleError as error:
        raise ConflictError(str(error), path=list(error.path)) from None


async def _write(work: OperationContext, row: LinkRow, values: dict[str, Any]) -> LinkRow:
    await rows.update(work.db, "relationships", {"id": row.id}, values)
    changed = await relationships.find(work.db, row.id)
    work.did(rows.effect("relationship", row.stored(), changed.stored(), changed.reference))
    return changed
