"""What is to be published, in the transaction that it follows from. PostgreSQL only.

Messages that are handed over together are one row: what they cost the database is what one costs.
Rows are found because they are unpublished, never because they are newer than what was seen last:
a transaction that began earlier may commit later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from uuid import uuid4

from msgspec import Raw, Struct, json

from accord.store.clock import NOW
from accord.store.store import Row, Store, Transaction
from accord.workflows.bus.envelope import Sent, encode, read_trail

WAKE: Final = "outbox"
"""The channel on which relays hear that there is something to publish."""
MAX_ROWS: Final = 1_000
"""How many are published together."""
MAX_BYTES: Final = 16 * 1_048_576
"""How large they are together, at most with one that is larger by itself."""
ROW_MESSAGES: Final = 500
ROW_CHARACTERS: Final = 1_000_000
"""How much is in one row, at most with a message that is larger by itself."""

_NOW: Final = NOW["postgresql"]
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


class Outgoing(Struct, frozen=True):
    """A message to be published."""

    topic: str
    run_id: str
    message_id: str
    message: str
    correlation_id: str = ""
    traceparent: str = ""


class Batch(Struct, frozen=True):
    """A row, and what is in it."""

    id: int
    key: str
    """What the row says for the id of its message: no other row has the same."""
    messages: Sequence[Outgoing]


_TOGETHER: Final = json.Decoder(list[tuple[str, str, str, str, str, Raw]])


def outgoing(topic: str, sent: Sent) -> Outgoing:
    """A message for a topic."""
    return Outgoing(
        *(topic, sent.run_id, sent.message_id, encode(sent), sent.correlation_id, sent.traceparent)
    )


async def put(db: Transaction, messages: Sequence[Outgoing]) -> list[Batch]:
    """Have messages published, in this order, and forget them then. They are JSON, unless there is
    one alone."""
    made: list[Batch] = []
    for some in _parted(messages):
        key = some[0].message_id if len(some) == 1 else uuid4().hex
        [row] = await db.fetch(_INSERT, *_row(key, some))
        made.append(Batch(row["id"], key, some))
    if made:
        await db.notify(WAKE)
    return made


async def put_each(db: Transaction, messages: Sequence[Outgoing]) -> list[int]:
    """The same with a row for each, which may be kept until its message has arrived."""
    if not messages:
        return []
    rows = await db.fetch(
        _INSERT_EACH,
        [each.topic for each in messages],
        [each.run_id for each in messages],
        [each.message_id for each in messages],
        [each.message for each in messages],
    )
    await db.notify(WAKE)
    return [row["id"] for row in rows]


def read_batch(row: Row) -> Batch:
    """What is in a row that was found."""
    message = row["message"]
    if row["topic"]:
        trail = read_trail(message)
        id = trail.message_id or row["message_id"]
        alone = Outgoing(
            *(row["topic"], row["run_id"], id, message), trail.correlation_id, trail.traceparent
        )
        return Batch(row["id"], row["message_id"], [alone])
    together = [
        Outgoing(topic, run_id, id, bytes(raw).decode(), correlation_id, traceparent)
        for topic, run_id, id, correlation_id, traceparent, raw in _TOGETHER.decode(message)
    ]
    return Batch(row["id"], row["message_id"], together)


async def unpublished(
    store: Store, passing: Sequence[int] = (), known: Sequence[int] = ()
) -> list[Row]:
    """What is to be published next, but for those rows that are passed over; of those that are
    known their messages are not read."""
    return await store.fetch(_UNPUBLISHED, MAX_ROWS, MAX_BYTES, passing, known)


def is_full(rows: Sequence[Row]) -> bool:
    """Whether there may be more than was found."""
    return len(rows) >= MAX_ROWS or sum(row["size"] for row in rows) >= MAX_BYTES


async def forget(store: Store, ids: Sequence[int]) -> None:
    """These messages are with the broker."""
    if ids:
        await store.write(_DELETE, ids)


async def mark_published(store: Store, ids: Sequence[int]) -> None:
    """These messages are with the broker, and are kept until they have arrived."""
    if ids:
        await store.write(_MARK, ids)


async def keep_only(store: Store, id: int, messages: Sequence[Outgoing]) -> list[int]:
    """Of a row only these messages are still to be published: the rows in which they are now."""

    async def work(db: Transaction) -> list[int]:
        await db.execute(_REMOVE, id)
        return await put_each(db, messages)

    return await store.transact(work, lane="kafka-outbox")


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


def _parted(messages: Sequence[Outgoing]) -> Iterator[Sequence[Outgoing]]:
    """Messages as they go into rows."""
    some: list[Outgoing] = []
    characters = 0
    for message in messages:
        some.append(message)
        characters += len(message.message)
        if len(some) == ROW_MESSAGES or characters >= ROW_CHARACTERS:
            yield some
            some, characters = [], 0
    if some:
        yield some


def _row(key: str, messages: Sequence[Outgoing]) -> tuple[object, ...]:
    if len(messages) == 1:
        [alone] = messages
        return alone.topic, alone.run_id, key, alone.message, 1
    together = [
        (
            *(each.topic, each.run_id, each.message_id, each.correlation_id, each.traceparent),
            Raw(each.message),
        )
        for each in messages
    ]
    return "", "", key, json.encode(together).decode(), len(messages)
