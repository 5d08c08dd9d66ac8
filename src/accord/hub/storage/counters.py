"""What a new item begins with: its number, which is given once, also where what had it is gone, and
what it stands behind and under."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from accord.hub.domain.kinds import KINDS, Kind, Reference
from accord.hub.storage import items
from accord.operations.work import Database
from accord.store.store import Transaction

# One statement for everything, since each is a round trip on PostgreSQL.
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
LAST: Final = "SELECT last FROM counters WHERE kind = $1"
SET_LAST: Final = "UPDATE counters SET last = $2 WHERE kind = $1"


class Next(Struct, frozen=True):
    """The reserved number and position of a new item.

    A number is used once, even if its item is deleted.
    """

    reference: Reference
    place: float
    """The position after the last sibling."""
    type: str | None
    """The requested requirement type in its stored spelling; None if it is unknown."""
    parent_id: str | None
    """None if there is no such parent."""


async def last_number(db: Database, kind: Kind) -> int:
    """Return the number that was given to an item of a kind last."""
    last: int = (await db.fetch(LAST, kind))[0]["last"]
    return last


async def set_last_number(db: Transaction, kind: Kind, number: int) -> None:
    """Have the next item of a kind get the number after this one."""
    await db.execute(SET_LAST, kind, number)


async def next_item(db: Transaction, kind: Kind, parent: str | None, type_key: str) -> Next:
    """Reserve number and position for a new item; look up its parent and type.

    `parent` is a UUID or reference id, `type_key` the folded name of the type.
    """
    if parent is None:
        [row] = await db.fetch(NEXT_ROOT, kind, type_key)
    else:
        name = items.stored_name(parent)
        [row] = await db.fetch(NEXT_CHILD, kind, type_key, name, KINDS[kind].parent)
    last, position, type, parent_id = row
    return Next(Reference(kind, last), float(position or 0) + 1, type, parent_id)
