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
from contextlib import suppress
from typing import Final

from confluent_kafka import KafkaError

from accord.store.errors import StoreError, UnavailableError
from accord.store.store import Row, Store
from accord.workflows.bus import outbox
from accord.workflows.bus.counts import BusCounts
from accord.workflows.bus.envelope import Trail, read_trail
from accord.workflows.bus.publisher import REFUSALS, Parcel, Publisher
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
        self._calm_since = 0.0
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
        begun = time.monotonic()
        if not self._lease.is_held:
            self._calm_since = begun
        if not await self._lease.take():
            await asyncio.sleep(POLL_SECONDS)
            return
        self._wake.clear()
        rows = await outbox.unpublished(self._store, self._passed_over())
        failed = await self._relay(rows) if rows else 0
        is_full = len(rows) >= outbox.MAX_ROWS
        if is_full or failed:
            self._calm_since = time.monotonic()
        await self._sweep()
        await self._measure(begun, is_behind=is_full or failed > 0 or bool(self._refused))
        if failed:
            await asyncio.sleep(POLL_SECONDS)
        elif not is_full:
            await self._rest()

    async def _relay(self, rows: Sequence[Row]) -> int:
        """Publish rows; how many of them are to be tried again soon."""
        parcels = [self._parcel(row) for row in rows]
        failed = await self._keeping_the_lease(self._publisher.publish(parcels))
        there = [row for place, row in enumerate(rows) if place not in failed]
        results = [row["id"] for row in there if row["topic"] == self._names.results]
        others = [row["id"] for row in there if row["topic"] != self._names.results]
        await outbox.forget(self._store, others)
        await outbox.mark_published(self._store, results)
        self._counts.published.update(row["topic"] for row in there)
        return await self._put_back(rows, failed) if failed else 0

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

    async def _put_back(self, rows: Sequence[Row], failed: dict[int, KafkaError]) -> int:
        self._counts.failures += len(failed)
        error = next(iter(failed.values()))
        log.warning("%d of %d messages were not published: %s", len(failed), len(rows), error.str())
        refused = [place for place, each in failed.items() if each.code() in REFUSALS]
        again = time.monotonic() + REFUSED_SECONDS
        self._refused.update((rows[place]["id"], again) for place in refused)
        if len(failed) == len(rows) > len(refused):
            # Another process may reach the broker.
            await self._lease.release()
        return len(failed) - len(refused)

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

    async def _measure(self, begun: float, *, is_behind: bool) -> None:
        if not is_behind:
            self._behind_since = None
            self._counts.outbox, self._counts.outbox_seconds = 0, 0.0
            return
        if self._behind_since is None:
            self._behind_since = begun
        self._counts.outbox = await outbox.length(self._store)
        self._counts.outbox_seconds = time.monotonic() - self._behind_since

    async def _sweep(self) -> None:
        """Not before what was published late could arrive."""
        now = time.monotonic()
        patience = self._sweep_seconds
        if now - self._calm_since >= patience and now - self._swept_at >= patience / 4:
            self._swept_at = now
            self._counts.swept += await sweep(
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


def _headers(trail: Trail) -> list[tuple[str, str | bytes | None]]:
    named = (
        ("message-id", trail.message_id),
        ("correlation-id", trail.correlation_id),
        ("traceparent", trail.traceparent),
    )
    return [(name, value) for name, value in named if value]
