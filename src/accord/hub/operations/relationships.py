"""Relationships between items."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict

from accord.hub import links
from accord.hub.entities import (
    Cursor,
    Deleted,
    Difference,
    Id,
    Limit,
    Name,
    Page,
    Relationship,
)
from accord.hub.storage import items, relationships
from accord.hub.storage.relationships import Asked, Direction, LinkRow
from accord.hub.storage.revisions import differences_since
from accord.operations.errors import InvalidError, NotFoundError
from accord.operations.operation import Rest
from accord.operations.pages import shown_page
from accord.operations.registry import Registry
from accord.operations.work import Database, Work

operations: Final = Registry()

Reason: TypeAlias = Annotated[str, Meta(min_length=1, max_length=2000)]


class EndChange(Struct, kw_only=True):
    """What one end of a suspect link says otherwise."""

    reference_id: str
    differences: list[Difference]


class RelationshipDetail(Relationship, kw_only=True):
    changes: list[EndChange] | UnsetType = UNSET
    """Of a suspect link: what changed since it was made or confirmed."""


@operations.write(
    rest=Rest("POST", "/relationships", 201, "/relationships/{id}"), tag="relationships"
)
async def create_relationship(
    work: Work, *, source_id: Id, target_id: Id, type: Name
) -> Relationship:
    """Link two items: source <type> target, such as depends_on, verifies, satisfies."""
    return links.shown(await links.create(work, source_id, target_id, type))


@operations.read(rest=Rest("GET", "/relationships/{id}"), tag="relationships", snapshot=True)
async def get_relationship(work: Work, *, id: Id) -> RelationshipDetail:
    """Get a relationship; of a suspect one also what changed at its ends."""
    return await detail(work.db, await relationships.find(work.db, id))


@operations.write(
    rest=(Rest("PUT", "/relationships/{id}"), Rest("PATCH", "/relationships/{id}")),
    tag="relationships",
    tool=False,
)
async def update_relationship(work: Work, *, id: Id, type: Name) -> Relationship:
    """Give a relationship another type."""
    return links.shown(await links.retype(work, await relationships.find(work.db, id), type))


@operations.write(
    right="delete",
    rest=(Rest("DELETE", "/relationships/{id}", 204), Rest("DELETE", "/relationships", 204)),
    tag="relationships",
    destructive=True,
)
async def delete_relationship(
    work: Work,
    *,
    id: Id | None = None,
    source_id: Id | None = None,
    target_id: Id | None = None,
    type: Name | None = None,
) -> Deleted:
    """Delete a relationship, named by its id or by source_id, target_id and type."""
    row = await _named(work.db, id, source_id, target_id, type)
    work.caller.require_own(row.creator_id, row.reference)
    await links.delete(work, row)
    return Deleted(deleted=row.reference, also_deleted=[])


@operations.read(rest=Rest("GET", "/relationships"), tag="relationships", snapshot=True)
async def list_relationships(
    work: Work,
    *,
    id: Id | None = None,
    direction: Direction = "both",
    type: Name | None = None,
    suspect: bool | None = None,
    limit: Limit = 20,
    cursor: Cursor | None = None,
) -> Page[Relationship]:
    """List relationships: all, or those of the item `id`; with `suspect` those to look at again."""
    asked = Asked(
        item_id=None if id is None else (await items.find(work.db, id)).id,
        direction=direction,
        type=None if type is None else (await relationships.find_type(work.db, type)).name,
        suspect=suspect,
    )
    page = await relationships.list_links(work.db, asked, limit=limit, cursor=cursor)
    return shown_page(page, links.shown)


async def detail(db: Database, row: LinkRow) -> RelationshipDetail:
    """Return a relationship with the changes at its ends."""
    return RelationshipDetail(**asdict(links.shown(row)), changes=await _changes(db, row) or UNSET)


async def _named(
    db: Database, id: str | None, source_id: str | None, target_id: str | None, type: str | None
) -> LinkRow:
    if id is not None:
        if source_id or target_id or type:
            raise InvalidError("id", "give the id, or source_id, target_id and type; not both")
        return await relationships.find(db, id)
    if source_id is None or target_id is None or type is None:
        raise InvalidError("id", "give the id, or source_id, target_id and type")
    source, target = await items.find(db, source_id), await items.find(db, target_id)
    of_type = await relationships.find_type(db, type)
    found = await relationships.between(db, source.id, target.id, of_type)
    if found is None:
        raise NotFoundError(
            f"there is no relationship {source.reference_id} {of_type.name} {target.reference_id}"
        )
    return found


async def _changes(db: Database, row: LinkRow) -> list[EndChange]:
    ends = ((row.source_id, row.source_version), (row.target_id, row.target_version))
    found = [(await items.find(db, id), version) for id, version in ends]
    return [
        EndChange(
            reference_id=end.reference_id, differences=await differences_since(db, end, version)
        )
        for end, version in found
        if end.reference_id in row.changed
    ]
