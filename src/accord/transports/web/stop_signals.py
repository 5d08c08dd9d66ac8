"""Close applications before uvicorn stops.

Web frameworks tell a mounted application nothing of a server's end. On SIGINT its tasks are at
least cancelled with the event loop, but after SIGTERM uvicorn raises the signal again, which ends
the process at once. Its graceful end also waits for every open response, hence forever for a
stream that only ends with its application. So the applications are closed first, then uvicorn
gets the signal.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any, Final, TypeAlias

log = logging.getLogger("accord.transports.web")

Close: TypeAlias = Callable[[], Awaitable[None]]

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

_current: StopSignals | None = None
"""The handlers in place. Signals belong to the main thread, and its loops run one at a time."""


def close_before_stop(close: Close) -> None:
    """Have `close` awaited when the uvicorn server that runs here is stopped by a signal.

    Do nothing under other servers: those that were tried end mounted applications themselves.
    """
    global _current
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    if _current is None or _current.loop is not loop:
        _current = StopSignals(loop)
        _current.install()
    _current.add(close)


class StopSignals:
    """Signal handlers in front of those of a uvicorn server."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._servers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        """The handlers of the server, by signal."""
        self._closes: list[Close] = []
        self._closing: asyncio.Task[None] | None = None
        self._told = False

    def install(self) -> None:
        for number in SIGNALS:
            handler = signal.getsignal(number)
            # uvicorn's handlers are methods of the server, which has this flag; when it ends, it
            # puts back what was there before them.
            if callable(handler) and hasattr(getattr(handler, "__self__", None), "should_exit"):
                self._servers[number] = handler
                signal.signal(number, self._handle)

    def add(self, close: Close) -> None:
        self._closes.append(close)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._told or not self.loop.is_running():  # whoever asks twice does not want to wait
            self._servers[number](number, frame)
            return
        self._told = True
        self.loop.call_soon_threadsafe(self._begin, number)

    def _begin(self, number: int) -> None:
        self._closing = self.loop.create_task(self._close(number))

    async def _close(self, number: int) -> None:
        try:
            closes = (close() for close in self._closes)
            for error in await asyncio.gather(*closes, return_exceptions=True):
                if isinstance(error, BaseException):
                    log.error("an application could not be closed", exc_info=error)
        finally:
            self._servers[number](number, None)
