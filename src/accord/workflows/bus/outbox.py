"""The outbox: messages to publish, written in the transaction that causes them.

It needs PostgreSQL. Messages that are sent together share one row, to save database work.

A sweep sends lost messages again. Messages can get lost when a topic is emptied, deleted or
recreated, or when a partition has no reader. A task counts as lost if its state stays `published`
although the outbox no longer has a message for it. A result counts as lost if its message was
published but did not arrive. A lost message is published once more. If it is lost again, the task
or result is delivered through the shared tables; should the message still arrive later, it is
dropped as a duplicate.

Dead letters of the bus are stored, announced in a topic, and on replay published again.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, cast
from uuid import UUID, uuid4, uuid5

from msgspec import Raw, Struct, json

from accord.store.store import Row, Store, Transaction
from accord.workflows.bus.bus import EnvelopeError, ReplayError
from accord.workflows.bus.envelope import (
    AnyEnvelope,
    DeadLetterNotice,
    encode,
    message_of,
    read_answer,
    read_origin,
    task_sent,
)
from accord.workflows.bus.topics import MAX_MESSAGE_BYTES
from accord.workflows.core.events import decode_command
from accord.workflows.storage.messages import (
    ONE_MESSAGE_LETTER,
    OUTBOX_WAKE,
    NewDeadLetter,
    RunMessage,
    delete_arrived,
    delete_outbox_row,
    deliver,
    insert_dead_letter,
    insert_outbox_row,
    insert_outbox_rows,
    publish_again,
    publish_lost,
    read_lost,
)
from accord.workflows.storage.tasks import Call, NewTask, mark_lost_tasks, release_lost_tasks

ROW_MESSAGES: Final = 500
ROW_CHARACTERS: Final = 1_000_000
"""The size in characters at which a row is full; the last message may exceed it."""


class OutboxMessage(Struct, frozen=True):
    """A message to publish."""

    topic: str
    run_id: str
    message_id: str
    message: str
    correlation_id: str = ""
    traceparent: str = ""


class OutboxBatch(Struct, frozen=True):
    """The messages in one row of the outbox."""

    id: int
    key: str
    """The row's unique column `message_id`: the id of a single message, or a random one."""
    messages: Sequence[OutboxMessage]


_BATCH_DECODER: Final = json.Decoder(list[tuple[str, str, str, str, str, Raw]])


def outbox_message(topic: str, sent: AnyEnvelope) -> OutboxMessage:
    """Encode an envelope as an outbox message for a topic."""
    return OutboxMessage(
        *(topic, sent.run_id, sent.message_id, encode(sent), sent.correlation_id, sent.traceparent)
    )


async def put_messages(db: Transaction, messages: Sequence[OutboxMessage]) -> list[OutboxBatch]:
    """Write messages to the outbox, in this order, in as few rows as possible.

    The relay deletes a row once its messages are published.
    """
    made: list[OutboxBatch] = []
    for some in _split(messages):
        key = some[0].message_id if len(some) == 1 else uuid4().hex
        id = await insert_outbox_row(db, *_row(key, some))
        made.append(OutboxBatch(id, key, some))
    if made:
        await db.notify(OUTBOX_WAKE)
    return made


async def put_separately(db: Transaction, messages: Sequence[OutboxMessage]) -> list[int]:
    """Write messages to the outbox, one row each; return the ids of the rows.

    So the relay can keep the row of each published message until that message has arrived.
    """
    if not messages:
        return []
    ids = await insert_outbox_rows(
        db,
        [each.topic for each in messages],
        [each.run_id for each in messages],
        [each.message_id for each in messages],
        [each.message for each in messages],
    )
    await db.notify(OUTBOX_WAKE)
    return ids


def read_batch(row: Row) -> OutboxBatch:
    """Decode a row of the outbox."""
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
    """Replace a row by one row for each of `messages`; return the ids of the new rows.

    `messages` are those messages of the row that are still to be published.
    """

    async def work(db: Transaction) -> list[int]:
        await delete_outbox_row(db, id)
        return await put_separately(db, messages)

    return await store.transact(work, lane="kafka-outbox")


def _split(messages: Sequence[OutboxMessage]) -> Iterator[Sequence[OutboxMessage]]:
    """Split messages into groups, each of which fits into one row."""
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
"""The maximum number of cached rows. A row has little more than a megabyte."""


