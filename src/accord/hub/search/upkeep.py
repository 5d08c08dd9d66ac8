"""Keeps the index of SQLite in few pieces, so that searching stays quick.

Every write adds a piece to the index, and SQLite puts some together only where there are several of
one size; a search looks into each. So all of them are put together now and then, in steps that are
small enough for nobody's write to wait. PostgreSQL does the like by itself.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from accord.hub.storage import search
from accord.store.store import Store, StoreError, Transaction

log = logging.getLogger("accord.hub")

EVERY: Final = 3_600.0
"""Seconds between two runs; a merge rewrites the whole index."""
SOON: Final = 1.0
"""Seconds until the first run."""
BETWEEN: Final = 0.02
"""Seconds between two steps."""
MOST_PIECES: Final = 4
PAGES: Final = 100
"""Pages written in one step, about 10 ms of work."""


class IndexUpkeep:
    """A background task that merges index segments, from `start` to `close`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._store.engine == "sqlite":
            self._task = asyncio.create_task(self._run(), name="accord search index")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        seconds = SOON
        while True:
            await asyncio.sleep(seconds)
            seconds = EVERY
            try:
                await self.merge()
            except StoreError as error:
                log.warning("the search index could not be put together: %s", error)

    async def merge(self) -> None:
        """Merge all segments if there are many. Raises StoreError."""
        pieces = await search.count_segments(self._store)
        if pieces <= MOST_PIECES:
            return
        log.debug("the %d pieces of the search index are put together", pieces)
        pages = -PAGES
        while await self._step(pages):
            pages = PAGES
            await asyncio.sleep(BETWEEN)

    async def _step(self, pages: int) -> bool:
        """Merge some pages; return whether work is left."""

        async def work(transaction: Transaction) -> bool:
            return await search.merge(transaction, pages)

        return await self._store.transact(work)
