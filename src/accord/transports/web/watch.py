"""Looks after what takes its time under an ASGI server, by one timer for all of it."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

EVERY_SECONDS: Final = 0.05
"""How often it looks. What is done sooner is never looked at."""


class Watched(Protocol):
    """Something that takes its time."""

    def look(self, now: float) -> None:
        """Called again and again while it is watched."""


class Watch:
    """All that one application is at."""

    def __init__(self) -> None:
        self._watched: set[Watched] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        """The one that the timer runs on, while there is one."""

    def add(self, each: Watched, loop: asyncio.AbstractEventLoop) -> None:
        self._watched.add(each)
        if self._loop is not loop:
            self._loop = loop
            loop.call_later(EVERY_SECONDS, self._look, loop)

    def discard(self, each: Watched) -> None:
        self._watched.discard(each)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is not loop:
            return
        now = loop.time()
        for each in tuple(self._watched):
            each.look(now)
        if self._watched:
            loop.call_later(EVERY_SECONDS, self._look, loop)
        else:
            self._loop = None
