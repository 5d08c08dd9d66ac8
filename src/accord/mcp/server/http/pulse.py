"""What is done every few seconds, by one timer, while there is anything to do it for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol


class Beating(Protocol):
    """A stream that sends keep-alives."""

    def beat(self) -> None: ...


class Pulse:
    """Keep-alives for all open streams, and the sweep for old sessions."""

    def __init__(self, seconds: float, sweep: Callable[[], bool]) -> None:
        """Store `sweep`, which runs at every beat.

        It returns whether it needs to run again.
        """
        self._seconds = seconds
        self._sweep = sweep
        self._streams: set[Beating] = set()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def streams(self) -> int:
        return len(self._streams)

    def add(self, stream: Beating) -> None:
        self._streams.add(stream)
        self.start()

    def discard(self, stream: Beating) -> None:
        self._streams.discard(stream)

    def start(self) -> None:
        """Start the timer, because there are streams or sessions."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._seconds, self._beat)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _beat(self) -> None:
        self._timer = None
        for stream in tuple(self._streams):
            stream.beat()
        if self._sweep() or self._streams:
            self.start()
