"""Deadlines of handlers, with one timer per event loop, however many run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from threading import get_ident
from typing import Any, TypeVar

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
        waits: Callable[[], bool],
    ) -> T:
        """Return the result of `work`, or of `late` after a timeout.

        Work that waits for its client when the time is up gets the same time again, because people
        are slow.
        """
        if seconds is None:
            return await work
        deadline = self.begin(seconds, waits)
        try:
            return await work
        except asyncio.CancelledError:
            if deadline.has_passed():
                return late(seconds)
            raise
        finally:
            deadline.end()

    def begin(self, seconds: float, waits: Callable[[], bool]) -> Deadline:
        """Cancel the current task after `seconds`, unless the deadline ends before."""
        watch = self._watch
        # Which loop runs is dear to ask: the one that a task of this thread runs on does.
        task = None
        if watch is not None and watch.thread == get_ident():
            task = asyncio.current_task(watch.loop)
        if watch is None or task is None:
            watch = self._watch = _Watch(asyncio.get_running_loop())
            task = asyncio.current_task(watch.loop)
            assert task is not None
        when = watch.time() + seconds
        deadline = Deadline(task, when, seconds, waits, watch.running)
        watch.running.add(deadline)
        if when < watch.alarm.when:
            watch.alarm.set(when)
        return deadline


class Deadline(Struct, eq=False):
    """The deadline of one task."""

    task: asyncio.Task[Any]
    when: float
    seconds: float
    waits: Callable[[], bool]
    _among: set[Deadline]
    rung: bool = False

    def has_passed(self) -> bool:
        """Return whether this deadline alone has cancelled the task.

        If so, the task is uncancelled.
        """
        return self.rung and self.task.uncancel() == 0

    def end(self) -> None:
        self._among.discard(self)


class _Watch:
    """The tasks with deadlines on one event loop, and the alarm that they share."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.thread = get_ident()
        self.time = loop.time
        self.running: set[Deadline] = set()
        self.alarm = Alarm(loop, self._ring)

    def _ring(self) -> None:
        now = self.time()
        for each in self.running:
            if each.when > now or each.rung:
                continue
            if each.waits():
                each.when = now + each.seconds
            else:
                each.rung = True
                each.task.cancel()
        waiting = [each.when for each in self.running if not each.rung]
        if waiting:
            self.alarm.set(min(waiting))


def never() -> bool:
    """Return False, for work that never waits for its client."""
    return False
