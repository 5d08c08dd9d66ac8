"""A bounded pool of threads for blocking handlers, and one timer for many deadlines."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from math import inf
from typing import Any, Final

from accord.jsonrpc.protocol.errors import own_error

DEFAULT_THREADS: Final = 16
DEFAULT_QUEUED: Final = 1_000

_Job = tuple[
    Callable[[], Any], contextvars.Context, asyncio.AbstractEventLoop, "asyncio.Future[Any]"
]


class ThreadPool:
    """A pool of at most `threads` threads, with a queue of at most `queued` jobs.

    Further jobs are refused as busy. Threads are started when needed and then kept. One pool may
    serve several event loops.
    """

    def __init__(self, *, threads: int = DEFAULT_THREADS, queued: int = DEFAULT_QUEUED) -> None:
        self._most_threads = threads
        self._most_queued = queued
        self._jobs: deque[_Job] = deque()
        self._wake = threading.Condition()
        self._threads = 0
        self._idle = 0

    @property
    def waiting(self) -> int:
        """Number of jobs that wait for a thread."""
        return len(self._jobs)

    def submit(self, job: Callable[[], Any]) -> asyncio.Future[Any]:
        """Run `job` in a thread; return a future of the running event loop.

        Raises `BusyError` if the queue is full.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        with self._wake:
            if len(self._jobs) >= self._most_queued:
                raise own_error(
                    "busy",
                    f"{self._threads} threads are busy and {self._most_queued:,} calls wait",
                    limit=self._most_queued,
                )
            self._jobs.append((job, contextvars.copy_context(), loop, future))
            if len(self._jobs) > self._idle and self._threads < self._most_threads:
                self._threads += 1
                threading.Thread(target=self._work, name="accord-handler", daemon=True).start()
            else:
                self._wake.notify()
        return future

    def _work(self) -> None:
        while True:
            with self._wake:
                self._idle += 1
                while not self._jobs:
                    self._wake.wait()
                self._idle -= 1
                job, context, loop, future = self._jobs.popleft()
            if not future.cancelled():
                _run(job, context, loop, future)
            # Whatever the job held must not live until the next one comes.
            del job, context, loop, future


def _run(
    job: Callable[[], Any],
    context: contextvars.Context,
    loop: asyncio.AbstractEventLoop,
    future: asyncio.Future[Any],
) -> None:
    result, error = None, None
    try:
        result = context.run(job)
    except BaseException as raised:  # noqa: BLE001 - nothing may end the thread, nor be lost
        # A StopIteration cannot be set on a future; nor may a handler's exit end the thread.
        error = (
            raised if isinstance(raised, Exception) else RuntimeError(f"handler raised {raised!r}")
        )
        if isinstance(raised, StopIteration):
            error = RuntimeError("handler raised StopIteration")
            error.__cause__ = raised
    try:
        loop.call_soon_threadsafe(_settle, future, result, error)
    except RuntimeError:
        pass  # the loop was closed meanwhile: nobody is left to tell


def _settle(future: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


_shared: ThreadPool | None = None


def shared_pool() -> ThreadPool:
    """Return the pool that serves every router in this process unless another is given."""
    global _shared
    if _shared is None:
        _shared = ThreadPool()
    return _shared


SWEEP_SECONDS: Final = 0.01
"""Minimum time in seconds between two checks of the deadlines."""


class DeadlineTimer:
    """A timer that fires once, at the earliest of the times passed to `set`."""

    __slots__ = ("_loop", "_ring", "_timer", "when")

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop = loop
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None
        self.when = inf
        """The time of the next firing, infinite if there is none. `set` can only move it
        earlier."""

    def set(self, when: float) -> None:
        if when >= self.when:
            return
        if self._timer is not None:
            self._timer.cancel()
        self.when = when
        self._timer = self._loop.call_at(when, self._fire)

    def clear(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self.when = inf

    def _fire(self) -> None:
        self._timer = None
        self.when = inf
        self._ring()
