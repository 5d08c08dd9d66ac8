"""What became of tasks, on its way to the database: all that ends in one turn of the event loop,
and while the last was written, is written in one transaction. The more calls are under way, the
longer it is collected: what a transaction costs is shared by all that is in it. Successes that the
executor of the same process can decide on are written by it, with what follows from them.

While the database is away everything is kept, and written when it is back: no call is made again
because of that. What somebody else took meanwhile is refused by its fence, row by row.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from accord.store.store import Store, StoreError, Transaction, UnavailableError
from accord.workflows.bus.bus import Bus
from accord.workflows.storage.dead_letters import DeadLetter, keep_letter
from accord.workflows.storage.inbox import Message
from accord.workflows.storage.task_rows import Change, TaskRows
from accord.workflows.storage.tasks import WAKE

log = logging.getLogger("accord.bridge")

MAX_TOGETHER: Final = 500
AGAIN_SECONDS: Final = (0.1, 5.0)
"""How long to wait for a database that is away, at first and at most."""
PACE_SECONDS: Final = 0.0001
"""For each call that is under way, from one transaction to the next,"""
LONGEST_PACE: Final = 0.03
"""but no longer than this."""
_LOOK_SECONDS: Final = 0.002


class Ending(Struct, eq=False):
    """What is to be written of one task; `written` says in the end whether it was, which it is not
    where somebody else has the task. It has a StoreError for what the database will never take."""

    change: Change
    written: asyncio.Future[bool]
    message: Message | None = None
    letter: DeadLetter | None = None


class Endings:
    """Writes for one member; `calls` says how many are under way. Belongs to one event loop."""

    def __init__(
        self, store: Store, rows: TaskRows, bus: Bus, owner: str, calls: Callable[[], int]
    ) -> None:
        self._store = store
        self._rows = rows
        self._bus = bus
        self._owner = owner
        self._calls = calls
        self._began = 0.0
        """When the last transaction did."""
        self._waiting: deque[Ending] = deque()
        self._writing: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()

    def add(
        self, change: Change, message: Message | None = None, letter: DeadLetter | None = None
    ) -> asyncio.Future[bool]:
        """Have something written, at once or as soon as the database is there: await what this
        gives to know whether it was."""
        ending = Ending(change, self._loop.create_future(), message, letter)
        self._waiting.append(ending)
        if self._writing is None:
            self._writing = self._loop.create_task(self._write_all())
        return ending.written

    async def close(self, patience: float) -> None:
        """Write what waits, within `patience` seconds."""
        if self._writing is not None:
            await asyncio.wait((self._writing,), timeout=patience)
        if self._writing is not None:
            log.error("%d tasks ended that could not be written", len(self._waiting))
            self._writing.cancel()
            await asyncio.wait((self._writing,))

    async def _write_all(self) -> None:
        pause, longest = AGAIN_SECONDS
        try:
            while self._waiting:
                await self._collect()
                try:
                    await self._write(await self._offer(self._next()))
                    pause = AGAIN_SECONDS[0]
                except UnavailableError as error:
                    log.warning("the ends of %d tasks wait: %s", len(self._waiting), error)
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, longest)
        finally:
            self._writing = None
            for ending in self._waiting:
                ending.written.cancel()

    async def _collect(self) -> None:
        await asyncio.sleep(0)  # what else ends in this turn goes along
        while len(self._waiting) < MAX_TOGETHER:
            pace = min(self._calls() * PACE_SECONDS, LONGEST_PACE)
            left = self._began + pace - self._loop.time()
            if left <= 0:
                break
            await asyncio.sleep(min(left, _LOOK_SECONDS))
        self._began = self._loop.time()

    def _next(self) -> list[Ending]:
        """The first of those that wait, each for another task: a statement changes a row once."""
        batch: dict[str, Ending] = {}
        for ending in self._waiting:
            if len(batch) == MAX_TOGETHER or ending.change.id in batch:
                break
            batch[ending.change.id] = ending
        return list(batch.values())

    async def _offer(self, batch: list[Ending]) -> list[Ending]:
        """Those that are left, where the bus has recorded others."""
        successes = [each.message for each in batch if each.change.outcome == "success"]
        recorded = await self._bus.offer([each for each in successes if each is not None])
        if not recorded:
            return batch
        left: list[Ending] = []
        for ending in batch:
            self._waiting.popleft()
            if ending.message is None or ending.message.id not in recorded:
                left.append(ending)
            elif not ending.written.done():
                ending.written.set_result(True)
        self._waiting.extendleft(reversed(left))
        return left

    async def _write(self, batch: list[Ending]) -> None:
        """Write a batch and take it off the queue. Raises UnavailableError."""
        if not batch:
            return
        try:
            done = await self._commit(batch)
        except UnavailableError:
            raise
        except StoreError as error:
            if len(batch) > 1:  # one of them is at fault, and must not take the others along
                for ending in batch:
                    await self._write([ending])
                return
            log.exception("the end of task %s cannot be written", batch[0].change.id)
            if not self._waiting.popleft().written.done():
                batch[0].written.set_exception(error)
            return
        for ending in batch:
            self._waiting.popleft()
            if not ending.written.done():
                ending.written.set_result(ending.change.id in done)

    async def _commit(self, batch: Sequence[Ending]) -> set[str]:
        """The ids of those whose rows were theirs to change."""
        work = partial(self._run, batch)
        return await self._store.transact(work, lane=f"bridge-{self._owner}")

    async def _run(self, batch: Sequence[Ending], db: Transaction) -> set[str]:
        changes = sorted((each.change for each in batch), key=_id)
        done = await self._rows.change(db, changes)
        kept = [each for each in batch if each.change.id in done]
        messages = [each.message for each in kept if each.message is not None]
        if messages:
            await self._bus.answer(db, messages)
        for each in kept:
            if each.letter is not None:
                await keep_letter(db, each.letter)
        if any(each.change.state == "ready" for each in kept):
            await db.notify(WAKE)
        return done


def _id(change: Change) -> str:
    return change.id
