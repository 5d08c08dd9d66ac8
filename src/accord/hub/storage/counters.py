"""Numbers of reference ids. Each is given once, also where what had it is gone."""

from __future__ import annotations

from typing import Final

from accord.hub.domain.kinds import Kind, Reference
from accord.store.store import Transaction

# One statement for both: on PostgreSQL each is a round trip.
NEXT_CHILD: Final = """
UPDATE counters SET last = last + 1 WHERE kind = $1
RETURNING last, (SELECT MAX(position) FROM items WHERE kind = $1 AND parent_id = $2) AS position
"""
NEXT: Final = """
UPDATE counters SET last = last + 1 WHERE kind = $1
RETURNING last, (SELECT MAX(position) FROM items WHERE kind = $1 AND parent_id IS NULL) AS position
"""


async def next_reference(
    db: Transaction, kind: Kind, parent_id: str | None
) -> tuple[Reference, float]:
    """The name for a new item, and its place behind its siblings."""
    if parent_id is None:
        [row] = await db.fetch(NEXT, kind)
    else:
        [row] = await db.fetch(NEXT_CHILD, kind, parent_id)
    return Reference(kind, row["last"]), float(row["position"] or 0) + 1
