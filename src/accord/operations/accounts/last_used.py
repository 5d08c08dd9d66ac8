"""When tokens and sessions were used last: noted at once, written in batches.

A note costs a request nothing but a look-up. Each token is written at most once a minute.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from accord.store.store import Store, StoreError, Transaction

log = logging.getLogger("accord.accounts")

EVERY_SECONDS: Final = 60.0
BATCH_SECONDS: Final = 2.0
MAX_NOTED: Final = 10_000


class LastUsed:
    """Writes last-used times of one process in batches.

    `statement` writes one: `$1` is the id, `$2` the time.
    """

    def __init__(self, store: Store, statement: str, *, lane: str, now: Callable[[], str]) -> None:
        self._store = store
        self._statement = statement
        self._lane = lane
        self._now = now
        self._noted: dict[str, float] = {}
        """Time of the last note of each id, by the clock of the loop, oldest first."""
        self._pending: dict[str, str] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    def note(self, id: str) -> None:
        """Note that something was used just now."""
        loop = asyncio.get_running_loop()
        time = loop.time()
        if time - self._noted.get(id, -EVERY_SECONDS) < EVERY_SECONDS:
            return
        # Re-insert the id at the end, so that the dictionary stays ordered by age and the first key
        # is the one to evict.
        self._noted.pop(id, None)
        self._noted[id] = time
        if len(self._noted) > MAX_NOTED:
            del self._noted[next(iter(self._noted))]
        if len(self._pending) < MAX_NOTED:
            self._pending[id] = self._now()
        if self._timer is None:
            self._timer = loop.call_later(BATCH_SECONDS, self._begin)

    async def flush(self) -> None:
        """Write all notes now, on request or at the end of the process."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._writing is not None:
            await self._writing
        await self._write()

    def _begin(self) -> None:
        self._timer = None
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())
            self._writing.add_done_callback(self._written)

    def _written(self, task: asyncio.Task[None]) -> None:
        self._writing = None
        if self._pending and self._timer is None and not task.cancelled():
            self._timer = task.get_loop().call_later(BATCH_SECONDS, self._begin)

    async def _write(self) -> None:
        pending, self._pending = self._pending, {}
        if not pending:
            return

        async def work(transaction: Transaction) -> None:
            for id, time in pending.items():
                await transaction.execute(self._statement, id, time)

        try:
            await self._store.transact(work, lane=self._lane)
        except StoreError as error:
            # No call fails because of this; the next use, a minute later, notes it again.
            log.warning("cannot write when %d tokens were used: %s", len(pending), error)
