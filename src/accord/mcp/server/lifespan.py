"""The lifespan of a server, and the signal that it closes.

The lifespan is entered before the first request and left after the last, once, however many
transports serve the server at the same time. It runs in one task of its own, so that what must be
left by the task that entered it, such as a cancel scope, may live there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, TypeAlias


class ShutdownSignal:
    """A signal to requests that stay open until the server closes.

    It is not bound to an event loop and can be set repeatedly: a server may be served again.
    """

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    async def wait(self) -> None:
        """Return when the server closes."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            await waiting
        finally:
            self._waiting.discard(waiting)

    def set(self) -> None:
        """Wake all waiting tasks, because the server closes."""
        for waiting in tuple(self._waiting):
            if not waiting.get_loop().is_closed():
                waiting.get_loop().call_soon_threadsafe(partial(_wake, waiting))


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


MakeLifespan: TypeAlias = Callable[[], AbstractAsyncContextManager[Any]]


class ServerLifespan:
    """A context manager that runs once while it has users."""

    def __init__(self, make: MakeLifespan) -> None:
        self._make = make
        self._run: _Run | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Any]:
        """Use the lifespan.

        Raises the exceptions of entering it.
        """
        run = self._run
        if run is None or run.is_ending or run.loop is not asyncio.get_running_loop():
            run = self._run = _Run(self._make)
        run.users += 1
        try:
            await run.ready()
            yield run.value
        finally:
            run.users -= 1
            if not run.users:
                await run.end()
                if self._run is run:
                    self._run = None


class _Run:
    """One run, from start to end."""

    def __init__(self, make: MakeLifespan) -> None:
        self.users = 0
        self.value: Any = None
        self.is_ending = False
        self.loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = self.loop.create_future()
        self._stop = asyncio.Event()
        self._task = self.loop.create_task(self._live(make))

    async def ready(self) -> None:
        await asyncio.shield(self._ready)

    async def end(self) -> None:
        """Leave the context manager and wait for it.

        Raises the exceptions of leaving it.
        """
        self.is_ending = True
        self._stop.set()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.shield(self._finished())

    async def _finished(self) -> None:
        await asyncio.wait([self._task])
        error = None if self._task.cancelled() else self._task.exception()
        if error is not None and error is not self._ready.exception():
            raise error

    async def _live(self, make: MakeLifespan) -> None:
        try:
            async with make() as value:
                self.value = value
                self._ready.set_result(None)
                await self._stop.wait()
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(error)
                self._ready.exception()  # waiters have it; asyncio need not log it
            raise
        finally:
            self.value = None
