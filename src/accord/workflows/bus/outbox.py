"""What is to be published, in the transaction that it follows from. PostgreSQL only.

Rows are found because they are unpublished, never because they are newer than what was seen last:
a transaction that began earlier may commit later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from accord.store.store import Row, Store, Transaction
from accord.workflows.storage.clock import NOW

WAKE: Final = "outbox"
"""The channel on which relays hear that there is something to publish."""
MAX_ROWS: Final = 4_000
"""How many are published together."""
MAX_BYTES: Final = 16 * 1_048_576
"""How large they are together, at most with one that is larger by itself."""

_NOW: Final = NOW["postgresql"]
_INSERT: Final = """
INSERT INTO outbox (topic, run_id, message_id, message)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
"""
_UNPUBLISHED: Final = """
SELECT id, topic, run_id, message FROM (
    SELECT *, sum(octet_length(message)) OVER (ORDER BY id) - octet_length(message) AS before
    FROM (
        SELECT id, topic, run_id, message FROM outbox
        WHERE published_at IS NULL AND id <> ALL($3::bigint[]) ORDER BY id LIMIT $1
    ) AS next
) AS summed
WHERE before < $2 ORDER BY id
"""
_DELETE: Final = "DELETE FROM outbox WHERE id = ANY($1::bigint[])"
_MARK: Final = f"UPDATE outbox SET published_at = {_NOW} WHERE id = ANY($1::bigint[])"
_ARRIVED: Final = """
DELETE FROM outbox USING unnest($1::bigint[], $2::text[]) AS arrived (id, message_id)
WHERE outbox.id = arrived.id AND outbox.message_id = arrived.message_id
"""
_LENGTH: Final = "SELECT count(*) AS length FROM outbox WHERE published_at IS NULL"


class Outgoing(Struct, frozen=True):
    """A message to be published."""

    topic: str
    run_id: str
    message_id: str
    message: str


async def put(db: Transaction, messages: Sequence[Outgoing]) -> None:
    """Have messages published, in this order."""
    if messages:
        await db.execute(
            _INSERT,
            [each.topic for each in messages],
            [each.run_id for each in messages],
            [each.message_id for each in messages],
            [each.message for each in messages],
        )
        await db.notify(WAKE)


async def unpublished(store: Store, passing: Sequence[int] = ()) -> list[Row]:
    """What is to be published next, but for those rows that are passed over."""
    return await store.fetch(_UNPUBLISHED, MAX_ROWS, MAX_BYTES, passing)


async def forget(store: Store, ids: Sequence[int]) -> None:
    """These messages are with the broker."""
    if ids:
        await store.write(_DELETE, ids)


async def mark_published(store: Store, ids: Sequence[int]) -> None:
    """These messages are with the broker, and are kept until they have arrived."""
    if ids:
        await store.write(_MARK, ids)


async def forget_arrived(db: Transaction, arrived: Sequence[tuple[int, str]]) -> None:
    """What was published by these rows is where it was to go."""
    if arrived:
        ids, message_ids = zip(*arrived, strict=True)
        await db.execute(_ARRIVED, ids, message_ids)


async def length(store: Store) -> int:
    """How many wait to be published."""
    [row] = await store.fetch(_LENGTH)
    count: int = row["length"]
    return count