class OutboxCache:
    """A cache of outbox batches by row id, which drops the oldest batch first.

    It may contain batches of rolled-back transactions, which no query will ever ask for.
    """

    def __init__(self) -> None:
        self._batches: dict[int, OutboxBatch] = {}

    def all(self) -> dict[int, OutboxBatch]:
        """Return a copy of the cache: batches by row id.

        The copy keeps its batches during a query, even if the cache drops them meanwhile.
        """
        return dict(self._batches)

    def add(self, batches: Iterable[OutboxBatch]) -> None:
        for batch in batches:
            self._batches[batch.id] = batch
        while len(self._batches) > MAX_CACHED_ROWS:
            del self._batches[next(iter(self._batches))]

    def forget(self, ids: Iterable[int]) -> None:
        """Drop the batches of these rows."""
        for id in ids:
            self._batches.pop(id, None)


SWEEP_LANE: Final = "kafka-sweep"
MAX_SWEPT: Final = 1_000
"""The maximum number of rows that each query of a sweep handles."""


async def sweep(store: Store, topic: str, *, now: float, seconds: float) -> int:
    """Send messages again that did not arrive within `seconds`; return their number.

    `topic` is the topic of tasks.
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
    """Deliver through the shared tables those results that were lost twice.

    A result that only a newer release can decode is published again instead.
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
    await delete_arrived(db, arrived)
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


MAX_NOTICE_BODY: Final = 100_000
"""How many characters of a dead letter's body are published; the table has the whole body."""
MAX_LETTER_BODY: Final = 3_500
"""The maximum length of the error text of a dead letter, in characters."""

_LETTER_NAMESPACE: Final = UUID("6d2b9a53-62a5-5a0e-9a3e-5f0e7c1b0d11")
_BINARY: Final = "base64:"
_CUT: Final = "cut:"


class TopicRecord(Struct, frozen=True):
    """A message as read from a topic."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes
    value: bytes
    row: int | None = None
    """The id of the message's row in the outbox, from a header; None without the header."""

    @property
    def place(self) -> str:
        """The position of the message in its topic, followed by its timestamp.

        The timestamp distinguishes the message from one at the same offset before the topic was
        recreated.
        """
        return f"{self.topic}/{self.partition}/{self.offset}/{self.timestamp}"


class RejectedMessage(Struct, frozen=True):
    """A message that could not be used, with the reason."""

    record: TopicRecord
    code: str
    message: str
    attempts: int = 1

    @property
    def id(self) -> str:
        return str(uuid5(_LETTER_NAMESPACE, self.record.place))


async def store_rejected(
    db: Transaction, topic: str, letters: Sequence[RejectedMessage], at: float
) -> None:
    """Store rejected messages as dead letters, and announce new ones in `topic`."""
    for each in letters:
        body = _letter_body(each.record.value)
        run_id = _run_id(each.record.key)
        reason = f"{each.message[:MAX_LETTER_BODY]} ({each.record.place})"
        letter = NewDeadLetter(
            id=each.id,
            kind="message",
            topic=each.record.topic,
            run_id=run_id,
            code=each.code,
            message=reason,
            body=body,
            attempts=each.attempts,
            at=at,
        )
        if await insert_dead_letter(db, letter):
            notice = DeadLetterNotice(
                message_id=each.id,
                run_id=run_id,
                topic=each.record.topic,
                code=each.code,
                message=reason,
                body=body[:MAX_NOTICE_BODY],
                created_at=at,
            )
            await put_messages(db, [outbox_message(topic, notice)])


async def republish(db: Transaction, id: str) -> None:
    """Publish the message in a dead letter again, in its original topic.

    Raise ReplayError if the dead letter does not exist, or has no complete message from a topic.
    """
    rows = await db.fetch(ONE_MESSAGE_LETTER, id)
    if not rows:
        raise ReplayError(f"there is no dead letter {id[:80]!r} of a message")
    [row] = rows
    if not row["topic"]:
        raise ReplayError("the message did not come from a topic")
    if row["body"].startswith((_BINARY, _CUT)):
        raise ReplayError("the message was too large, or not text, and cannot be published again")
    await put_messages(db, [OutboxMessage(row["topic"], row["run_id"], id, row["body"])])


def _letter_body(value: bytes) -> str:
    if len(value) > MAX_MESSAGE_BYTES:
        return _CUT + value[:MAX_LETTER_BODY].decode("latin-1").replace("\0", "")
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return _BINARY + b64encode(value).decode()
    return _BINARY + b64encode(value).decode() if "\0" in text else text


def _run_id(key: bytes) -> str:
    """Return the Kafka key of a message as a run id; empty if it cannot be one."""
    text = key[:100].decode("ascii", "replace")
    return text if text.isprintable() and text.isascii() else ""
