"""The tree of epics, stories, criteria and requirements."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

from accord.hub import places
from accord.hub.domain.hierarchy import CHILDREN
from accord.hub.entities import Id
from accord.hub.presentation import heading
from accord.hub.storage import items, outline
from accord.hub.storage.items import ItemRow
from accord.operations.errors import InvalidError
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.work import Changed, Database, Work

Depth: TypeAlias = Annotated[int, Meta(ge=0, le=3)]
Nodes: TypeAlias = Annotated[int, Meta(ge=1, le=2000)]

operations: Final = Registry()


class Node(Struct, kw_only=True):
    """An item with what is under it."""

    id: str
    reference_id: str
    title: str
    status: str
    children: list[Node]
    left_out: int
    """How many children are not shown: beyond the depth or the limit."""


class Hierarchy(Struct, kw_only=True):
    """A tree, as text and as nodes."""

    text: str
    items: list[Node]
    shown: int
    left_out: int
    """How many at the edge of what is shown are not: ask for one of their parents by its id."""


class Moved(Changed, kw_only=True):
    """Where an item is now."""

    id: str
    reference_id: str
    version: int
    parent_reference_id: str | None
    place: int
    """Among its siblings, from 1."""
    siblings: int


@operations.read(
    rest=(
        Rest("GET", "/hierarchy"),
        Rest("GET", "/epics/{id}/hierarchy"),
        Rest("GET", "/user-stories/{id}/hierarchy"),
    ),
    tag="hierarchy",
    cost=2,
    snapshot=True,
)
async def get_hierarchy(
    work: Work, *, id: Id | None = None, depth: Depth = 3, limit: Nodes = 200
) -> Hierarchy:
    """See the tree under an item, or of all epics, as text and as nodes."""
    if id is None:
        top = await outline.epics(work.db, limit)
        hidden = await items.count_epics(work.db) - len(top)
    else:
        top, hidden = [await items.find(work.db, id)], 0
    roots = [_node(row) for row in top]
    nodes = await _grow(work.db, top, roots, depth, limit - len(roots))
    hidden += sum(node.left_out for node in nodes)
    lines = [line for root in roots for line in _lines(root, 0)]
    if hidden:
        lines.append(f"… {hidden:,} more at the edges: ask for the tree of one of their parents")
    return Hierarchy(text="\n".join(lines), items=roots, shown=len(nodes), left_out=hidden)


@operations.write(rest=Rest("POST", "/items/{id}/move"), tag="hierarchy")
async def move_item(
    work: Work,
    *,
    id: Id,
    before: Id | None = None,
    after: Id | None = None,
    parent_id: Id | None = None,
) -> Moved:
    """Move an item before or after a sibling, or to another parent."""
    row = await items.find(work.db, id)
    if row.kind == "prompt":
        raise InvalidError("id", f"{row.reference_id} is a prompt, which has no place")
    row = await places.move(work, row, before=before, after=after, parent_id=parent_id)
    place, siblings = await places.place_of(work.db, row)
    return Moved(
        id=row.id,
        reference_id=row.reference_id,
        version=row.version,
        parent_reference_id=row.parent_reference_id,
        place=place,
        siblings=siblings,
    )


async def _grow(
    db: Database, top: list[ItemRow], roots: list[Node], depth: int, room: int
) -> list[Node]:
    """Add children level by level while there is room; return all nodes."""
    nodes = {node.id: node for node in roots}
    level = [row.id for row in top if CHILDREN[row.kind]]
    for deep in range(depth + 1):
        totals = await outline.count_children(db, level)
        for id, total in totals.items():
            nodes[id].left_out = total
        if deep == depth or room <= 0 or not totals:
            break
        found = await outline.children(db, list(totals), room)
        room -= len(found)
        for row in found:
            nodes[row.id] = _node(row)
            parent = nodes[row.parent_id or ""]
            parent.children.append(nodes[row.id])
            parent.left_out -= 1
        level = [row.id for row in found if CHILDREN[row.kind]]
    return list(nodes.values())


def _node(row: ItemRow) -> Node:
    return Node(
        id=row.id,
        reference_id=row.reference_id,
        title=heading(row),
        status=row.status,
        children=[],
        left_out=0,
    )


def _lines(node: Node, deep: int) -> list[str]:
    status = f" [{node.status}]" if node.status else ""
    more = f" (+{node.left_out:,})" if node.left_out else ""
    line = f"{'  ' * deep}{node.reference_id} {node.title}{status}{more}"
    return [line, *(each for child in node.children for each in _lines(child, deep + 1))]
