"""Ends handlers that take too long: one timer for all of a loop, however many run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec import Struct

from accord.jsonrpc.alarm import Alarm

T = TypeVar("T")


class Deadlines:
    """The deadlines of what one server runs."""

    def __init__(self) -> None:
        self._watch: _Watch | None = None

    async def keep(
        self,
        work: Awaitable[T],
        seconds: float | None,
        late: Callable[[float], T],
        waits: Callable[[], bool] = lambda: False,
    ) -> T:
        """The result of `work`, or what `late` makes of a time that has run out. Work that waits
        for its client when its time is up gets it once more: people take their time."""
        if seconds is None:
            return await work
        task = asyncio.current_task()
        assert task is not None
        watch = self._watch_of(task.get_loop())
        running = watch.add(task, seconds, waits)
        try:
            return await work
        except asyncio.CancelledError:
            if running.rung and task.uncancel() == 0:
                return late(seconds)
            raise
        finally:
            watch.running.discard(running)

    def _watch_of(self, loop: asyncio.AbstractEventLoop) -> _Watch:
        watch = self._watch
        if watch is None or watch.loop is not loop:
            watch = self._watch = _Watch(loop)
        return watch


class _Running(Struct, eq=False):
    task: asyncio.Task[object]
    when: float
    seconds: float
    waits: Callable[[], bool]
    rung: bool = False


class _Watch:
    """What runs on one loop, and the alarm that rings for it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.running: set[_Running] = set()
        self._alarm = Alarm(loop, self._ring)

    def add(
        self, task: asyncio.Task[object], seconds: float, waits: Callable[[], bool]
    ) -> _Running:
        when = self.loop.time() + seconds
        running = _Running(task, when, seconds, waits)
        self.running.add(running)
        if when < self._alarm.when:
            self._alarm.set(when)
        return running

    def _ring(self) -> None:
        now = self.loop.time()
        for running in self.running:
            if running.when > now or running.rung:
                continue
            if running.waits():
                running.when = now + running.seconds
            else:
                running.rung = True
                running.task.cancel()
        waiting = [each.when for each in self.running if not each.rung]
        if waiting:
            self._alarm.set(min(waiting))
