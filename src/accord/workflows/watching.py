"""Follows the events of runs, with one listener and one query for all followers in a process.

A new follower first reads the events it missed from the table. From then on it gets new events,
which are read once for all followers of a run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Final, TypeAlias

from accord.store.store import ReadTransaction, Store, StoreError
from accord.workflows.core.events import Event
from accord.workflows.core.state import FINAL
from accord.workflows.storage.history import (
    HISTORY_WAKE,
    UnreadEvent,
    last_number,
    read_progress,
    read_recorded,
)

log = logging.getLogger("accord.workflows")

POLL: Final = 1.0
"""The polling interval in seconds, in case a notification is lost."""
GATHER_SECONDS: Final = 0.01
"""How many seconds notifications are collected before the next query."""
MAX_WAITING: Final = 200
"""The maximum number of callers that wait for ends of runs; for others `wait` returns at once."""
LAST_PLACE: Final = 2**31 - 1
"""A number that is greater than the number of every event."""
QUIET: Final = 15.0
"""The number of seconds without new events after which `follow` yields an empty list."""

NumberedEvent: TypeAlias = tuple[int, Event | UnreadEvent]


class _Follower:
    """A follower of one run, with the events that it has not yielded yet."""

    def __init__(self) -> None:
        self.unread: list[NumberedEvent] = []
        self.ended = False
        self.woken = asyncio.Event()


class _WatchedRun:
    """A run with followers; `tail` is the number of the last event read, at first None."""

    def __init__(self) -> None:
        self.tail: int | None = None
        self.followers: set[_Follower] = set()


class RunWatch:
    """A reader of new events of all followed runs in one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._followed: dict[str, _WatchedRun] = {}
        self._waiting = 0
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def follow(
        self, run_id: str, after: int = 0
    ) -> AsyncGenerator[Sequence[NumberedEvent], None]:
        """Yield lists of events of a run after number `after`, until the run has ended.

        After some seconds without events, an empty list is yielded. A run that does not exist
        counts as ended.
        """
        follower = _Follower()
        followed = self._followed.setdefault(run_id, _WatchedRun())
        followed.followers.add(follower)
        try:
            place = after
            tail, missed = await self._read(run_id, after)
            if followed.tail is None:
                followed.tail = tail
            self._begin()
            while True:
                # Events between the first read and the first look are in both lists.
                numbered = dict(sorted((*missed, *follower.unread), key=_number))
                new_events = [each for each in numbered.items() if each[0] > place]
                ended, missed = follower.ended, []
                follower.unread.clear()
                follower.woken.clear()
                if new_events:
                    place = new_events[-1][0]
                    yield new_events
                elif not ended:
                    yield ()
                if ended:
                    return
                await _wait(follower.woken, QUIET)
        finally:
            followed.followers.discard(follower)
            if not followed.followers and self._followed.get(run_id) is followed:
                del self._followed[run_id]

    async def last(self, run_id: str) -> int:
        """Return the number of the last event of a run; 0 if it has none."""
        return await last_number(self._store, run_id)

    async def wait(self, run_id: str, seconds: float | None) -> None:
        """Wait until a run has ended, but at most `seconds`.

        Return at once if `MAX_WAITING` callers are waiting already.
        """
        if self._waiting >= MAX_WAITING:
            return
        self._waiting += 1
        try:
            async with (
                asyncio.timeout(seconds),
                aclosing(self.follow(run_id, LAST_PLACE)) as following,
            ):
                async for _ in following:
                    pass
        except TimeoutError:
            pass
        finally:
            self._waiting -= 1

    async def close(self) -> None:
        """Stop reading events."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _begin(self) -> None:
        self._woken.set()
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        stop: Callable[[], None] | None = None
        try:
            while self._followed:
                self._woken.clear()
                try:
                    stop = stop or await self._store.listen(HISTORY_WAKE, self._woken.set)
                    await self._look()
                except StoreError as error:
                    log.warning("runs cannot be followed at the moment: %s", error)
                await _wait(self._woken, POLL)
                await asyncio.sleep(GATHER_SECONDS)
        finally:
            if stop is not None:
                stop()

    async def _look(self) -> None:
        ids = list(self._followed)
        progress = await read_progress(self._store, self._store.engine, ids)
        for id in ids:
            status, applied = progress.get(id, ("cancelled", 0))
            followed = self._followed.get(id)
            if followed is None or followed.tail is None:
                continue
            new_events: list[NumberedEvent] = []
            if applied > followed.tail:
                followed.tail, new_events = await self._read(id, followed.tail)
            for follower in followed.followers:
                follower.unread += new_events
                if status in FINAL:
                    follower.ended = True
                if new_events or follower.ended:
                    follower.woken.set()

    async def _read(self, run_id: str, after: int) -> tuple[int, list[NumberedEvent]]:
        return await self._store.read(lambda db: _read(db, run_id, after))


def _number(each: NumberedEvent) -> int:
    return each[0]


async def _read(db: ReadTransaction, run_id: str, after: int) -> tuple[int, list[NumberedEvent]]:
    """Return the number of a run's last event, and the events after number `after`."""
    last = await last_number(db, run_id)
    events = await read_recorded(db, run_id, after)
    return events[-1][0] if events else last, events


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
