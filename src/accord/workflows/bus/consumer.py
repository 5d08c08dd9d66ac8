"""A Kafka consumer of topics, on a thread of its own.

The thread reads a batch of messages, waits until a coroutine on the event loop has stored them, and
then marks their offsets for the next commit. Messages whose offsets were not committed are read
again by some consumer of the group. As the thread waits while messages are being stored, no
partition is reassigned in the meantime.

When a broker dies during a rebalance, librdkafka may never fetch the assigned partitions. The
thread detects such a stall, and replaces the consumer by a new one, which fetches them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from typing import Any, Final, TypeAlias

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition

from accord.workflows.bus.outbox import TopicRecord
from accord.workflows.bus.publisher import ROW_HEADER
from accord.workflows.metrics import BusMetrics

ANSWER_SECONDS: Final = 2.0
"""The timeout of queries to the broker for the offsets of a partition."""

Partition: TypeAlias = tuple[str, int]
"""A topic and the number of a partition."""


class StallDetector:
    """A detector of partitions from which a consumer reads nothing although messages exist."""

    def __init__(self) -> None:
        self._positions: Mapping[Partition, int] = {}
        self._behind: frozenset[Partition] = frozenset()

    def look(self, consumer: Consumer) -> dict[Partition, int]:
        """Return the stalled partitions, with the next offset to read of each.

        A partition is stalled if two successive calls find unread messages at an unchanged
        position; a single call may find messages that are just being fetched. Raise KafkaException
        if the broker does not answer; detection then starts over.
        """
        before, was_behind = self._positions, self._behind
        self._positions, self._behind = {}, frozenset()
        positions = {
            _partition(each): each.offset for each in consumer.position(consumer.assignment())
        }
        behind = {}
        for place, offset in positions.items():
            if before.get(place) == offset:
                next_one, end = _next_and_end(consumer, place, offset)
                if next_one < end:
                    behind[place] = next_one
        self._positions, self._behind = positions, frozenset(behind)
        return {place: offset for place, offset in behind.items() if place in was_behind}


def _next_and_end(consumer: Consumer, place: Partition, position: int) -> tuple[int, int]:
    """Return the next offset to read, and the end offset of a partition."""
    partition = TopicPartition(*place)
    first, end = consumer.get_watermark_offsets(partition, timeout=ANSWER_SECONDS)
    if position < 0:  # nothing was read yet
        [committed] = consumer.committed([partition], timeout=ANSWER_SECONDS)
        position = max(first, committed.offset)
    return position, end


def _partition(partition: TopicPartition) -> Partition:
    return partition.topic, partition.partition


def partitions_of(partitions: Iterable[TopicPartition]) -> frozenset[Partition]:
    return frozenset(map(_partition, partitions))


log = logging.getLogger("accord.workflows.bus")

SETTINGS: Final[Mapping[str, Any]] = {
    "partition.assignment.strategy": "cooperative-sticky",
    "enable.auto.commit": True,
    "auto.commit.interval.ms": 500,
    "enable.auto.offset.store": False,  # commit the offsets of stored messages only
    "auto.offset.reset": "earliest",
    "session.timeout.ms": 10_000,
    "heartbeat.interval.ms": 1_000,  # members learn of rebalances by heartbeats
    "queued.max.messages.kbytes": 16_384,
    "fetch.wait.max.ms": 100,
    "reconnect.backoff.max.ms": 1_000,
    "allow.auto.create.topics": False,
}
MAX_MESSAGES: Final = 2_000
"""The maximum number of messages in one batch."""
POLL_SECONDS: Final = 0.2
PACE_SECONDS: Final = 0.0005
"""The delay before the next read, per message of the last batch.

