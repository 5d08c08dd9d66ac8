"""Publishes messages: the producer, directly sent successes, and the relay.

The producer runs on a thread of its own; it is idempotent and waits for all replicas. Successes are
published directly, without the outbox. A lease ensures that only one process relays the outbox. The
relay repeats:

    read the unpublished rows, oldest first
    publish their messages and wait for the broker
    delete the rows; rows of results are marked instead, and deleted when the result arrives

Rows written by this process need not be read, because their messages are cached. If a relay is
killed between the last two steps, some messages are published twice; consumers drop duplicates.
Because there is only one relay, the messages of a run are published in order.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer
from msgspec import Struct

from accord.store.store import Row, Store, StoreError, StoreUnavailableError
from accord.workflows.bus.outbox import (
    OutboxBatch,
    OutboxCache,
    OutboxMessage,
    keep_only,
    read_batch,
    sweep,
)
from accord.workflows.bus.topics import TopicNames
from accord.workflows.metrics import BusMetrics
from accord.workflows.storage.leases import Lease
from accord.workflows.storage.messages import (
    OUTBOX_WAKE,
    delete_published,
    is_full_read,
    mark_published,
    outbox_length,
    read_unpublished,
)

SETTINGS: Final[Mapping[str, Any]] = {
    "enable.idempotence": True,
    "acks": "all",
    "linger.ms": 2,  # which ends with a flush
    "delivery.report.only.error": True,
    "compression.type": "lz4",
    "message.max.bytes": 1_500_000,
    "message.timeout.ms": 15_000,
    # Topics are created before anything is published, so report a missing one soon.
    "topic.metadata.propagation.max.ms": 5_000,
    "reconnect.backoff.max.ms": 1_000,
}
REFUSALS: Final = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD})
"""Error codes for messages that the broker will never accept."""
ACKNOWLEDGE_SECONDS: Final = 20.0
"""How long an acknowledgement may take before a message counts as not published."""

MIN_PAUSE_MESSAGES: Final = 16
PAUSE_SECONDS: Final = 0.006
"""The wait before polling for acknowledgements of a large batch.

A blocking poll would wake up for each partition.
"""


class KafkaMessage(Struct, frozen=True):
    """A message in the form that the Kafka producer takes."""

    topic: str
    key: bytes
    value: bytes
    headers: list[tuple[str, str | bytes | None]]


class Publisher:
    """A Kafka producer that waits for acknowledgements; it handles one batch at a time."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = {**config, **SETTINGS}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="accord-kafka-producer")
        self._producer = Producer(self._config)

    async def publish(self, messages: Sequence[KafkaMessage]) -> dict[int, KafkaError]:
        """Publish messages; return the errors of failed messages by their index."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._publish, messages)

    async def close(self) -> None:
        """Abort running calls of `publish`, without blocking the event loop."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._close)

    def _publish(self, messages: Sequence[KafkaMessage]) -> dict[int, KafkaError]:
        failed: dict[int, KafkaError] = {}
        producer = self._producer
        for place, message in enumerate(messages):
            try:
                self._produce(message, lambda error, _, place=place: failed.update({place: error}))
            except KafkaException as error:
                failed[place] = error.args[0]
        if len(messages) >= MIN_PAUSE_MESSAGES:
            time.sleep(PAUSE_SECONDS)
        if producer.flush(ACKNOWLEDGE_SECONDS):
            producer.purge()
            if producer.flush(ACKNOWLEDGE_SECONDS):  # unknown which: count all as failed
                late = KafkaError(KafkaError._TIMED_OUT)  # noqa: SLF001 - its public name
                failed = {place: failed.get(place, late) for place in range(len(messages))}
        if len(messages) > 1:
            # The broker refuses a whole batch for one message: send each alone to find it.
            for place in [each for each, error in failed.items() if error.code() in REFUSALS]:
                del failed[place]
                alone = self._publish([messages[place]])
                failed.update((place, error) for error in alone.values())
        if any(error.fatal() for error in failed.values()):
            # After a fatal error this producer cannot be idempotent any more.
            self._producer = Producer(self._config)
        return failed

    def _produce(self, message: KafkaMessage, on_delivery: Any) -> None:
        while True:
            try:
                self._producer.produce(
                    message.topic, message.value, message.key,
                    on_delivery=on_delivery, headers=message.headers,
                )  # fmt: skip
                return
            except BufferError:
                self._producer.poll(0.1)

    def _close(self) -> None:
        self._producer.purge()  # ends a flush that waits
        self._thread.shutdown()


