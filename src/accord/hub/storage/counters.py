"""Numbers of reference ids. Each is given once, also where what had it is gone."""

from __future__ import annotations

from typing import Final

from accord.hub.domain.kinds import Kind, Reference
from accord.store.store import Transaction

NEXT: Final = "UPDATE counters SET last = last + 1 WHERE kind = $1 RETURNING last"


async def next_reference(db: Transaction, kind: Kind) -> Reference:
    """The name for a new item."""
    rows = await db.fetch(NEXT, kind)
    return Reference(kind, rows[0]["last"])