The more messages arrive, the longer they are collected, so that batches get larger under load.
"""
MAX_PACE_SECONDS: Final = 0.015
"""The maximum delay before the next read."""
RETRY_SECONDS: Final = 1.0
"""The delay before a new consumer is made after an unexpected error."""
LAG_SECONDS: Final = 5.0
"""The interval in seconds at which the consumer lag is measured."""
STALL_SECONDS: Final = 300.0
"""The minimum interval between two consumer replacements for the same stalled offset."""

Receive = Callable[[Sequence[TopicRecord]], Coroutine[Any, Any, None]]


class TopicReader:
    """A reader of topics in a consumer group, which passes batches of messages to `receive`."""

    def __init__(
        self,
        config: Mapping[str, Any],
        group: str,
        topics: Sequence[str],
        receive: Receive,
        metrics: BusMetrics,
        *,
        check_seconds: float,
        recreated: Collection[str] = (),
    ) -> None:
        """Prepare a reader that checks for stalls every `check_seconds`.

        Topics in `recreated` are read from the beginning, ignoring committed offsets.
        """
        self._config = {**config, **SETTINGS, "group.id": group}
        self._topics = list(topics)
        self._recreated = frozenset(recreated)
        self._receive = receive
        self._metrics = metrics
        self._loop = asyncio.get_running_loop()
        self._closing = threading.Event()
        self._assignment: frozenset[Partition] = frozenset()
        self._storing: Any = None
        self._lag_at = 0.0
        self._check_seconds = check_seconds
        self._tried: dict[Partition, tuple[int, float]] = {}
        """For each partition, the stalled offset that led to a new consumer, and the time."""
        self._thread = threading.Thread(target=self._run, name=f"accord-{group}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def close(self) -> None:
        """Leave the group; another member reads again the messages that are not stored yet."""
        self._closing.set()
        if self._storing is not None:
            self._storing.cancel()
        await self._loop.run_in_executor(None, self._thread.join)

    def partitions_of(self, topic: str) -> int:
        """Return the number of partitions of a topic that are assigned to this reader."""
        return sum(name == topic for name, _ in self._assignment)

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self._consume()
            except Exception:
                log.exception("reading %s failed, and begins again", self._topics)
                self._closing.wait(RETRY_SECONDS)

    def _consume(self) -> None:
        consumer = Consumer(self._config)
        self._assignment = frozenset()
        consumer.subscribe(
            self._topics,
            on_assign=self._assigned,
            on_revoke=self._revoked,
            on_lost=self._revoked,
        )
        last = 0
        stalls = StallDetector()
        look_at = time.monotonic() + self._check_seconds
        try:
            while not self._closing.is_set():
                messages = _read(consumer, min(last * PACE_SECONDS, MAX_PACE_SECONDS))
                last = len(messages)
                if messages:
                    if not self._store(messages):
                        return
                    _note(consumer, messages)
                self._look_at_lag(consumer)
                # Only if everything fetched was read: else it is busy, not stalled.
                if last < MAX_MESSAGES and time.monotonic() > look_at:
                    if self._is_stalled(consumer, stalls):
                        return
                    look_at = time.monotonic() + self._check_seconds
        finally:
            self._assignment = frozenset()
            consumer.close()

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if self._recreated:
            for each in partitions:
                if each.topic in self._recreated:
                    each.offset = OFFSET_BEGINNING
            consumer.incremental_assign(partitions)
            if partitions:
                self._recreated = frozenset()
        self._assignment |= partitions_of(partitions)
        self._loop.call_soon_threadsafe(self._count_rebalance)

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._assignment -= partitions_of(partitions)

    def _count_rebalance(self) -> None:
        self._metrics.rebalances += 1

    def _store(self, messages: Sequence[Message]) -> bool:
        """Have a batch stored on the event loop; return False if the reader is closing."""
        work = self._receive([_record(message) for message in messages])
        try:
            self._storing = asyncio.run_coroutine_threadsafe(work, self._loop)
            if self._closing.is_set():
                self._storing.cancel()
            self._storing.result()
        except CancelledError:
            return False
        return True

    def _is_stalled(self, consumer: Consumer, stalls: StallDetector) -> bool:
        """Return True if the consumer should be replaced because a partition is stalled."""
        try:
            found = stalls.look(consumer)
        except KafkaException as error:
            log.debug("whether all is read is not known: %s", error)
            return False
        now = time.monotonic()
        stalled = {
            place: (offset, now)
            for place, offset in found.items()
            if not self._was_tried(place, offset, now - STALL_SECONDS)
        }
        if not stalled:
            return False
        self._tried |= stalled
        log.warning("nothing comes from %s: a new consumer is made", sorted(stalled))
        self._loop.call_soon_threadsafe(self._count_stall)
        return True

    def _was_tried(self, place: Partition, offset: int, since: float) -> bool:
        tried, at = self._tried.get(place, (-1, 0.0))
        return tried == offset and at > since

    def _count_stall(self) -> None:
        self._metrics.stalls += 1

    def _look_at_lag(self, consumer: Consumer) -> None:
        if time.monotonic() - self._lag_at < LAG_SECONDS:
            return
        self._lag_at = time.monotonic()
        lag = dict.fromkeys(self._topics, 0)
        try:
            for place in consumer.position(consumer.assignment()):
                # From the last answer of the broker, without asking it again.
                _, end = consumer.get_watermark_offsets(place, cached=True)
                if place.offset >= 0 and end >= 0:
                    lag[place.topic] += max(0, end - place.offset)
        except KafkaException as error:
            log.debug("the lag is not known: %s", error)
        else:
            self._metrics.lag.update(lag)


def _read(consumer: Consumer, pace: float) -> list[Message]:
    """Wait for a message; return it with all that arrive within `pace` seconds."""
    first = consumer.poll(POLL_SECONDS)
    if first is None:
        return []
    if pace:
        time.sleep(pace)  # waiting in librdkafka would wake up for each message
    found = [first, *consumer.consume(MAX_MESSAGES - 1, 0)]
    messages = []
    for each in found:
        error = each.error()
        if error is None:
            messages.append(each)
        else:
            log.info("the broker says: %s", error.str())
    return messages


def _record(message: Message) -> TopicRecord:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    return TopicRecord(
        topic, partition, offset, message.timestamp()[1],
        _bytes(message.key()), _bytes(message.value()), _row(message.headers()),
    )  # fmt: skip


def _bytes(value: str | bytes | None) -> bytes:
    return value.encode() if isinstance(value, str) else value or b""


def _row(headers: Any) -> int | None:
    for name, value in headers or ():
        if name == ROW_HEADER and value is not None and value.isdigit() and len(value) < 19:
            return int(value)
    return None


def _note(consumer: Consumer, messages: Sequence[Message]) -> None:
    """Mark the offsets of stored messages for the next commit.

    If that fails, the messages are read again, which is harmless.
    """
    last = {(each.topic(), each.partition()): each.offset() for each in messages}
    places = [
        TopicPartition(topic or "", partition or 0, (offset or 0) + 1)
        for (topic, partition), offset in last.items()
    ]
    try:
        consumer.store_offsets(offsets=places)
    except KafkaException as error:
        log.info("offsets were not noted: %s", error)
