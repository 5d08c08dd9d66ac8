"""A cache of page data that is costly and the same for all users.

A write, in this process or in another one, clears it. Entries also expire, because changes that
runs make are not announced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, Final, TypeVar

T = TypeVar("T")

CACHE_SECONDS: Final = 15.0
MAX_ENTRIES: Final = 100


class PageCache:
    """Results by name."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, Any]] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._writes = 0

    def forget(self) -> None:
        """Something was changed."""
        self._kept.clear()
        self._writes += 1

    async def get(self, name: str, find: Callable[[], Awaitable[T]]) -> T:
        """What `find` gives, or gave not long ago. Raises what it raises; who asks for the same
        meanwhile waits for it."""
        lock = self._locks.setdefault(name, asyncio.Lock())
        async with lock:
            kept = self._kept.get(name)
            if kept is not None and kept[0] > monotonic():
                result: T = kept[1]
                return result
            writes = self._writes
            found = await find()
            if writes == self._writes:  # else it may be older than a change
                self._make_room()
                self._kept[name] = (monotonic() + CACHE_SECONDS, found)
            return found

    def _make_room(self) -> None:
        if len(self._kept) >= MAX_ENTRIES:
            self._kept.clear()
        if len(self._locks) >= 2 * MAX_ENTRIES:
            self._locks = {name: lock for name, lock in self._locks.items() if lock.locked()}
