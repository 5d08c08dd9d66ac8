"""Operations on the tree of epics, stories, criteria and requirements.

`get_hierarchy` returns a whole tree for programs and models. Pages use the outline: the children of
an item page by page, and the tree with the branches that a user has open.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import replace

from accord.hub import lifecycle
from accord.hub.domain.rules import CHILDREN, Kind
from accord.hub.entities import AnyOfAssignee, AnyOfStatus, Cursor, Id, Limit, Page, each_of
from accord.hub.presentation import assignee_id, heading, summary
from accord.hub.storage import items, lists
from accord.hub.storage.items import ItemRow
from accord.hub.storage.lists import KINDS_UNDER, OutlineFilter, OutlineRow
from accord.operations.context import Changed, Database, OperationContext
from accord.operations.errors import InvalidError
from accord.operations.operation import Rest
from accord.operations.pages import map_page
from accord.operations.registry import Registry

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


class MoveResult(Changed, kw_only=True):
    """Where an item is now."""

    __schema_name__ = "Moved"

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
    work: OperationContext, *, id: Id | None = None, depth: Depth = 3, limit: Nodes = 200
) -> Hierarchy:
    """See the tree under an item, or of all epics, as text and as nodes."""
    if id is None:
        top = await lists.epics(work.db, limit)
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
    work: OperationContext,
    *,
    id: Id,
    before: Id | None = None,
    after: Id | None = None,
    parent_id: Id | None = None,
) -> MoveResult:
    """Move an item before or after a sibling, or to another parent."""
    row = await items.find(work.db, id)
    if row.kind == "prompt":
        raise InvalidError("id", f"{row.reference_id} is a prompt, which has no place")
    row = await lifecycle.move(work, row, before=before, after=after, parent_id=parent_id)
    place, siblings = await lifecycle.rank_of(work.db, row)
    return MoveResult(
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
    """Add children to a tree, level by level, and return all nodes.

    At most `depth` levels and at most `room` nodes are added.
    """
    nodes = {node.id: node for node in roots}
    level = [row.id for row in top if CHILDREN[row.kind]]
    for deep in range(depth + 1):
        totals = await lists.count_children(db, level)
        for id, total in totals.items():
            nodes[id].left_out = total
        if deep == depth or room <= 0 or not totals:
            break
        found = await lists.children(db, list(totals), room)
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


Opened: TypeAlias = Annotated[list[Id], Meta(max_length=100)]

DEFAULT_LIMIT: Final = 50
MAX_ROWS: Final = 500
"""The number of rows at which an outline stops opening requested items.

