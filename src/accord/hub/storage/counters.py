"""What a new item begins with: its number, which is given once, also where what had it is gone, and
what it stands behind and under."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from accord.hub.domain.kinds import KINDS, Kind, Reference
from accord.hub.storage import items
from accord.store.store import Transaction

# One statement for all: on PostgreSQL each is a round trip.
NEXT: Final = """
UPDATE counters SET last = last + 1 WHERE kind = $1
RETURNING last,
    (SELECT MAX(position) FROM items WHERE kind = $1 AND parent_id {parent}) AS position,
    (SELECT name FROM requirement_types WHERE name_key = $2) AS type,
    {found} AS parent_id
"""
PARENT: Final = "(SELECT id FROM items WHERE (id = $3 OR reference_id = $3) AND kind = $4)"
NEXT_CHILD: Final = NEXT.format(parent=f"= {PARENT}", found=PARENT)
NEXT_ROOT: Final = NEXT.format(parent="IS NULL", found="NULL")


class Next(Struct, frozen=True):
    """What a new item begins with."""

    reference: Reference
    place: float
    """Behind its siblings."""
    type: str | None
    """The requirement type that was asked for, as it is written; None where there is none."""
    parent_id: str | None
    """None where there is none of that name."""


async def next_item(db: Transaction, kind: Kind, parent: str | None, type_key: str) -> Next:
    """The name and place for a new item under `parent`, a UUID or reference id, and its type by the
    folded name of that."""
    if parent is None:
        [row] = await db.fetch(NEXT_ROOT, kind, type_key)
    else:
        name = items.stored_name(parent)
        [row] = await db.fetch(NEXT_CHILD, kind, type_key, name, KINDS[kind].parent)
    last, position, type, parent_id = row
    return Next(Reference(kind, last), float(position or 0) + 1, type, parent_id)
