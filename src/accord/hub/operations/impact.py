"""What is affected when an item changes."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

from accord.hub.domain.impact import Reach
from accord.hub.entities import Id, Name
from accord.hub.presentation import heading
from accord.hub.storage import impact, items, relationships
from accord.hub.storage.items import ItemRow
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.work import Work

operations: Final = Registry()

Depth: TypeAlias = Annotated[int, Meta(ge=1, le=20)]
Most: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]
Types: TypeAlias = Annotated[list[Name], Meta(max_length=100)]


class Affected(Struct, kw_only=True):
    """Something that is affected, and the way there."""

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
    items: list[Affected]
    text: str
    """The same as a tree."""


@operations.read(rest=Rest("GET", "/items/{id}/impact"), tag="quality", snapshot=True, cost=10)
async def impact_analysis(
    work: Work, *, id: Id, depth: Depth = 3, types: Types | None = None, limit: Most = 100
) -> Impact:
    """Tell what a change of an item affects, through links (of `types`, or all) and hierarchy."""
    start = await items.find(work.db, id)
    wanted = None
    if types is not None:
        known = await relationships.types(work.db)
        chosen = [relationships.chosen_type(known, name, "types") for name in types]
        wanted = frozenset(each.name for each in chosen)
    reach = Reach(start.id, limit)
    for _ in range(depth):
        reach.advance(await impact.steps_from(work.db, reach.front, wanted))
        if not reach.front or reach.is_cut:
            break
    else:
        beyond = await impact.steps_from(work.db, reach.front, wanted)
        reach.is_cut = any(step.end not in reach.distances for step in beyond)
    return await _impact(work, start, reach)


async def _impact(work: Work, start: ItemRow, reach: Reach) -> Impact:
    found = {start.id: start, **await items.by_ids(work.db, list(reach.came_by))}
    return Impact(
        reference_id=start.reference_id,
        total=len(reach.came_by),
        by_kind=dict(Counter(found[id].kind for id in reach.came_by)),
        truncated=reach.is_cut,
        items=[
            Affected(
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


def _path(reach: Reach, row: ItemRow, found: dict[str, ItemRow]) -> str:
    steps = reach.path(row.id)
    first = found[steps[0].start].reference_id
    return " ".join((first, *(f"{step.label} {found[step.end].reference_id}" for step in steps)))


def _tree(reach: Reach, start: ItemRow, found: dict[str, ItemRow]) -> str:
    lines = [f"{start.reference_id} {heading(start)}"]
    for depth, step in reach.tree():
        row = found[step.end]
        lines.append(f"{'  ' * depth}{step.label} {row.reference_id} {heading(row)}")
    return "\n".join(lines)
