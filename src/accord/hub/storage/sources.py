"""Sources of imported items, as rows, and the id of this hub. Knows the tables, not the rules."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from accord.hub.storage import rows
from accord.hub.storage.items import ItemRow
from accord.operations.work import Database, Work

SELECT: Final = "SELECT item_id, source, foreign_id, created_at FROM item_sources "
OF_ITEM: Final = SELECT + "WHERE item_id = $1"
BY_FOREIGN_ID: Final = SELECT + "WHERE source = $1 AND foreign_id = $2"
INSTALLATION: Final = "SELECT id FROM installation"


class SourceRow(Struct, frozen=True):
    """The source of one item, and the id of the item there."""

    item_id: str
    source: str
    foreign_id: str
    created_at: str


async def of_item(db: Database, item_id: str) -> SourceRow | None:
    """Return the source of an item; None if it was created here."""
    found = await db.fetch(OF_ITEM, item_id)
    return SourceRow(*found[0]) if found else None


async def find(db: Database, source: str, foreign_id: str) -> SourceRow | None:
    """Return the row of the item with this id in a source."""
    found = await db.fetch(BY_FOREIGN_ID, source, foreign_id)
    return SourceRow(*found[0]) if found else None


async def every(db: Database) -> dict[str, SourceRow]:
    """Return all sources by the ids of their items."""
    return {row.item_id: row for row in (SourceRow(*each) for each in await db.fetch(SELECT))}


async def add(work: Work, item: ItemRow, source: str, foreign_id: str) -> None:
    """Record the source of an item as an effect of `work`."""
    row = SourceRow(item.id, source, foreign_id, work.now)
    await rows.insert(work.db, "item_sources", asdict(row))
    work.did(rows.effect("created", "item_source", asdict(row), item.reference_id))


async def installation_id(db: Database) -> str:
    """Return the id that exports use as the source name of this hub."""
    found: str = (await db.fetch(INSTALLATION))[0]["id"]
    return found
