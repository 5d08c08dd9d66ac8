"""Rows that requests are recognized by. On PostgreSQL they are looked up for many requests at once:
who comes while a read is under way waits for the next one, which begins after that. So a request
sees whatever was changed before it came, as if it had asked alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from accord.store.store import Engine, Row, Store, StoreError


class Lookups:
    """Batched look-ups by hash, with one statement for each engine.

    The rows have a column `hash`. Belongs to one event loop.
    """

    def __init__(self, store: Store, statements: Mapping[Engine, str]) -> None:
        self._store = store
        self._statement = statements[store.engine]
        self.are_quick = store.engine == "sqlite"
        """True if a read is synchronous, so that `find_now` can succeed."""
        self._waiting: dict[str, list[asyncio.Future[Row | None]]] = {}
        self._reading: asyncio.Task[None] | None = None

    async def find(self, hashed: str) -> Row | None:
        """Return the row with this hash.

        Raises StoreError.
        """
        if self.are_quick:
            rows = await self._store.fetch(self._statement, hashed)
            return rows[0] if rows else None
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Row | None] = loop.create_future()
        self._waiting.setdefault(hashed, []).append(found)
        if self._reading is None:
            self._reading = loop.create_task(self._read_all())
        return await found

    def find_now(self, hashed: str) -> Row | None:
        """Return the row with this hash if it can be read without waiting, or None.

        Raises StoreError.
        """
        rows = self._store.fetch_now(self._statement, hashed) if self.are_quick else None
        return rows[0] if rows else None

    async def _read_all(self) -> None:
        try:
            while self._waiting:
                # A request that arrives during this read must not be answered by it, or it could
                # miss a change made just before it arrived: it goes into the next batch.
                asked, self._waiting = self._waiting, {}
                await self._read(asked)
        finally:
            self._reading = None
            for futures in self._waiting.values():
                for future in futures:
                    future.cancel()

    async def _read(self, asked: Mapping[str, list[asyncio.Future[Row | None]]]) -> None:
        waiting = [(hashed, future) for hashed, some in asked.items() for future in some]
        try:
            rows = await self._store.fetch(self._statement, list(asked))
        except StoreError as error:
            for _, future in waiting:
                if not future.done():
                    future.set_exception(error)
            return
        except BaseException:
            for _, future in waiting:
                future.cancel()
            raise
        found = {row["hash"]: row for row in rows}
        for hashed, future in waiting:
            if not future.done():
                future.set_result(found.get(hashed))