log = logging.getLogger("accord.workflows.bus")

MAX_RESULTS: Final = 500
"""The maximum number of results in one batch."""
PACE_SECONDS: Final = 0.002
"""The delay before the next batch, per result of the last batch, to get larger batches."""
MAX_PACE_SECONDS: Final = 0.1
"""The maximum delay before the next batch."""
CHECK_SECONDS: Final = 1.0
"""After a failure, the outbox is checked at this interval, in seconds, until it is empty."""


class _PendingResult(Struct, frozen=True):
    message: KafkaMessage
    after: Callable[[bool], None]


class ResultPublisher:
    """A publisher of successes that are not in the outbox. Belongs to one event loop.

    After a failure, senders must use the outbox until all its messages are published, that is,
    until the function `is_caught_up` returns True. Otherwise a later result could overtake an
    earlier one that is still in the outbox.
    """

    def __init__(
        self,
        publisher: Publisher,
        metrics: BusMetrics,
        is_caught_up: Callable[[], Awaitable[bool]],
    ) -> None:
        self._publisher = publisher
        self._metrics = metrics
        self._is_caught_up = is_caught_up
        self._loop = asyncio.get_running_loop()
        self._waiting: list[_PendingResult] = []
        self._last = 0
        self._closed = False
        self._running: asyncio.Task[None] | None = None
        self._recovering: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """True if results can be sent without the outbox.

        It is False once the publisher is closed, and after a failure until the outbox is empty.
        """
        return not self._closed and self._recovering is None

    def send(self, message: KafkaMessage, after: Callable[[bool], None]) -> None:
        """Queue a result; call `after` with True once the broker has acknowledged it.

        After False, the broker may have received it nevertheless.
        """
        self._waiting.append(_PendingResult(message, after))
        if self._running is None:
            self._running = self._loop.create_task(self._run())

    async def close(self) -> None:
        """Accept no more results, and wait for running calls, which `Publisher.close` ends."""
        self._closed = True
        if self._recovering is not None:
            self._recovering.cancel()
        under_way = {each for each in (self._running, self._recovering) if each is not None}
        if under_way:
            await asyncio.wait(under_way)

    async def _run(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(min(self._last * PACE_SECONDS, MAX_PACE_SECONDS))
                some, self._waiting = self._waiting[:MAX_RESULTS], self._waiting[MAX_RESULTS:]
                self._last = len(some)
                await self._publish(some)
        finally:
            self._running = None

    async def _publish(self, some: list[_PendingResult]) -> None:
        try:
            failed = set(await self._publisher.publish([each.message for each in some]))
        except Exception:
            log.exception("results were not published")
            failed = set(range(len(some)))
        if failed:
            self._metrics.failures += len(failed)
            if self._recovering is None and not self._closed:
                self._recovering = self._loop.create_task(self._recover())
        for place, each in enumerate(some):
            if place not in failed:
                self._metrics.published[each.message.topic] += 1
            each.after(place not in failed)
        if failed:
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                each.after(False)

    async def _recover(self) -> None:
        try:
            is_caught_up = False
            while not is_caught_up:
                await asyncio.sleep(CHECK_SECONDS)
                is_caught_up = await self._is_caught_up()
        finally:
            self._recovering = None


RELAY_LEASE: Final = "relay"
ROW_HEADER: Final = "accord-row"
"""The header of a result message that has the id of its outbox row."""
RELAY_POLL_SECONDS: Final = 1.0
REFUSED_SECONDS: Final = 60.0
"""The delay before a message that the broker refused is published again."""


class Relay:
    """The relay of the outbox, which publishes messages while this process has the lease."""

    def __init__(
        self,
        store: Store,
        publisher: Publisher,
        names: TopicNames,
        metrics: BusMetrics,
        outbox_cache: OutboxCache,
        *,
        lease_seconds: float,
        sweep_seconds: float,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._publisher = publisher
        self._names = names
        self._metrics = metrics
        self._outbox_cache = outbox_cache
        self._sweep_seconds = sweep_seconds
        self._now = now
        self._lease = Lease(store, RELAY_LEASE, seconds=lease_seconds)
        self._wake = asyncio.Event()
        self._refused: dict[int, float] = {}
        self._swept_at = 0.0
        self._calm_since = 0.0
        self._behind_since: float | None = None

    async def run(self) -> None:
        """Relay messages until cancelled, then release the lease."""
        stop = await self._store.listen(OUTBOX_WAKE, self._wake.set)
        try:
            while True:
                try:
                    await self._turn()
                except StoreUnavailableError as error:
                    log.warning("nothing can be published: %s", error)
                    await asyncio.sleep(RELAY_POLL_SECONDS)
                except Exception:
                    log.exception("nothing was published")
                    await asyncio.sleep(RELAY_POLL_SECONDS)
        finally:
            stop()
            await self._release_lease()

    async def _turn(self) -> None:
        begun = time.monotonic()
        if not self._lease.is_held:
            self._calm_since = begun
        if not await self._lease.take():
            await asyncio.sleep(RELAY_POLL_SECONDS)
            return
        self._wake.clear()  # before reading: a notification during the read must count
        known = self._outbox_cache.all()
        rows = await read_unpublished(self._store, self._passed_over(), list(known))
        self._outbox_cache.forget(row["id"] for row in rows)
        batches = [batch for row in rows if (batch := _batch_of(row, known)) is not None]
        failed = await self._relay(batches) if batches else 0
        full = is_full_read(rows)
        if full or failed:
            self._calm_since = time.monotonic()
        await self._sweep()
        await self._measure(begun, is_behind=full or failed > 0 or bool(self._refused))
        if failed:
            await asyncio.sleep(RELAY_POLL_SECONDS)
        elif not full:
            await self._rest()

    async def _relay(self, batches: Sequence[OutboxBatch]) -> int:
        """Publish the messages of rows; return how many have to be retried soon."""
        messages = [
            kafka_message(message, batch.id if message.topic == self._names.results else None)
            for batch in batches
            for message in batch.messages
        ]
        failed = await self._renew_lease_during(self._publisher.publish(messages))
        acknowledged = _acknowledged(batches, failed)
        results = [batch.id for batch in acknowledged if self._is_kept(batch)]
        await delete_published(
            self._store, [each.id for each in acknowledged if not self._is_kept(each)]
        )
        await mark_published(self._store, results)
        self._metrics.published.update(
            message.topic for place, message in enumerate(messages) if place not in failed
        )
        return await self._put_back(batches, failed) if failed else 0

    def _is_kept(self, batch: OutboxBatch) -> bool:
        """Return True if a published row is kept until its message has arrived.

        That holds for the row of a single result.
        """
        return len(batch.messages) == 1 and batch.messages[0].topic == self._names.results

    async def _renew_lease_during(
        self, publishing: Awaitable[dict[int, KafkaError]]
    ) -> dict[int, KafkaError]:
        task = asyncio.ensure_future(publishing)
        while not task.done():
            await asyncio.wait({task}, timeout=self._lease.renew_seconds)
            if not task.done():
                with suppress(StoreError):  # another relay may publish the same, which is harmless
                    await self._lease.take()
        return task.result()

    async def _put_back(self, batches: Sequence[OutboxBatch], failed: dict[int, KafkaError]) -> int:
        self._metrics.failures += len(failed)
        total = sum(len(batch.messages) for batch in batches)
        error = next(iter(failed.values()))
        log.warning("%d of %d messages were not published: %s", len(failed), total, error.str())
        refused = {place for place, each in failed.items() if each.code() in REFUSALS}
        await self._pass_over(batches, failed, refused)
        if len(failed) == total > len(refused):
            # Another process may reach the broker.
            await self._lease.release()
        return len(failed) - len(refused)

    async def _pass_over(
        self, batches: Sequence[OutboxBatch], failed: dict[int, KafkaError], refused: set[int]
    ) -> None:
        """Set refused messages aside, to be published again after `REFUSED_SECONDS`.

        If their row has several messages, each message that was not published gets its own row.
        """
        again = time.monotonic() + REFUSED_SECONDS
        place = 0
        for batch in batches:
            places = range(place, place + len(batch.messages))
            place = places.stop
            if refused.isdisjoint(places):
                continue
            unsent = [each for each in places if each in failed]
            ids = [batch.id]
            if len(places) > 1:
                messages = [batch.messages[each - places.start] for each in unsent]
                ids = await keep_only(self._store, batch.id, messages)
            separate = zip(unsent, ids, strict=True)
            self._refused.update((id, again) for each, id in separate if each in refused)

    def _passed_over(self) -> list[int]:
        now = time.monotonic()
        self._refused = {id: again for id, again in self._refused.items() if again > now}
        return list(self._refused)

    async def _measure(self, begun: float, *, is_behind: bool) -> None:
        if not is_behind:
            self._behind_since = None
            self._metrics.outbox, self._metrics.outbox_seconds = 0, 0.0
            return
        if self._behind_since is None:
            self._behind_since = begun
        self._metrics.outbox = await outbox_length(self._store)
        self._metrics.outbox_seconds = time.monotonic() - self._behind_since

    async def _sweep(self) -> None:
        """Run a sweep if one is due, and if published messages have had time to arrive."""
        now = time.monotonic()
        seconds = self._sweep_seconds
        if now - self._calm_since >= seconds and now - self._swept_at >= seconds / 4:
            self._swept_at = now
            self._metrics.swept += await sweep(
                self._store, self._names.tasks, now=self._now(), seconds=seconds
            )

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(RELAY_POLL_SECONDS):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _release_lease(self) -> None:
        with suppress(StoreError):  # it expires anyway
            await self._lease.release()


def _batch_of(row: Row, known: Mapping[int, OutboxBatch]) -> OutboxBatch | None:
    """Return the batch of a row, from the cache if possible.

    Return None if the cached batch belongs to another row with the same id, as its key shows: a
    database may reuse an id after a crash. The row is then read in full the next time.
    """
    batch = known.get(row["id"])
    if batch is None:
        return read_batch(row)
    return batch if batch.key == row["message_id"] else None


def kafka_message(message: OutboxMessage, row: int | None = None) -> KafkaMessage:
    """Convert an outbox message for the producer, with the id of its row as a header."""
    headers: list[tuple[str, str | bytes | None]] = []
    if message.message_id:
        headers.append(("message-id", message.message_id))
    if message.correlation_id:
        headers.append(("correlation-id", message.correlation_id))
    if message.traceparent:
        headers.append(("traceparent", message.traceparent))
    if row is not None:
        headers.append((ROW_HEADER, str(row)))
    return KafkaMessage(message.topic, message.run_id.encode(), message.message.encode(), headers)


def _acknowledged(batches: Sequence[OutboxBatch], failed: Collection[int]) -> list[OutboxBatch]:
    """Return the batches of which no message failed."""
    complete: list[OutboxBatch] = []
    place = 0
    for batch in batches:
        places = range(place, place + len(batch.messages))
        place = places.stop
        if not failed or all(each not in failed for each in places):
            complete.append(batch)
    return complete
