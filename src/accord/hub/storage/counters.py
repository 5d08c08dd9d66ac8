"""Numbers of reference ids. Each is given once, also where what had it is gone."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from accord.hub.domain.kinds import Kind, Reference
from accord.store.store import Transaction

# One statement for all: on PostgreSQL each is a round trip.
NEXT: Final = """
UPDATE counters SET last = last + 1 WHERE kind = $1
RETURNING last,
    (SELECT MAX(position) FROM items WHERE kind = $1 AND parent_id {parent}) AS position,
    (SELECT name FROM requirement_types WHERE name_key = $2) AS type
"""
NEXT_CHILD: Final = NEXT.format(parent="= $3")
NEXT_ROOT: Final = NEXT.format(parent="IS NULL")


class Next(Struct, frozen=True):
    """What a new item begins with."""

    reference: Reference
    place: float
    """Behind its siblings."""
    type: str | None
    """The requirement type that was asked for, as it is written; None where there is none."""


async def next_item(db: Transaction, kind: Kind, parent_id: str | None, type_key: str) -> Next:
    """The name and place for a new item, and its type by the folded name of that."""
    if parent_id is None:
        [row] = await db.fetch(NEXT_ROOT, kind, type_key)
    else:
        [row] = await db.fetch(NEXT_CHILD, kind, type_key, parent_id)
    last, position, type = row
    return Next(Reference(kind, last), float(position or 0) + 1, type)
