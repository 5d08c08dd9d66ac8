"""The neighbourhood of an item: what is linked with it, and what with that, as boxes and lines."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

from accord.hub.entities import Id, Name
from accord.hub.presentation import heading
from accord.hub.storage import items, neighbours, relationships
from accord.hub.storage.items import ItemRow
from accord.hub.storage.neighbours import LineRow
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.work import Work

operations: Final = Registry()

Depth: TypeAlias = Annotated[int, Meta(ge=1, le=3)]
Most: TypeAlias = Annotated[int, Meta(ge=1, le=100)]
Types: TypeAlias = Annotated[list[Name], Meta(max_length=100)]


class Neighbour(Struct, kw_only=True):
    """An item, and how far away it is."""

    reference_id: str
    kind: str
    title: str
    status: str
    distance: int
    more: int
    """How many others it is connected with that are not told here."""


class Line(Struct, kw_only=True):
    """What leads from one item to another."""

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
    lines: list[Line]
    more: int
    """How many items in reach are left out, since they are over `limit`."""


@operations.read(
    rest=Rest("GET", "/items/{id}/neighbourhood"),
    tag="quality",
    tool=False,
    snapshot=True,
    cost=10,
)
async def get_neighbourhood(
    work: Work,
    *,
    id: Id,
    depth: Depth = 1,
    types: Types | None = None,
    hierarchy: bool = True,
    limit: Most = 40,
) -> Neighbourhood:
    """Get what an item is connected with, in both directions: by relationships (of `types`, or all)
    and by its place in the hierarchy."""
    start = await items.find(work.db, id)
    wanted = None
    if types is not None:
        known = await relationships.types(work.db)
        wanted = [relationships.chosen_type(known, name, "types").name for name in types]
    around = _Around(start.id, limit)
    for distance in range(1, depth + 1):
        found = await neighbours.lines(work.db, around.front, wanted, with_places=hierarchy)
        around.advance(found, distance)
    around.finish(await neighbours.lines(work.db, around.front, wanted, with_places=hierarchy))
    return await _shown(work, start, around)


class _Around:
    """A breadth-first traversal in both directions."""

    def __init__(self, start: str, limit: int) -> None:
        self.distances: dict[str, int] = {start: 0}
        self.front: tuple[str, ...] = (start,)
        self.left_out: set[str] = set()
        self._lines: dict[LineRow, None] = {}
        self._limit = limit

    def advance(self, found: list[LineRow], distance: int) -> None:
        """Add the items at the other ends of the links found."""
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

    def finish(self, found: list[LineRow]) -> None:
        """Count the links that lead beyond the last items, without following them."""
        self._lines |= dict.fromkeys(found)

    @property
    def lines(self) -> list[LineRow]:
        """The links between items in the result."""
        return [
            line
            for line in self._lines
            if line.source in self.distances and line.target in self.distances
        ]

    def more(self) -> dict[str, int]:
        """Return, by item in the result, the number of its neighbours outside of it."""
        hidden: dict[str, set[str]] = {}
        for line in self._lines:
            for end, other in ((line.source, line.target), (line.target, line.source)):
                if end in self.distances and other not in self.distances:
                    hidden.setdefault(end, set()).add(other)
        return {id: len(others) for id, others in hidden.items()}


async def _shown(work: Work, start: ItemRow, around: _Around) -> Neighbourhood:
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
            Line(
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
