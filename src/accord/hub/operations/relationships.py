"""Operations on relationships: links, suspect links, impact, neighbourhood."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Final, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict

from accord.hub import lifecycle, presentation
from accord.hub.domain.rules import ImpactSearch
from accord.hub.entities import Cursor, Deletion, Difference, Id, Limit, Name, Page, Relationship
from accord.hub.lifecycle import check_text
from accord.hub.presentation import heading
from accord.hub.storage import items, relationships
from accord.hub.storage.items import ItemRow
from accord.hub.storage.relationships import Direction, LinkFilter, LinkRow, NeighbourRow
from accord.hub.storage.revisions import differences_since
from accord.operations.context import Database, OperationContext
from accord.operations.errors import InvalidError, NotFoundError
from accord.operations.operation import Rest
from accord.operations.pages import map_page
from accord.operations.registry import Registry

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
    work: OperationContext, *, source_id: Id, target_id: Id, type: Name
) -> Relationship:
    """Link two items: source <type> target, such as depends_on, verifies, satisfies."""
    return presentation.link_entity(await lifecycle.create_link(work, source_id, target_id, type))


@operations.read(rest=Rest("GET", "/relationships/{id}"), tag="relationships", snapshot=True)
async def get_relationship(work: OperationContext, *, id: Id) -> RelationshipDetail:
    """Get a relationship; of a suspect one also what changed at its ends."""
    return await detail(work.db, await relationships.find(work.db, id))


@operations.write(
    rest=(Rest("PUT", "/relationships/{id}"), Rest("PATCH", "/relationships/{id}")),
    tag="relationships",
    tool=False,
)
async def update_relationship(work: OperationContext, *, id: Id, type: Name) -> Relationship:
    """Give a relationship another type."""
    return presentation.link_entity(
        await lifecycle.retype_link(work, await relationships.find(work.db, id), type)
    )


@operations.write(
    right="delete",
    rest=(Rest("DELETE", "/relationships/{id}", 204), Rest("DELETE", "/relationships", 204)),
    tag="relationships",
    destructive=True,
)
async def delete_relationship(
    work: OperationContext,
    *,
    id: Id | None = None,
    source_id: Id | None = None,
    target_id: Id | None = None,
    type: Name | None = None,
) -> Deletion:
    """Delete a relationship, named by its id or by source_id, target_id and type."""
    row = await _named(work.db, id, source_id, target_id, type)
    work.caller.require_own(row.creator_id, row.reference)
    await lifecycle.delete_link(work, row)
    return Deletion(deleted=row.reference, also_deleted=[])


@operations.read(rest=Rest("GET", "/relationships"), tag="relationships", snapshot=True)
async def list_relationships(
    work: OperationContext,
    *,
    id: Id | None = None,
    direction: Direction = "both",
    type: Name | None = None,
    suspect: bool | None = None,
    limit: Limit = 20,
    cursor: Cursor | None = None,
) -> Page[Relationship]:
    """List relationships: all, or those of the item `id`; with `suspect` those to look at again."""
    link_filter = LinkFilter(
        item_id=None if id is None else (await items.find(work.db, id)).id,
        direction=direction,
        type=None if type is None else (await relationships.find_type(work.db, type)).name,
        suspect=suspect,
    )
    page = await relationships.list_links(work.db, link_filter, limit=limit, cursor=cursor)
    return map_page(page, presentation.link_entity)


async def detail(db: Database, row: LinkRow) -> RelationshipDetail:
    """Return a relationship with the changes at its ends."""
    return RelationshipDetail(
        **asdict(presentation.link_entity(row)), changes=await _changes(db, row) or UNSET
    )


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


suspect_operations: Final = Registry()


@suspect_operations.write(
    rest=Rest("POST", "/relationships/{id}/confirm"), tag="relationships", idempotent=True
)
async def confirm_relationship(work: OperationContext, *, id: Id, reason: Reason) -> Relationship:
    """Confirm that a suspect relationship still holds for what both ends say now."""
    check_text("reason", reason)
    row = await relationships.find(work.db, id)
    return presentation.link_entity(await lifecycle.confirm_link(work, row, reason))


@suspect_operations.read(
    rest=Rest("GET", "/suspect-relationships"),
    tag="relationships",
    tool=False,
    snapshot=True,
    cost=5,
)
async def list_suspect_relationships(
    work: OperationContext, *, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[RelationshipDetail]:
    """List suspect relationships, each with what changed at its ends."""
    page = await relationships.list_links(
        work.db, LinkFilter(suspect=True), limit=limit, cursor=cursor
    )
    return Page(
        items=[await detail(work.db, row) for row in page.items],
        next_cursor=page.next_cursor,
        has_more=page.has_more,
        total=page.total,
    )


impact_operations: Final = Registry()

ImpactDepth: TypeAlias = Annotated[int, Meta(ge=1, le=20)]
ImpactLimit: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]
ImpactTypes: TypeAlias = Annotated[list[Name], Meta(max_length=100)]


class AffectedItem(Struct, kw_only=True):
    """Something that is affected, and the way there."""

    __schema_name__ = "Affected"

    reference_id: str
    kind: str
    title: str
    status: str
    distance: int
    path: str
    """Such as `REQ-001 is_depended_on_by REQ-002 is_verified_by AC-003`."""


class Impact(Struct, kw_only=True):
    reference_id: str
    total: int
    by_kind: dict[str, int]
    truncated: bool
    """Whether there is more than `limit`, or beyond `depth`."""
    items: list[AffectedItem]
    text: str
    """The same as a tree."""


@impact_operations.read(
    rest=Rest("GET", "/items/{id}/impact"), tag="quality", snapshot=True, cost=10
)
async def impact_analysis(
    work: OperationContext,
    *,
    id: Id,
    depth: ImpactDepth = 3,
    types: ImpactTypes | None = None,
    limit: ImpactLimit = 100,
) -> Impact:
    """Tell what a change of an item affects, through links (of `types`, or all) and hierarchy."""
    start = await items.find(work.db, id)
    type_names = None
    if types is not None:
        known = await relationships.types(work.db)
        chosen = [relationships.chosen_type(known, name, "types") for name in types]
        type_names = frozenset(each.name for each in chosen)
    reach = ImpactSearch(start.id, limit)
    for _ in range(depth):
        reach.advance(await relationships.impact_steps_from(work.db, reach.front, type_names))
        if not reach.front or reach.is_cut:
            break
    else:
        beyond = await relationships.impact_steps_from(work.db, reach.front, type_names)
        reach.is_cut = any(step.end not in reach.distances for step in beyond)
    return await _impact(work, start, reach)


async def _impact(work: OperationContext, start: ItemRow, reach: ImpactSearch) -> Impact:
    found = {start.id: start, **await items.by_ids(work.db, list(reach.came_by))}
    return Impact(
        reference_id=start.reference_id,
        total=len(reach.came_by),
        by_kind=dict(Counter(found[id].kind for id in reach.came_by)),
        truncated=reach.is_cut,
        items=[
            AffectedItem(
                reference_id=row.reference_id,
                kind=row.kind,
                title=heading(row),
                status=row.status,
                distance=reach.distances[row.id],
                path=_path(reach, row, found),
            )
            for row in (found[id] for id in reach.came_by)
        ],
        text=_tree(reach, start, found),
    )


def _path(reach: ImpactSearch, row: ItemRow, found: dict[str, ItemRow]) -> str:
    steps = reach.path(row.id)
    first = found[steps[0].start].reference_id
    return " ".join((first, *(f"{step.label} {found[step.end].reference_id}" for step in steps)))


def _tree(reach: ImpactSearch, start: ItemRow, found: dict[str, ItemRow]) -> str:
    lines = [f"{start.reference_id} {heading(start)}"]
    for depth, step in reach.tree():
        row = found[step.end]
        lines.append(f"{'  ' * depth}{step.label} {row.reference_id} {heading(row)}")
    return "\n".join(lines)


neighbour_operations: Final = Registry()

NeighbourDepth: TypeAlias = Annotated[int, Meta(ge=1, le=3)]
NeighbourLimit: TypeAlias = Annotated[int, Meta(ge=1, le=100)]
NeighbourTypes: TypeAlias = Annotated[list[Name], Meta(max_length=100)]


class Neighbour(Struct, kw_only=True):
    """An item, and how far away it is."""

    reference_id: str
    kind: str
    title: str
    status: str
    distance: int
    more: int
    """How many others it is connected with that are not told here."""


class NeighbourLink(Struct, kw_only=True):
    """What leads from one item to another."""

    __schema_name__ = "Line"

    source: str
    target: str
    type: str
    """Of the relationship; `has` and `steers` are places in the hierarchy."""
    suspect: bool
    relationship_id: str | None


class Neighbourhood(Struct, kw_only=True):
    reference_id: str
    title: str
    items: list[Neighbour]
    """The item itself first, then the nearest."""
    lines: list[NeighbourLink]
    more: int
    """How many items in reach are left out, since they are over `limit`."""


@neighbour_operations.read(
    rest=Rest("GET", "/items/{id}/neighbourhood"),
    tag="quality",
    tool=False,
    snapshot=True,
    cost=10,
)
async def get_neighbourhood(
    work: OperationContext,
    *,
    id: Id,
    depth: NeighbourDepth = 1,
    types: NeighbourTypes | None = None,
    hierarchy: bool = True,
    limit: NeighbourLimit = 40,
) -> Neighbourhood:
    """Get what an item is connected with, in both directions: by relationships (of `types`, or all)
    and by its place in the hierarchy."""
    start = await items.find(work.db, id)
    type_names = None
    if types is not None:
        known = await relationships.types(work.db)
        type_names = [relationships.chosen_type(known, name, "types").name for name in types]
    around = _NeighbourSearch(start.id, limit)
    for distance in range(1, depth + 1):
        found = await relationships.neighbour_links(
            work.db, around.front, type_names, with_places=hierarchy
        )
        around.advance(found, distance)
    around.finish(
        await relationships.neighbour_links(
            work.db, around.front, type_names, with_places=hierarchy
        )
    )
    return await _neighbourhood(work, start, around)


class _NeighbourSearch:
    """A breadth-first search from one item along links, in both directions."""

    def __init__(self, start: str, limit: int) -> None:
        self.distances: dict[str, int] = {start: 0}
        self.front: tuple[str, ...] = (start,)
        self.left_out: set[str] = set()
        self._lines: dict[NeighbourRow, None] = {}
        self._limit = limit

    def advance(self, found: list[NeighbourRow], distance: int) -> None:
        """Add links, and the items at their ends that are not yet reached."""
        self._lines |= dict.fromkeys(found)
        reached: list[str] = []
        for line in found:
            for end in (line.source, line.target):
                if end in self.distances or end in self.left_out:
                    continue
                if len(self.distances) > self._limit:
                    self.left_out.add(end)
                else:
                    self.distances[end] = distance
                    reached.append(end)
        self.front = tuple(reached)

    def finish(self, found: list[NeighbourRow]) -> None:
        """Add the links of the items reached last, without following them."""
        self._lines |= dict.fromkeys(found)

    @property
    def lines(self) -> list[NeighbourRow]:
        """The links that have both ends in the result."""
        return [
            line
            for line in self._lines
            if line.source in self.distances and line.target in self.distances
        ]

    def more(self) -> dict[str, int]:
        """Return the number of omitted neighbours of each item in the result, by item id."""
        hidden: dict[str, set[str]] = {}
        for line in self._lines:
            for end, other in ((line.source, line.target), (line.target, line.source)):
                if end in self.distances and other not in self.distances:
                    hidden.setdefault(end, set()).add(other)
        return {id: len(others) for id, others in hidden.items()}


async def _neighbourhood(
    work: OperationContext, start: ItemRow, around: _NeighbourSearch
) -> Neighbourhood:
    found = {start.id: start, **await items.by_ids(work.db, list(around.distances))}
    more = around.more()
    return Neighbourhood(
        reference_id=start.reference_id,
        title=heading(start),
        items=[
            Neighbour(
                reference_id=found[id].reference_id,
                kind=found[id].kind,
                title=heading(found[id]),
                status=found[id].status,
                distance=distance,
                more=more.get(id, 0),
            )
            for id, distance in around.distances.items()
        ],
        lines=[
            NeighbourLink(
                source=found[line.source].reference_id,
                target=found[line.target].reference_id,
                type=line.type,
                suspect=line.is_suspect,
                relationship_id=line.id or None,
            )
            for line in around.lines
        ],
        more=len(around.left_out),
    )
