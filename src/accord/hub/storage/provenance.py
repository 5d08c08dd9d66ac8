"""Provenance: the program and token that made something, and import sources.

Programs and tokens are read from the changes. Also holds the id of this installation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import UNSET, Struct
from msgspec.structs import asdict

from accord.hub.entities import Provenance
from accord.hub.storage import rows
from accord.hub.storage.items import ItemRow
from accord.operations.context import Database, OperationContext

OF_CHANGES: Final = """
SELECT r.entity_id, c.face, c.client, c.token_id, tokens.name AS token,
       proposals.face AS proposed_face, proposals.client AS proposed_client,
       proposal_tokens.name AS proposed_token, proposer.username AS proposed_by
FROM revisions r
JOIN changes c ON c.id = r.change_id
LEFT JOIN tokens ON tokens.id = c.token_id
LEFT JOIN proposals ON proposals.id = c.proposal_id
LEFT JOIN tokens proposal_tokens ON proposal_tokens.id = proposals.token_id
LEFT JOIN users proposer ON proposer.id = proposals.author_id
"""
# Undo of a deletion is recorded as "created" again: the first creation counts.
CREATED: Final = (
    OF_CHANGES
    + "WHERE r.entity_id IN ({places}) AND r.version <= 1 AND r.action = 'created' "
    + "ORDER BY c.sequence"
)
RESOLVED: Final = (
    OF_CHANGES
    + "WHERE r.entity_id IN ({places}) AND r.kind = 'comment' AND r.action = 'updated' "
    + "AND r.after LIKE '%\"resolved\":1%' ORDER BY c.sequence DESC"
)
DIRECT: Final = frozenset({"rest", "rpc", "cli", "web"})
"""Interfaces that people use directly, unless a token is involved."""


async def of_creation(db: Database, ids: Sequence[str]) -> dict[str, Provenance]:
    """Return the provenance of the creation of entities, by entity id.

    Entities that a person created directly are missing.
    """
    return await _first_of(db, CREATED, ids)


async def of_resolution(db: Database, comment_ids: Sequence[str]) -> dict[str, Provenance]:
    """Return the provenance of the resolution of comments, by comment id.

    Comments that a person resolved directly are missing.
    """
    return await _first_of(db, RESOLVED, comment_ids)


async def _first_of(db: Database, statement: str, ids: Iterable[str]) -> dict[str, Provenance]:
    found: dict[str, Provenance | None] = {}
    for some in rows.chunks(list(ids)):
        for row in await db.fetch(statement.format(places=rows.places(len(some))), *some):
            found.setdefault(row["entity_id"], _provenance(row))
    return {id: each for id, each in found.items() if each is not None}


def _provenance(row: Any) -> Provenance | None:
    if row["proposed_by"] is not None:
        return Provenance(
            face=row["proposed_face"] or UNSET,
            client=row["proposed_client"] or UNSET,
            token=row["proposed_token"] or UNSET,
            proposed_by=row["proposed_by"],
        )
    if row["face"] in DIRECT and not row["token_id"]:
        return None
    return Provenance(face=row["face"], client=row["client"] or UNSET, token=row["token"] or UNSET)


SELECT_SOURCES: Final = "SELECT item_id, source, foreign_id, created_at FROM item_sources "
SOURCES_OF_ITEM: Final = SELECT_SOURCES + "WHERE item_id = $1"
SOURCE_BY_FOREIGN_ID: Final = SELECT_SOURCES + "WHERE source = $1 AND foreign_id = $2"
INSTALLATION: Final = "SELECT id FROM installation"


class SourceRow(Struct, frozen=True):
    """The import source of one item, and the id that the item has in the source."""

    item_id: str
    source: str
    foreign_id: str
    created_at: str


async def sources_of_item(db: Database, item_id: str) -> SourceRow | None:
    """Return the import source of an item; None if it was created here."""
    found = await db.fetch(SOURCES_OF_ITEM, item_id)
    return SourceRow(*found[0]) if found else None


async def find_source(db: Database, source: str, foreign_id: str) -> SourceRow | None:
    """Return the row for the item with this foreign id in a source, or None."""
    found = await db.fetch(SOURCE_BY_FOREIGN_ID, source, foreign_id)
    return SourceRow(*found[0]) if found else None


async def all_sources(db: Database) -> dict[str, SourceRow]:
    """Return the import sources of all items, by item id."""
    return {
        row.item_id: row for row in (SourceRow(*each) for each in await db.fetch(SELECT_SOURCES))
    }


async def add_source(work: OperationContext, item: ItemRow, source: str, foreign_id: str) -> None:
    """Store the source and the foreign id of an imported item.

    The row is written in the transaction of `work` and recorded as one of its effects.
    """
    row = SourceRow(item.id, source, foreign_id, work.now)
    await rows.insert(work.db, "item_sources", asdict(row))
    work.record(rows.effect("item_source", None, asdict(row), item.reference_id))


async def installation_id(db: Database) -> str:
    """Return the id that exports use as the source name of this hub."""
    found: str = (await db.fetch(INSTALLATION))[0]["id"]
    return found
