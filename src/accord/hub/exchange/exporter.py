"""The exporter: read a project from the database, all of it or one epic.

Items come in reading order: an epic, its stories, the criteria and requirements of each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from accord.hub.domain.rules import KINDS, Kind
from accord.hub.exchange.csv_file import FIELDS
from accord.hub.exchange.project import Comment, Item, Label, Link, Project, Type
from accord.hub.storage import comments, items, provenance, reference_data, relationships, rows
from accord.hub.storage.comments import CommentRow
from accord.hub.storage.items import ItemRow
from accord.hub.storage.relationships import LinkRow
from accord.operations.context import Database
from accord.operations.errors import ConflictError

MAX_ITEMS: Final = 100_000
"""The maximum number of items in one export."""


async def read_project(db: Database, epic_id: str | None = None) -> Project:
    """Return a project: all items, or one epic with everything that belongs to it.

    An epic includes the steering documents that are linked to it. Relationships are included if
    both ends are. Raises NotFoundError if there is no such epic, and ConflictError if all items are
    requested and are more than `MAX_ITEMS`.
    """
    if epic_id is None:
        total = await items.count(db)
        if total > MAX_ITEMS:
            raise ConflictError(
                f"{total:,} items are more than an export of {MAX_ITEMS:,} can hold: "
                "export one epic at a time"
            )
        found = await items.all_items(db)
    else:
        found = await items.of_epic(db, (await items.find(db, epic_id, "epic")).id)
    described = {str(item.id): item for item in await _described(db, found)}
    for id, origin in (await provenance.all_sources(db)).items():
        if id in described:
            described[id].source, described[id].foreign_id = origin.source, origin.foreign_id
    links = [link for row in await relationships.all_links(db) if (link := _link(row, described))]
    remarks = [
        each for row in await comments.all_comments(db) if (each := _comment(row, described))
    ]
    project = Project(
        source=await provenance.installation_id(db),
        items=_in_order(found, described),
        comments=remarks,
    )
    place = {item.reference_id: place for place, item in enumerate(project.items)}
    project.relationships = sorted(
        links, key=lambda link: (place[link.source], link.type, place[link.target])
    )
    used = {label for item in project.items for label in item.labels or []}
    used_types = {item.type for item in project.items}
    project.labels = [
        Label(name=row.name, colour=row.colour)
        for row in await reference_data.label_names(db)
        if epic_id is None or row.name in used
    ]
    project.types = [
        Type(name=row.name, description=row.description)
        for row in await reference_data.requirement_types(db)
        if epic_id is None or row.name in used_types
    ]
    return project


async def describe(db: Database, row: ItemRow) -> Item:
    """Return one item in the form that imports and exports use."""
    return (await _described(db, [row]))[0]


async def _described(db: Database, found: Sequence[ItemRow]) -> list[Item]:
    made = []
    for chunk in rows.chunks(found):
        labelled = await items.labels_of(db, [row.id for row in chunk])
        steering = [row.id for row in chunk if row.kind == "steering_document"]
        epics = await items.epics_of_steering(db, steering)
        for row in chunk:
            values = _values(row) | {"labels": labelled[row.id], "epics": epics.get(row.id)}
            fields = {name: values[name] for name in FIELDS[row.kind]}
            made.append(Item(**fields, updated_at=row.updated_at, version=row.version))
    return made


def _values(row: ItemRow) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "reference_id": row.reference_id,
        "id": row.id,
        "parent": row.parent_reference_id,
        "acceptance_criteria": row.criteria_reference_id,
        "title": row.title,
        "description": row.description,
        "status": row.status,
        "priority": row.priority,
        "type": row.type,
        "assignee": row.assignee,
        "name": row.name,
        "content": row.content,
        "role": row.role,
        "active": bool(row.active),
        "creator": row.creator,
        "created_at": row.created_at,
    }


def _in_order(found: Iterable[ItemRow], described: dict[str, Item]) -> list[Item]:
    below: defaultdict[tuple[str | None, Kind], list[ItemRow]] = defaultdict(list)
    for row in found:
        below[row.parent_id, row.kind].append(row)

    def walk(parent_id: str | None, parent: Kind | None) -> Iterator[Item]:
        for kind, of_kind in KINDS.items():
            if of_kind.parent == parent:
                for row in below[parent_id, kind]:
                    yield described[row.id]
                    yield from walk(row.id, kind)

    return list(walk(None, None))


def _link(row: LinkRow, described: dict[str, Item]) -> Link | None:
    if row.source_id not in described or row.target_id not in described:
        return None
    return Link(
        source=row.source_reference_id,
        type=row.type,
        target=row.target_reference_id,
        id=row.id,
        creator=row.creator,
        created_at=row.created_at,
    )


def _comment(row: CommentRow, described: dict[str, Item]) -> Comment | None:
    if row.target_id not in described:
        return None
    return Comment(
        target=row.target_reference_id,
        text=row.text,
        id=row.id,
        reply_to=row.reply_to,
        author=row.author,
        quote=row.quote,
        quote_position=row.quote_position,
        resolved=bool(row.resolved),
        resolved_by=row.resolver,
        created_at=row.created_at,
    )
