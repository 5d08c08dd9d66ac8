"""An executor, which decides on runs.

An installation can have many executors, one in each process. An executor repeats:

    share      take its share of the shards, and release surplus shards
    decide     decide on messages and timers for the runs of its shards, until none are left
    wait       until a message arrives, an executor joins or leaves, or a timer is due

It waits for at most a second, because a notification may be lost. While the database is
unavailable, it retries.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from accord.store.store import Store, StoreError
from accord.workflows.bus.bus import Bus, LocalWorker
from accord.workflows.executor.decider import Decider
from accord.workflows.executor.run_cache import RunCache
from accord.workflows.metrics import ExecutorMetrics, SpanRecorder
from accord.workflows.storage import leases as members, messages
from accord.workflows.storage.definitions import Definitions
from accord.workflows.storage.leases import Membership, Shards, shard_of
from accord.workflows.storage.messages import RunMessage

log = logging.getLogger("accord.workflows")

CLOSE_SECONDS: Final = 10.0
"""How many seconds `close` waits for the decision that is being written."""
_SHARES: Final = 3
"""The number of times that an executor checks its share of the shards during one lease."""
_RETRY_SECONDS: Final = (0.1, 5.0)
"""The shortest and the longest delay between retries while the database is unavailable."""


class Executor:
    """An executor of runs, which implements `LocalExecutor`.

    `membership` must be started before the executor and closed after it. `local_worker` is the
    worker of the same process, if any.
    """

    def __init__(
        self,
        store: Store,
        bus: Bus,
        membership: Membership,
        *,
        now: Callable[[], float] = time.time,
        definitions: Definitions | None = None,
        metrics: ExecutorMetrics | None = None,
        cache: RunCache | None = None,
        local_worker: LocalWorker | None = None,
        spans: SpanRecorder | None = None,
    ) -> None:
        self.metrics = ExecutorMetrics() if metrics is None else metrics
        self._store = store
        self._membership = membership
        self._shards = Shards(store, membership)
        self._decider = Decider(
            store,
            bus,
            self._shards,
            lane=f"executor-{membership.id}",
            definitions=Definitions() if definitions is None else definitions,
            metrics=self.metrics,
            cached=RunCache() if cache is None else cache,
            now=now,
            local_worker=local_worker,
            spans=spans,
        )
        self._woken = asyncio.Event()
        self._is_share_due = True
        self._shared = 0.0
        self._closing = False
        self._task: asyncio.Task[None] | None = None
        self._stops: list[Callable[[], None]] = []

    async def start(self) -> None:
        """Take shards and start deciding. Raise StoreError if the database is unreachable."""
        self._stops.append(await self._store.listen(messages.INBOX_WAKE, self._arrived))
        self._stops.append(await self._store.listen(members.MEMBERS_WAKE, self._members_changed))
        await self._share()
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Finish the decision that is being written, and release all shards."""
        self._closing = True
        self._woken.set()
        for stop in self._stops:
            stop()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=CLOSE_SECONDS)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._decider.refuse()
        with suppress(StoreError):  # others take them when the lease expires
            await self._shards.release()

    # What the bus offers

    def is_its_own(self, run_id: str) -> bool:
        """Return True if this executor owns the shard of the run, as far as it knows."""
        is_running = self._task is not None and not self._closing
        return is_running and shard_of(run_id) in self._shards.fences

    async def decide_on(self, messages: Sequence[RunMessage]) -> set[str]:
        """Decide on task results; return the ids of messages whose results were recorded.

        The tasks of these messages are marked as done.
        """
        if self._closing or self._membership.lost.is_set():
            return set()
        offered = self._decider.offer(messages)
        self._woken.set()
        return await offered

    def _arrived(self) -> None:
        self._decider.wake()
        self._woken.set()

    def _members_changed(self) -> None:
        self._is_share_due = True
        self._woken.set()

    async def _run(self) -> None:
        first, max_delay = _RETRY_SECONDS
        delay = first
        while not self._closing:
            self._woken.clear()
            try:
                is_busy = await self._round()
                delay = first
            except StoreError as error:
                log.warning("the executor tries again in %.1f seconds: %s", delay, error)
                # A database that comes back may have lost the last transactions: drop all states.
                self._decider.forget(frozenset(self._shards.fences))
                await self._wait(delay)
                delay = min(delay * 2, max_delay)
            except Exception:
                log.exception("the executor tries again in %.1f seconds", delay)
                await self._wait(delay)
                delay = min(delay * 2, max_delay)
            else:
                if not is_busy:
                    await self._wait(self._decider.pause)

    async def _round(self) -> bool:
        due = time.monotonic() - self._shared >= self._membership.lease / _SHARES
        if due or self._is_share_due:
            await self._share()
        if self._membership.lost.is_set():  # its fences may be void: every write would be refused
            self._decider.refuse()
            return False
        return await self._decider.decide()

    async def _share(self) -> None:
        self._is_share_due = False
        before = self._shards.fences
        lost = await self._shards.share()
        self._shared = time.monotonic()
        self.metrics.shards = len(self._shards.fences)
        if self._shards.fences != before:
            log.debug("the executor has shards %s", sorted(self._shards.fences))
            self._decider.forget(lost)

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
