"""Publishes what is in the outbox. One at a time does it for all processes, by a lease.

    find unpublished rows, oldest first
    publish them, wait for the broker
    delete them; those of results stay, marked, until they have arrived

Killed between the last two it publishes some again: consumers drop what they know. What one run
sends is published in order, as only one relay does it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from confluent_kafka import KafkaError

from accord.store.errors import StoreError, UnavailableError
from accord.store.store import Row, Store
from accord.workflows.bus import outbox
from accord.workflows.bus.counts import BusCounts
from accord.workflows.bus.envelope import Trail, read_trail
from accord.workflows.bus.publisher import Parcel, Publisher
from accord.workflows.bus.sweep import sweep
from accord.workflows.bus.topics import Names
from accord.workflows.storage.leases import Lease

log = logging.getLogger("accord.workflows.bus")

LEASE: Final = "relay"
ROW: Final = "accord-row"
"""The header by which whoever receives a result finds the row that it came from."""
POLL_SECONDS: Final = 1.0
REFUSED_SECONDS: Final = 60.0
"""How long a message waits that the broker will not have."""
_REFUSALS: Final = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD})


class Relay:
    """The relay of one process, which may or may not be the one that publishes."""

    def __init__(
        self,
        store: Store,
        publisher: Publisher,
        names: Names,
        counts: BusCounts,
        *,
        lease_seconds: float,
        sweep_seconds: float,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._publisher = publisher
        self._names = names
        self._counts = counts
        self._sweep_seconds = sweep_seconds
        self._now = now
        self._lease = Lease(store, LEASE, seconds=lease_seconds)
        self._wake = asyncio.Event()
        self._refused: dict[int, float] = {}
        self._swept_at = 0.0
        self._behind_since: float | None = None

    async def run(self) -> None:
        """Until cancelled; the lease is given up then."""
        stop = await self._store.listen(outbox.WAKE, self._wake.set)
        try:
            while True:
                try:
                    await self._turn()
                except UnavailableError as error:
                    log.warning("nothing can be published: %s", error)
                    await asyncio.sleep(POLL_SECONDS)
                except Exception:
                    log.exception("nothing was published")
                    await asyncio.sleep(POLL_SECONDS)
        finally:
            stop()
            await self._let_go()

    async def _turn(self) -> None:
        if not await self._lease.take():
            await asyncio.sleep(POLL_SECONDS)
            return
        self._wake.clear()
        rows = await outbox.unpublished(self._store, self._passed_over())
        await self._measure(len(rows))
        if rows:
            await self._relay(rows)
        await self._sweep()
        if len(rows) < outbox.MAX_ROWS:
            await self._rest()

    async def _relay(self, rows: Sequence[Row]) -> None:
        parcels = [self._parcel(row) for row in rows]
        failed = await self._keeping_the_lease(self._publisher.publish(parcels))
        ids: tuple[list[int], list[int]] = [], []
        for place, row in enumerate(rows):
            if place not in failed:
                ids[row["topic"] == self._names.results].append(row["id"])
                self._counts.published[row["topic"]] += 1
        deleted, marked = ids
        await outbox.forget(self._store, deleted)
        await outbox.mark_published(self._store, marked)
        self._counts.outbox -= len(deleted) + len(marked)
        if failed:
            await self._after_failures(rows, failed)

    async def _keeping_the_lease(
        self, publishing: Awaitable[dict[int, KafkaError]]
    ) -> dict[int, KafkaError]:
        task = asyncio.ensure_future(publishing)
        while not task.done():
            await asyncio.wait({task}, timeout=self._lease.renew_seconds)
            if not task.done():
                await self._lease.take()
        return task.result()

    async def _after_failures(self, rows: Sequence[Row], failed: dict[int, KafkaError]) -> None:
        self._counts.failures += len(failed)
        error = next(iter(failed.values()))
        log.warning("%d of %d messages were not published: %s", len(failed), len(rows), error.str())
        again = time.monotonic() + REFUSED_SECONDS
        for place, each in failed.items():
            if each.code() in _REFUSALS:
                self._refused[rows[place]["id"]] = again
        if len(failed) == len(rows):
            # Another process may reach the broker.
            await self._lease.release()
        await asyncio.sleep(POLL_SECONDS)

    def _parcel(self, row: Row) -> Parcel:
        message = row["message"]
        headers = _headers(read_trail(message))
        if row["topic"] == self._names.results:
            headers.append((ROW, str(row["id"])))
        return Parcel(row["topic"], row["run_id"].encode(), message.encode(), headers)

    def _passed_over(self) -> list[int]:
        now = time.monotonic()
        self._refused = {id: again for id, again in self._refused.items() if again > now}
        return list(self._refused)

    async def _measure(self, found: int) -> None:
        is_behind = found >= outbox.MAX_ROWS or bool(self._refused)
        self._counts.outbox = await outbox.length(self._store) if is_behind else found
        if not found and not self._refused:
            self._behind_since = None
        elif self._behind_since is None:
            self._behind_since = time.monotonic()
        since = self._behind_since
        self._counts.outbox_seconds = 0.0 if since is None else time.monotonic() - since

    async def _sweep(self) -> None:
        if time.monotonic() - self._swept_at >= self._sweep_seconds / 4:
            self._swept_at = time.monotonic()
            swept = await sweep(
                self._store, self._names.tasks, now=self._now(), seconds=self._sweep_seconds
            )
            self._counts.swept += swept

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(POLL_SECONDS):
                await self._wake.wait()
        except TimeoutError:
            pass

    async def _let_go(self) -> None:
        try:
            await self._lease.release()
        except StoreError:
            pass  # it ends by itself


def _headers(trail: Trail) -> list[tuple[str, str | bytes | None]]:
    named = (
        ("message-id", trail.message_id),
        ("correlation-id", trail.correlation_id),
        ("traceparent", trail.traceparent),
    )
    return [(name, value) for name, value in named if value]
