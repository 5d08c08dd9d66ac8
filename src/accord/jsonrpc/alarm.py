"""One timer for many deadlines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from typing import Final

SWEEP_SECONDS: Final = 0.01
"""Minimum time between two checks of the deadlines: at most a hundred a second."""


class Alarm:
    """A timer that fires once, at the earliest of the times it was set to."""

    __slots__ = ("_loop", "_ring", "_timer", "when")

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop = loop
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None
        self.when = inf
        """The time of the next firing. `set` only ever moves it earlier."""

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
