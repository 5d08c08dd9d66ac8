"""Rows of the outbox: messages that are still to be published. PostgreSQL only.

Rows are found because they are unpublished, never because they are newer than what was seen last:
a transaction that began earlier may commit later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accord.store.store import DATABASE_CLOCK, Row, Store, Transaction

WAKE: Final = "outbox"
"""The channel on which relays hear that there is something to publish."""
MAX_ROWS: Final = 1_000
"""How many are published together."""
MAX_BYTES: Final = 16 * 1_048_576
"""How large they are together, at most with one that is larger by itself."""

_NOW: Final = DATABASE_CLOCK["postgresql"]
_INSERT: Final = """
INSERT INTO outbox (topic, run_id, message_id, message, count) VALUES ($1, $2, $3, $4, $5)
RETURNING id
"""
_INSERT_EACH: Final = """
INSERT INTO outbox (topic, run_id, message_id, message)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
RETURNING id
"""
_UNPUBLISHED: Final = """
SELECT id, topic, run_id, message_id, octet_length(message) AS size,
    CASE WHEN id = ANY($4::bigint[]) THEN '' ELSE message END AS message
FROM (
    SELECT *, sum(octet_length(message)) OVER (ORDER BY id) - octet_length(message) AS before
    FROM (
        SELECT id, topic, run_id, message_id, message FROM outbox
        WHERE published_at IS NULL AND id <> ALL($3::bigint[]) ORDER BY id LIMIT $1
    ) AS next
) AS summed
WHERE before < $2 ORDER BY id
"""
# Nothing is lost with a row that comes back after a power cut: its messages are published again.
_DELETE: Final = """
DELETE FROM outbox
WHERE id = ANY($1::bigint[]) AND set_config('synchronous_commit', 'off', true) = 'off'
"""
_REMOVE: Final = "DELETE FROM outbox WHERE id = $1"
_MARK: Final = f"UPDATE outbox SET published_at = {_NOW} WHERE id = ANY($1::bigint[])"
_ARRIVED: Final = """
DELETE FROM outbox USING unnest($1::bigint[], $2::text[]) AS arrived (id, message_id)
WHERE outbox.id = arrived.id AND outbox.message_id = arrived.message_id
"""
_LENGTH: Final = """
SELECT coalesce(sum(count), 0) AS length FROM outbox WHERE published_at IS NULL
"""
# Results that were published and did not arrive.
_LOST: Final = f"""
FROM outbox WHERE published_at < {_NOW} - $1::double precision AND swept {{times}}
ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
"""
_PUBLISH_LOST: Final = f"""
UPDATE outbox SET published_at = NULL, swept = swept + 1
WHERE id IN (SELECT id {_LOST.format(times="= 0")})
"""
_LATE_LOST: Final = f"SELECT id, message_id, message {_LOST.format(times='> 0')}"
_UNREAD: Final = "UPDATE outbox SET published_at = NULL WHERE id = ANY($1::bigint[])"


async def insert_row(
    db: Transaction, topic: str, run_id: str, message_id: str, message: str, count: int
) -> int:
    """Add a row of `count` messages, and return its id."""
    [row] = await db.fetch(_INSERT, topic, run_id, message_id, message, count)
    id: int = row["id"]
    return id


async def insert_rows(
    db: Transaction,
    topics: Sequence[str],
    run_ids: Sequence[str],
    message_ids: Sequence[str],
    messages: Sequence[str],
) -> list[int]:
    """Add a row for each message, and return their ids."""
    rows = await db.fetch(_INSERT_EACH, topics, run_ids, message_ids, messages)
    return [row["id"] for row in rows]


async def delete_row(db: Transaction, id: int) -> None:
    """Delete a row whose messages are published in another way."""
    await db.execute(_REMOVE, id)


async def unpublished(
    store: Store, passing: Sequence[int] = (), known: Sequence[int] = ()
) -> list[Row]:
    """Return the next rows to publish, except those in `passing`.

    The messages of known rows are not read.
    """
    return await store.fetch(_UNPUBLISHED, MAX_ROWS, MAX_BYTES, passing, known)


def is_full(rows: Sequence[Row]) -> bool:
    """Return True if there may be more rows than were found."""
    return len(rows) >= MAX_ROWS or sum(row["size"] for row in rows) >= MAX_BYTES


async def forget(store: Store, ids: Sequence[int]) -> None:
    """Delete rows whose messages the broker has."""
    if ids:
        await store.write(_DELETE, ids)


async def mark_published(store: Store, ids: Sequence[int]) -> None:
    """Mark rows whose messages the broker has; they stay until these have arrived."""
    if ids:
        await store.write(_MARK, ids)


async def forget_arrived(db: Transaction, arrived: Sequence[tuple[int, str]]) -> None:
    """Delete rows whose messages have arrived."""
    if arrived:
        ids, message_ids = zip(*arrived, strict=True)
        await db.execute(_ARRIVED, ids, message_ids)


async def length(store: Store) -> int:
    """Return the number of messages that wait to be published."""
    [row] = await store.fetch(_LENGTH)
    count: int = row["length"]
    return count


async def publish_lost(db: Transaction, seconds: float, limit: int) -> int:
    """Publish once more what did not arrive within `seconds`; return the number of rows."""
    published = await db.execute(_PUBLISH_LOST, seconds, limit)
    if published:
        await db.notify(WAKE)
    return published


async def read_lost(db: Transaction, seconds: float, limit: int) -> list[Row]:
    """Return what did not arrive within `seconds` although it was published twice."""
    return await db.fetch(_LATE_LOST, seconds, limit)


async def publish_again(db: Transaction, ids: Sequence[int]) -> None:
    """Publish these rows once more."""
    await db.execute(_UNREAD, ids)
    await db.notify(WAKE)
