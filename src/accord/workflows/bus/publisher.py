"""The producer of a bus, on a thread of its own: idempotent, and acknowledged by all replicas."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer
from msgspec import Struct

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
"""What a broker says of a message that it will never have as it is."""
PATIENCE: Final = 20.0
"""Seconds after which what was not acknowledged counts as not published."""

MANY: Final = 16
MOMENT: Final = 0.006
"""Seconds in which many messages are acknowledged: who waits for them in the library is woken for
each partition."""


class Parcel(Struct, frozen=True):
    """A message on its way to a topic."""

    topic: str
    key: bytes
    value: bytes
    headers: list[tuple[str, str | bytes | None]]


class Publisher:
    """Publishes messages and waits for the broker. One call at a time."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = {**config, **SETTINGS}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="accord-kafka-producer")
        self._producer = Producer(self._config)

    async def publish(self, parcels: Sequence[Parcel]) -> dict[int, KafkaError]:
        """Returns when all are acknowledged or given up: those that failed, by their place."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._publish, parcels)

    async def close(self) -> None:
        """Give up what is under way; blocks nothing."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._close)

    def _publish(self, parcels: Sequence[Parcel]) -> dict[int, KafkaError]:
        failed: dict[int, KafkaError] = {}
        producer = self._producer
        for place, parcel in enumerate(parcels):
            try:
                self._produce(parcel, lambda error, _, place=place: failed.update({place: error}))
            except KafkaException as error:
                failed[place] = error.args[0]
        if len(parcels) >= MANY:
            time.sleep(MOMENT)
        if producer.flush(PATIENCE):
            producer.purge()
            if producer.flush(PATIENCE):  # it is not known which
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

    def _produce(self, parcel: Parcel, tell: Any) -> None:
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