Items on the path to the selected item are opened even then."""
MAX_UNFOLDED: Final = 150
"""The number of rows at which `unfold` stops opening items."""

outline_operations: Final = Registry()


class Branch(Struct, kw_only=True):
    """An item as a row of a tree."""

    id: str
    reference_id: str
    kind: Kind
    title: str
    status: str
    """Empty for acceptance criteria."""
    assignee: str | None
    suspect: bool
    """Whether something that it is linked to said something else since."""
    has_children: bool


class OpenBranch(Branch, kw_only=True):
    """The same in an outline, with what is under it where it is open."""

    apart: bool = False
    """Whether it stands further behind, and those between are left out."""
    children: list[OpenBranch] | None = None
    next_cursor: str | None = None
    """With which `list_children` gives those that come behind, or between."""
    total: int = 0
    """How many children there are."""


class Outline(Struct, kw_only=True):
    """A tree, open as far as was asked for."""

    items: list[OpenBranch]
    next_cursor: str | None
    total: int
    path: list[Branch]
    """The way to what is selected, with it."""


@outline_operations.read(
    rest=(Rest("GET", "/children"), Rest("GET", "/items/{id}/children")),
    tag="hierarchy",
    tool=False,
    snapshot=True,
)
async def list_children(
    work: OperationContext,
    *,
    id: Id | None = None,
    status: AnyOfStatus | None = None,
    assignee: AnyOfAssignee | None = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor | None = None,
) -> Page[Branch]:
    """List what is directly under an item, or all epics: those that have a status or an assignee,
    or something below them that has. Several values of one field are alternatives."""
    outline_filter = await _outline_filter(work.db, status, assignee)
    if id is not None:
        outline_filter = _below(
            outline_filter, await lists.outline_row(work.db, (await items.find(work.db, id)).id)
        )
    page = await lists.rows_under(work.db, outline_filter, limit=limit, cursor=cursor)
    return map_page(page, lambda row: Branch(**_fields(row)))


@outline_operations.read(
    rest=Rest("GET", "/outline"), tag="hierarchy", tool=False, snapshot=True, cost=2
)
async def get_outline(
    work: OperationContext,
    *,
    open: Opened | None = None,
    unfold: bool = False,
    selected: Id | None = None,
    status: AnyOfStatus | None = None,
    assignee: AnyOfAssignee | None = None,
    limit: Limit = DEFAULT_LIMIT,
) -> Outline:
    """See the tree with the first children of those items that are open, and the way to the one
    that is selected. `unfold` opens whatever there is room for."""
    path = [] if selected is None else await _path_to(work.db, selected)
    tree = _Tree(
        db=work.db,
        limit=limit,
        unfold=unfold,
        opened={name.strip().upper() for name in open or ()}
        | {row.reference_id for row in path[:-1]},
        path={row.parent_id: row for row in path},
    )
    outline_filter = await _outline_filter(work.db, status, assignee)
    root = await tree.grow(outline_filter)
    return Outline(
        items=root.children,
        next_cursor=root.next_cursor,
        total=root.total,
        path=[Branch(**_fields(row)) for row in path],
    )


class _Branches(Struct, frozen=True):
    children: list[OpenBranch]
    next_cursor: str | None
    total: int


class _Tree(Struct, kw_only=True):
    """An outline under construction."""

    db: Database
    limit: int
    unfold: bool
    opened: set[str]
    path: dict[str | None, OutlineRow]
    """By parent id: the child that must be included, because it is on the path to the selected
    item."""
    rows: int = 0

    async def grow(self, under: OutlineFilter) -> _Branches:
        """Return children of an item, with everything below them that is open."""
        page = await lists.rows_under(self.db, under, limit=self.limit)
        found = [OpenBranch(**_fields(row)) for row in page.items]
        needed = self.path.get(under.parent_id)
        if needed is not None and all(row.id != needed.id for row in page.items):
            page.items.append(needed)
            found.append(OpenBranch(**_fields(needed), apart=True))
        self.rows += len(found)
        for row, branch in zip(page.items, found, strict=True):
            if self._is_open(row):
                grown = await self.grow(_below(under, row))
                branch.children = grown.children
                branch.next_cursor = grown.next_cursor
                branch.total = grown.total
        return _Branches(found, page.next_cursor, page.total)

    def _is_open(self, row: OutlineRow) -> bool:
        if row.kind not in KINDS_UNDER or not row.has_children:
            return False
        if row.reference_id not in self.opened:
            return self.unfold and self.rows < MAX_UNFOLDED
        return row.id in self.path or self.rows < MAX_ROWS


async def _outline_filter(
    db: Database, status: AnyOfStatus | None, assignee: AnyOfAssignee | None
) -> OutlineFilter:
    statuses: set[str] = set(each_of(status))
    people = {await assignee_id(db, each) for each in each_of(assignee)}
    return await lists.filter_epics(db, tuple(sorted(statuses)), tuple(sorted(people)))


def _below(under: OutlineFilter, row: OutlineRow) -> OutlineFilter:
    """Return the query for the children of a row, with the same filters.

    Raises InvalidError for a kind without children.
    """
    if row.kind not in KINDS_UNDER:
        raise InvalidError("id", f"{row.reference_id} is nothing that others stand under")
    return replace(under, parent_id=row.id, kinds=KINDS_UNDER[row.kind])


async def _path_to(db: Database, selected: str) -> list[OutlineRow]:
    """Return the path from an epic to an item; empty for items outside of the tree.

    Raises NotFoundError if there is no such item.
    """
    row: OutlineRow | None = await lists.outline_row(db, (await items.find(db, selected)).id)
    path: list[OutlineRow] = []
    while row is not None:
        path.append(row)
        row = None if row.parent_id is None else await lists.outline_row(db, row.parent_id)
    path.reverse()
    return path if path[0].kind == "epic" else []


def _fields(row: OutlineRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "reference_id": row.reference_id,
        "kind": row.kind,
        "title": row.title or summary(row.beginning),
        "status": row.status,
        "assignee": row.assignee,
        "suspect": bool(row.is_suspect),
        "has_children": bool(row.has_children),
    }
