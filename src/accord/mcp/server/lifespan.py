"""What lives as long as a server is served: started before the first request, ended after the
last, once, however many transports serve it at the same time.

It is entered and left in one task of its own, so that whatever insists on that, as cancel
scopes do, can be used in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

MakeLifespan: TypeAlias = Callable[[], AbstractAsyncContextManager[Any]]


class Lifespan:
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
                self._ready.exception()  # whoever waits has it; nobody else needs to hear of it
            raise
        finally:
            self.value = None
