"""What an item said at one time and at another."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from accord.hub.entities import Difference, Id, Version
from accord.hub.storage import items
from accord.hub.storage.differences import Pair, shown
from accord.hub.storage.items import ItemRow
from accord.operations.errors import InvalidError
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.operations.work import Database, Work

BEFORE: Final = """
SELECT r.version, r.before FROM revisions r
WHERE r.entity_id = $1 AND r.version > $2 AND r.action = 'updated' ORDER BY r.version DESC
"""

operations: Final = Registry()


class VersionsCompared(Struct, kw_only=True):
    """How one version of an item differs from another."""

    reference_id: str
    a: int
    b: int
    differences: list[Difference]


@operations.read(
    rest=Rest("GET", "/items/{id}/versions/{a}/compare"), tag="changes", tool=False, snapshot=True
)
async def compare_versions(
    work: Work, *, id: Id, a: Version, b: Version | None = None
) -> VersionsCompared:
    """Tell how version `a` of an item differs from version `b`, or from what it is now."""
    row = await items.find(work.db, id)
    to = row.version if b is None else b
    for name, version in (("a", a), ("b", to)):
        if version > row.version:
            raise InvalidError(name, f"{row.reference_id} has only version {row.version} as yet")
    before, after = await _state(work.db, row, a), await _state(work.db, row, to)
    [found] = await shown(work.db, [Pair(row.kind, before, after)])
    return VersionsCompared(reference_id=row.reference_id, a=a, b=to, differences=found)


async def _state(db: Database, row: ItemRow, version: int) -> dict[str, Any]:
    """What an item was, by taking back what was done to it since."""
    state = row.stored()
    for found in await db.fetch(BEFORE, row.id, version):
        state.update(msgspec.json.decode(found["before"]))
    return state
