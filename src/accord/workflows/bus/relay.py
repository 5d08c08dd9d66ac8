"""Publishes the outbox. A lease makes one process the relay for all.

    find unpublished rows, oldest first
    publish their messages, wait for the broker
    delete them; those of results stay, marked, until they have arrived

Rows that this process wrote are not read again, because their messages are cached. A relay that is
killed between the last two steps publishes some messages twice; consumers drop duplicates. The
messages of one run are published in order, as there is only one relay.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Final

from confluent_kafka import KafkaError

from accord.store.store import Row, Store, StoreError, StoreUnavailableError
from accord.workflows.bus.outbox import (
    OutboxBatch,
    OutboxCache,
    OutboxMessage,
    keep_only,
    read_batch,
    sweep,
)
from accord.workflows.bus.publisher import REFUSALS, KafkaMessage, Publisher
from accord.workflows.bus.topics import TopicNames
from accord.workflows.metrics import BusMetrics
from accord.workflows.storage.leases import Lease
from accord.workflows.storage.outbox import (
    WAKE,
    forget,
    is_full,
    length,
    mark_published,
    unpublished,
)

log = logging.getLogger("accord.workflows.bus")

LEASE: Final = "relay"
ROW_HEADER: Final = "accord-row"
"""The header of a result with the id of its row in the outbox."""
POLL_SECONDS: Final = 1.0
REFUSED_SECONDS: Final = 60.0
"""Delay before a message that the broker refused is tried again."""


class Relay:
    """The relay of one process, which publishes while it has the lease."""

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
        self._lease = Lease(store, LEASE, seconds=lease_seconds)
        self._wake = asyncio.Event()
        self._refused: dict[int, float] = {}
        self._swept_at = 0.0
        self._calm_since = 0.0
        self._behind_since: float | None = None

    async def run(self) -> None:
        """Relay until cancelled, and then release the lease."""
        stop = await self._store.listen(WAKE, self._wake.set)
        try:
            while True:
                try:
                    await self._turn()
                except StoreUnavailableError as error:
                    log.warning("nothing can be published: %s", error)
                    await asyncio.sleep(POLL_SECONDS)
                except Exception:
                    log.exception("nothing was published")
                    await asyncio.sleep(POLL_SECONDS)
        finally:
            stop()
            await self._let_go()

    async def _turn(self) -> None:
        begun = time.monotonic()
        if not self._lease.is_held:
            self._calm_since = begun
        if not await self._lease.take():
            await asyncio.sleep(POLL_SECONDS)
            return
        self._wake.clear()
        known = self._outbox_cache.all()
        rows = await unpublished(self._store, self._passed_over(), list(known))
        self._outbox_cache.forget(row["id"] for row in rows)
        batches = [batch for row in rows if (batch := _batch(row, known)) is not None]
        failed = await self._relay(batches) if batches else 0
        full = is_full(rows)
        if full or failed:
            self._calm_since = time.monotonic()
        await self._sweep()
        await self._measure(begun, is_behind=full or failed > 0 or bool(self._refused))
        if failed:
            await asyncio.sleep(POLL_SECONDS)
        elif not full:
            await self._rest()

    async def _relay(self, batches: Sequence[OutboxBatch]) -> int:
        """Publish rows; return how many of their messages are to be tried again soon."""
        parcels = [
            kafka_message(message, batch.id if message.topic == self._names.results else None)
            for batch in batches
            for message in batch.messages
        ]
        failed = await self._keeping_the_lease(self._publisher.publish(parcels))
        there = _acknowledged(batches, failed)
        results = [batch.id for batch in there if self._is_kept(batch)]
        await forget(self._store, [each.id for each in there if not self._is_kept(each)])
        await mark_published(self._store, results)
        self._metrics.published.update(
            parcel.topic for place, parcel in enumerate(parcels) if place not in failed
        )
        return await self._put_back(batches, failed) if failed else 0

    def _is_kept(self, batch: OutboxBatch) -> bool:
        """Return True if the row stays until its messages have arrived."""
        return len(batch.messages) == 1 and batch.messages[0].topic == self._names.results

    async def _keeping_the_lease(
        self, publishing: Awaitable[dict[int, KafkaError]]
    ) -> dict[int, KafkaError]:
        task = asyncio.ensure_future(publishing)
        while not task.done():
            await asyncio.wait({task}, timeout=self._lease.renew_seconds)
            if not task.done():
                with suppress(StoreError):  # another may publish the same, which does no harm
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
        """Move messages that the broker refuses to rows of their own."""
        again = time.monotonic() + REFUSED_SECONDS
        place = 0
        for batch in batches:
            places = range(place, place + len(batch.messages))
            place = places.stop
            if refused.isdisjoint(places):
                continue
            left = [each for each in places if each in failed]
            ids = [batch.id]
            if len(places) > 1:
                messages = [batch.messages[each - places.start] for each in left]
                ids = await keep_only(self._store, batch.id, messages)
            parted = zip(left, ids, strict=True)
            self._refused.update((id, again) for each, id in parted if each in refused)

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
        self._metrics.outbox = await length(self._store)
        self._metrics.outbox_seconds = time.monotonic() - self._behind_since

    async def _sweep(self) -> None:
        """Sweep, but not before late messages could have arrived."""
        now = time.monotonic()
        patience = self._sweep_seconds
        if now - self._calm_since >= patience and now - self._swept_at >= patience / 4:
            self._swept_at = now
            self._metrics.swept += await sweep(
                self._store, self._names.tasks, now=self._now(), seconds=patience
            )

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(POLL_SECONDS):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _let_go(self) -> None:
        with suppress(StoreError):  # it ends by itself
            await self._lease.release()


def _batch(row: Row, known: Mapping[int, OutboxBatch]) -> OutboxBatch | None:
    """Return the batch of a row, from the cache if possible.

    None if the cached batch has another key: a database that was killed may reuse an id. Then the
    row is read the next time.
    """
    batch = known.get(row["id"])
    if batch is None:
        return read_batch(row)
    return batch if batch.key == row["message_id"] else None


def kafka_message(message: OutboxMessage, row: int | None = None) -> KafkaMessage:
    """Return a message as it is published, with the id of its row in a header if given."""
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
    """Return the batches that the broker has completely."""
    there: list[OutboxBatch] = []
    place = 0
    for batch in batches:
        places = range(place, place + len(batch.messages))
        place = places.stop
        if not failed or all(each not in failed for each in places):
            there.append(batch)
    return there
