"""The Kafka producer, on its own thread, and the publisher of results that are in no table.

The producer is idempotent, and all replicas acknowledge.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer
from msgspec import Struct

from accord.workflows.metrics import BusMetrics

SETTINGS: Final[Mapping[str, Any]] = {
    "enable.idempotence": True,
    "acks": "all",
    "linger.ms": 2,  # which ends with a flush
    "delivery.report.only.error": True,
    "compression.type": "lz4",
    "message.max.bytes": 1_500_000,
    "message.timeout.ms": 15_000,
    # Topics are made before anything is published: one that is not there is soon told.
    "topic.metadata.propagation.max.ms": 5_000,
    "reconnect.backoff.max.ms": 1_000,
}
REFUSALS: Final = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD})
"""Errors of the broker for messages that it will never accept."""
ACKNOWLEDGE_SECONDS: Final = 20.0
"""Seconds after which an unacknowledged message counts as not published."""

MIN_PAUSE_MESSAGES: Final = 16
PAUSE_SECONDS: Final = 0.006
"""Seconds between polls for acknowledgements: a blocking poll would wake up for each partition."""


class KafkaMessage(Struct, frozen=True):
    """A message on its way to a topic."""

    topic: str
    key: bytes
    value: bytes
    headers: list[tuple[str, str | bytes | None]]


class Publisher:
    """A publisher that waits for the broker. One call at a time."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = {**config, **SETTINGS}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="accord-kafka-producer")
        self._producer = Producer(self._config)

    async def publish(self, parcels: Sequence[KafkaMessage]) -> dict[int, KafkaError]:
        """Publish messages; return the errors of those that failed, by index."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._publish, parcels)

    async def close(self) -> None:
        """Abort what is under way, without blocking."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._close)

    def _publish(self, parcels: Sequence[KafkaMessage]) -> dict[int, KafkaError]:
        failed: dict[int, KafkaError] = {}
        producer = self._producer
        for place, parcel in enumerate(parcels):
            try:
                self._produce(parcel, lambda error, _, place=place: failed.update({place: error}))
            except KafkaException as error:
                failed[place] = error.args[0]
        if len(parcels) >= MIN_PAUSE_MESSAGES:
            time.sleep(PAUSE_SECONDS)
        if producer.flush(ACKNOWLEDGE_SECONDS):
            producer.purge()
            if producer.flush(ACKNOWLEDGE_SECONDS):  # it is not known which
                late = KafkaError(KafkaError._TIMED_OUT)
                failed = {place: failed.get(place, late) for place in range(len(parcels))}
        if len(parcels) > 1:
            # What is sent together is refused together: find out whose fault it is.
            for place in [each for each, error in failed.items() if error.code() in REFUSALS]:
                del failed[place]
                alone = self._publish([parcels[place]])
                failed.update((place, error) for error in alone.values())
        if any(error.fatal() for error in failed.values()):
            # Idempotence is lost for good with this one.
            self._producer = Producer(self._config)
        return failed

    def _produce(self, parcel: KafkaMessage, tell: Any) -> None:
        while True:
            try:
                self._producer.produce(
                    parcel.topic, parcel.value, parcel.key,
                    on_delivery=tell, headers=parcel.headers,
                )  # fmt: skip
                return
            except BufferError:
                self._producer.poll(0.1)

    def _close(self) -> None:
        self._producer.purge()  # ends a flush that waits
        self._thread.shutdown()


log = logging.getLogger("accord.workflows.bus")

MAX_RESULTS: Final = 500
"""The number of results that are published together."""
PACE_SECONDS: Final = 0.002
"""Delay before the next batch for each result of the last batch, to collect more of them."""
MAX_PACE_SECONDS: Final = 0.1
"""The longest delay before the next batch."""
CHECK_SECONDS: Final = 1.0
"""The interval in seconds at which `is_caught_up` is checked."""


class _PendingResult(Struct, frozen=True):
    parcel: KafkaMessage
    after: Callable[[bool], None]


class ResultPublisher:
    """A publisher of results that are in no table. Belongs to one event loop.

    After a failure it accepts nothing until `is_caught_up`, so that results sent by the outbox
    meanwhile are not overtaken.
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
        """True if the broker is likely to accept a message."""
        return not self._closed and self._recovering is None

    def send(self, parcel: KafkaMessage, after: Callable[[bool], None]) -> None:
        """Publish a result; call `after` with True once the broker has it.

        After False, the broker may have it nevertheless.
        """
        self._waiting.append(_PendingResult(parcel, after))
        if self._running is None:
            self._running = self._loop.create_task(self._run())

    async def close(self) -> None:
        """Accept nothing more; publishing under way ends with the publisher."""
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
            failed = set(await self._publisher.publish([each.parcel for each in some]))
        except Exception:
            log.exception("results were not published")
            failed = set(range(len(some)))
        if failed:
            self._metrics.failures += len(failed)
            if self._recovering is None and not self._closed:
                self._recovering = self._loop.create_task(self._recover())
        for place, each in enumerate(some):
            if place not in failed:
                self._metrics.published[each.parcel.topic] += 1
            each.after(place not in failed)
        if failed:
            others, self._waiting = self._waiting, []
            for each in others:
                each.after(False)

    async def _recover(self) -> None:
        try:
            is_caught_up = False
            while not is_caught_up:
                await asyncio.sleep(CHECK_SECONDS)
                is_caught_up = await self._is_caught_up()
        finally:
            self._recovering = None
