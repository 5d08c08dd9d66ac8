"""The end of serving, as requests that stay open hear of it."""

from __future__ import annotations

import asyncio
from functools import partial


class Closing:
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
