"""Reads of the proof that rows are what operations wrote: changes, records, revisions, entries.

The rows are read as they are, since somebody may have edited them by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from accord.hub.storage.rows import places
from accord.operations.context import Database
from accord.store.store import Row

MIGRATIONS: Final = "SELECT name FROM accord_migrations WHERE part = 'hub'"
CHANGES: Final = """
SELECT c.id AS change_key, c.sequence AS change_sequence, c.actor_id AS change_actor_id,
       c.actor AS change_actor, c.operation AS change_operation, c.face AS change_face,
       c.token_id AS change_token_id, c.client AS change_client, c.undoes, c.proposal_id, r.*
FROM changes c LEFT JOIN audit_records r ON r.change_id = c.id
WHERE c.sequence > $1 ORDER BY c.sequence LIMIT $2
"""
REVISIONS: Final = """
SELECT * FROM revisions WHERE change_id IN ({places}) ORDER BY change_id, place
"""
OF_ENTITY: Final = """
SELECT r.action, r.before FROM revisions r JOIN changes c ON c.id = r.change_id
WHERE r.entity_id = $1 AND r.kind = $2 ORDER BY c.sequence, r.place
"""
STRAY: Final = """
SELECT r.change_id, COUNT(*) AS total FROM revisions r LEFT JOIN changes c ON c.id = r.change_id
WHERE c.id IS NULL GROUP BY r.change_id LIMIT 100
"""
GONE: Final = """
SELECT r.* FROM audit_records r LEFT JOIN changes c ON c.id = r.change_id
WHERE r.change_id <> '' AND c.id IS NULL AND r.operation IN ({places})
ORDER BY r.change_id LIMIT 1000
"""
ENTRIES: Final = """
SELECT entity_id, kind, reference_id, version, content FROM baseline_entries
WHERE baseline_id = $1
"""


async def migrations(db: Database) -> set[str]:
    """Return the names of the hub's migrations that have been run."""
    return {row["name"] for row in await db.fetch(MIGRATIONS)}


async def changes(db: Database, after: Any, limit: int) -> list[Row]:
    """Return changes after a sequence, each with the columns of its audit record."""
    return await db.fetch(CHANGES, after, limit)


async def revisions(db: Database, change_ids: Sequence[str]) -> list[Row]:
    """Return the revisions of changes, in order."""
    return await db.fetch(REVISIONS.format(places=places(len(change_ids))), *change_ids)


async def former_states(db: Database, id: str, kind: str) -> list[Any]:
    """Return what the revisions of an entity keep of its former states, oldest first."""
    return [row["before"] for row in await db.fetch(OF_ENTITY, id, kind)]


async def stray_revisions(db: Database) -> list[tuple[Any, int]]:
    """Return the numbers of revisions of changes that do not exist, by change id."""
    return [(row["change_id"], row["total"]) for row in await db.fetch(STRAY)]


async def records_without_change(db: Database, operations: Sequence[str]) -> list[Row]:
    """Return audit records of these operations with a change that does not exist."""
    return await db.fetch(GONE.format(places=places(len(operations))), *operations)


async def baseline_entries(db: Database, id: str) -> list[Row]:
    """Return all entries of a baseline."""
    return await db.fetch(ENTRIES, id)
