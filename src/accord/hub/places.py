"""The places of items among their siblings. A place is no content: the version stays."""

from __future__ import annotations

from accord.hub import lifecycle
from accord.hub.domain.kinds import KINDS
from accord.hub.storage import items
from accord.hub.storage.differences import PARENT_FIELD
from accord.hub.storage.items import ItemRow
from accord.operations.errors import InvalidError
from accord.operations.work import Database, Work


async def move(
    work: Work, row: ItemRow, *, before: str | None, after: str | None, parent_id: str | None
) -> ItemRow:
    """Move an item before or after a sibling, or to the end of a parent.

    Raises ServiceError.
    """
    if before is not None and after is not None:
        raise InvalidError("after", "give before or after, not both")
    name = before if before is not None else after
    sibling = None if name is None else await items.find(work.db, name, row.kind)
    row = await _to_parent(work, row, sibling, parent_id)
    if sibling is None or sibling.id == row.id:
        return row
    others = [
        each
        for each in await items.positions(work.db, row.kind, row.parent_id)
        if each[0] != row.id
    ]
    at = [id for id, _ in others].index(sibling.id) + (0 if before is not None else 1)
    return await _put(work, row, others, at)


async def place_of(db: Database, row: ItemRow) -> tuple[int, int]:
    """Return the rank of an item among its siblings, from 1, and their number."""
    ids = [id for id, _ in await items.positions(db, row.kind, row.parent_id)]
    return ids.index(row.id) + 1, len(ids)


async def _to_parent(
    work: Work, row: ItemRow, sibling: ItemRow | None, parent_id: str | None
) -> ItemRow:
    """Return the item under the requested parent.

    Another parent makes a new version, since the parent is content.
    """
    field = PARENT_FIELD.get(row.kind)
    if field is None:
        if parent_id is not None:
            raise InvalidError("parent_id", f"{row.reference_id} stands under nothing")
        return row
    meant = sibling.parent_id if sibling is not None else None
    if parent_id is not None:
        parent = await items.find(work.db, parent_id, KINDS[row.kind].parent)
        if sibling is not None and parent.id != sibling.parent_id:
            raise InvalidError("parent_id", f"{sibling.reference_id} is under another")
        meant = parent.id
    if meant is None:
        raise InvalidError("before", "say where to: before, after or parent_id")
    return await lifecycle.update(work, row.kind, row.id, None, **{field: meant})


async def _put(work: Work, row: ItemRow, others: list[tuple[str, float]], at: int) -> ItemRow:
    low = others[at - 1][1] if at > 0 else others[0][1] - 2
    high = others[at][1] if at < len(others) else others[-1][1] + 2
    if low < row.position < high:
        return row
    between = (low + high) / 2
    if low < between < high:
        return await lifecycle.set_aside(work, row, {"position": between})
    # No float is left between the two positions: renumber all siblings.
    ids = [id for id, _ in others]
    ids.insert(at, row.id)
    for place, id in enumerate(ids, 1):
        each = await items.find(work.db, id)
        if each.position != place:
            await lifecycle.set_aside(work, each, {"position": float(place)})
    return await items.find(work.db, row.id)
