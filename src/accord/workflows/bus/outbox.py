"""The outbox: messages to publish, written in the transaction they follow from. PostgreSQL only.

Messages that are handed over together are one row, and cost the database as much as one.

A sweep sends lost messages again: a topic can be emptied, deleted or recreated, and a partition
may have no reader. Lost are tasks that stay `published` with no message in the outbox, and results
whose message was published and never arrived. Each is published once more. If that does not help,
it is delivered by the tables, which both ends share; a message that arrives later is a duplicate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, cast
from uuid import uuid4

from msgspec import Raw, Struct, json

from accord.store.store import Row, Store, Transaction
from accord.workflows.bus.bus import EnvelopeError
from accord.workflows.bus.envelope import (
    AnyEnvelope,
    encode,
    message_of,
    read_answer,
    read_origin,
    task_sent,
)
from accord.workflows.core.events import decode_command
from accord.workflows.storage.inbox import RunMessage, deliver
from accord.workflows.storage.outbox import (
    WAKE,
    delete_row,
    forget_arrived,
    insert_row,
    insert_rows,
    publish_again,
    publish_lost,
    read_lost,
)
from accord.workflows.storage.tasks import Call, NewTask, mark_lost_tasks, release_lost_tasks

ROW_MESSAGES: Final = 500
ROW_CHARACTERS: Final = 1_000_000
"""Characters of one row; a single larger message may exceed it."""


class OutboxMessage(Struct, frozen=True):
    """A message to be published."""

    topic: str
    run_id: str
    message_id: str
    message: str
    correlation_id: str = ""
    traceparent: str = ""


class OutboxBatch(Struct, frozen=True):
    """The messages of one row."""

    id: int
    key: str
    """What the row says for the id of its message: no other row has the same."""
    messages: Sequence[OutboxMessage]


_BATCH_DECODER: Final = json.Decoder(list[tuple[str, str, str, str, str, Raw]])


def outbox_message(topic: str, sent: AnyEnvelope) -> OutboxMessage:
    """Return a message for a topic."""
    return OutboxMessage(
        *(topic, sent.run_id, sent.message_id, encode(sent), sent.correlation_id, sent.traceparent)
    )


async def put_messages(db: Transaction, messages: Sequence[OutboxMessage]) -> list[OutboxBatch]:
    """Write messages to the outbox, in this order, as few rows.

    Their rows are deleted once they are published.
    """
    made: list[OutboxBatch] = []
    for some in _split(messages):
        key = some[0].message_id if len(some) == 1 else uuid4().hex
        id = await insert_row(db, *_row(key, some))
        made.append(OutboxBatch(id, key, some))
    if made:
        await db.notify(WAKE)
    return made


async def put_separately(db: Transaction, messages: Sequence[OutboxMessage]) -> list[int]:
    """Write one row for each message, which may stay until its message has arrived."""
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


def read_batch(row: Row) -> OutboxBatch:
    """Decode a row."""
    message = row["message"]
    if row["topic"]:
        trail = read_origin(message)
        id = trail.message_id or row["message_id"]
        alone = OutboxMessage(
            *(row["topic"], row["run_id"], id, message), trail.correlation_id, trail.traceparent
        )
        return OutboxBatch(row["id"], row["message_id"], [alone])
    together = [
        OutboxMessage(topic, run_id, id, bytes(raw).decode(), correlation_id, traceparent)
        for topic, run_id, id, correlation_id, traceparent, raw in _BATCH_DECODER.decode(message)
    ]
    return OutboxBatch(row["id"], row["message_id"], together)


async def keep_only(store: Store, id: int, messages: Sequence[OutboxMessage]) -> list[int]:
    """Replace a row by rows for these of its messages; return the new ids."""

    async def work(db: Transaction) -> list[int]:
        await delete_row(db, id)
        return await put_separately(db, messages)

    return await store.transact(work, lane="kafka-outbox")


def _split(messages: Sequence[OutboxMessage]) -> Iterator[Sequence[OutboxMessage]]:
    """Split messages into rows."""
    some: list[OutboxMessage] = []
    characters = 0
    for message in messages:
        some.append(message)
        characters += len(message.message)
        if len(some) == ROW_MESSAGES or characters >= ROW_CHARACTERS:
            yield some
            some, characters = [], 0
    if some:
        yield some


def _row(key: str, messages: Sequence[OutboxMessage]) -> tuple[str, str, str, str, int]:
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


MAX_CACHED_ROWS: Final = 50
"""The number of cached rows, each of hardly more than a megabyte."""


class OutboxCache:
    """Batches by the id of their row; the oldest is dropped first.

    Batches of rolled-back transactions are harmless: nobody finds their rows.
    """

    def __init__(self) -> None:
        self._batches: dict[int, OutboxBatch] = {}

    def all(self) -> dict[int, OutboxBatch]:
        """Return a copy, which still has the rows of a query when its answer arrives."""
        return dict(self._batches)

    def add(self, batches: Iterable[OutboxBatch]) -> None:
        for batch in batches:
            self._batches[batch.id] = batch
        while len(self._batches) > MAX_CACHED_ROWS:
            del self._batches[next(iter(self._batches))]

    def forget(self, ids: Iterable[int]) -> None:
        """Drop rows that were found."""
        for id in ids:
            self._batches.pop(id, None)


SWEEP_LANE: Final = "kafka-sweep"
MAX_SWEPT: Final = 1_000
"""Tasks, and results, that one sweep handles."""


async def sweep(store: Store, topic: str, *, now: float, seconds: float) -> int:
    """Send again what did not arrive within `seconds`; return the number.

    Tasks are published in `topic`.
    """

    async def work(db: Transaction) -> int:
        return (
            await release_lost_tasks(db, now, seconds, MAX_SWEPT)
            + await _publish_tasks(db, topic, now, seconds)
            + await _deliver_results(db, seconds)
            + await publish_lost(db, seconds, MAX_SWEPT)
        )

    return await store.transact(work, lane=SWEEP_LANE)


async def _publish_tasks(db: Transaction, topic: str, now: float, seconds: float) -> int:
    tasks = [_task(row) for row in await mark_lost_tasks(db, now, seconds, MAX_SWEPT)]
    tasks.sort(key=lambda task: task.at)
    await put_messages(db, [outbox_message(topic, task_sent(task)) for task in tasks])
    return len(tasks)


async def _deliver_results(db: Transaction, seconds: float) -> int:
    """Deliver lost results by the tables.

    A result of a newer release, unreadable here, goes by its topic again.
    """
    arrived: list[tuple[int, str]] = []
    messages: list[RunMessage] = []
    unread: list[int] = []
    for row in await read_lost(db, seconds, MAX_SWEPT):
        try:
            messages.append(message_of(read_answer(row["message"].encode())))
        except EnvelopeError:
            unread.append(row["id"])
        else:
            arrived.append((row["id"], row["message_id"]))
    await deliver(db, messages)
    await forget_arrived(db, arrived)
    if unread:
        await publish_again(db, unread)
    return len(arrived) + len(unread)


def _task(row: Row) -> NewTask:
    return NewTask(
        run_id=row["run_id"],
        command=cast("Call", decode_command(row["command"].encode())),
        at=row["created_at"],
        traceparent=row["traceparent"],
        correlation_id=row["correlation_id"],
    )
