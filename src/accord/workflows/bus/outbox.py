"""What is to be published, in the transaction that it follows from. PostgreSQL only.

Messages that are handed over together are one row: what they cost the database is what one costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from uuid import uuid4

from msgspec import Raw, Struct, json

from accord.store.store import Row, Store, Transaction
from accord.workflows.bus.envelope import Sent, encode, read_trail
from accord.workflows.storage.outbox import WAKE, delete_row, insert_row, insert_rows

ROW_MESSAGES: Final = 500
ROW_CHARACTERS: Final = 1_000_000
"""How much is in one row, at most with a message that is larger by itself."""


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
        id = await insert_row(db, *_row(key, some))
        made.append(Batch(id, key, some))
    if made:
        await db.notify(WAKE)
    return made


async def put_each(db: Transaction, messages: Sequence[Outgoing]) -> list[int]:
    """The same with a row for each, which may be kept until its message has arrived."""
    if not messages:
        return []
    ids = await insert_rows(
        db,
        [each.topic for each in messages],
        [each.run_id for each in messages],
        [each.message_id for each in messages],
        [each.message for each in messages],
    )
    await db.notify(WAKE)
    return ids


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


async def keep_only(store: Store, id: int, messages: Sequence[Outgoing]) -> list[int]:
    """Of a row only these messages are still to be published: the rows in which they are now."""

    async def work(db: Transaction) -> list[int]:
        await delete_row(db, id)
        return await put_each(db, messages)

    return await store.transact(work, lane="kafka-outbox")


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


def _row(key: str, messages: Sequence[Outgoing]) -> tuple[str, str, str, str, int]:
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
