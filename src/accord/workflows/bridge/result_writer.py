"""Batched writes of task results.

All results of one turn of the event loop, and those that come while the last batch is written, go
into one transaction. With more calls under way results are collected for longer, because the cost
of a transaction is shared by everything in it. Successes that the executor of the same process can
decide on are written by it, along with what follows from them.

While the database is away, results stay in memory and are written when it is back: no call is
repeated because of that. A write for a task that another worker took meanwhile is refused by its
fence, row by row.

A success that was sent by the bus stays here until its row says that it is recorded, because the
message may be lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from accord.store.store import Store, StoreError, StoreUnavailableError, Transaction
from accord.workflows.bus.bus import Bus
from accord.workflows.storage.messages import NewDeadLetter, RunMessage, insert_dead_letter
from accord.workflows.storage.tasks import WAKE, TaskChange, TaskRows

MAX_UNRECORDED: Final = 20_000
MAX_UNRECORDED_CHARACTERS: Final = 32 * 1_048_576
"""Characters of successes sent by the bus alone; further ones go through the database."""
REWRITE_SECONDS: Final = 60.0
"""Seconds after which the worker itself writes a success that is not recorded."""


class UnrecordedSuccess(Struct, eq=False):
    """A success sent by the bus, and the new state of the task's row."""

    change: TaskChange
    message: RunMessage
    size: int
    sent_at: float
    is_sent: bool = False
    """True once the bus has accepted it."""


class UnrecordedSuccesses:
    """Successes that are not known to be recorded, by the id of their task."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._answers: dict[str, UnrecordedSuccess] = {}
        self._size = 0

    def __contains__(self, id: str) -> bool:
        return id in self._answers

    @property
    def has_room(self) -> bool:
        return len(self._answers) < MAX_UNRECORDED and self._size < MAX_UNRECORDED_CHARACTERS

    @property
    def ids(self) -> list[str]:
        """The ids of successes that the bus has accepted."""
        return [id for id, answer in self._answers.items() if answer.is_sent]

    def add(self, change: TaskChange, message: RunMessage, size: int) -> None:
        self._answers[change.id] = UnrecordedSuccess(change, message, size, self._clock())
        self._size += size

    def mark_sent(self, id: str) -> None:
        """Note that the bus has accepted a success."""
        if id in self._answers:
            self._answers[id].is_sent = True

    def take(self, id: str) -> UnrecordedSuccess | None:
        found = self._answers.pop(id, None)
        if found is not None:
            self._size -= found.size
        return found

    def overdue(self, ids: Collection[str]) -> Iterator[UnrecordedSuccess]:
        """Yield those that were sent too long ago, and restart their clock."""
        now = self._clock()
        for id in ids:
            answer = self._answers.get(id)
            if answer is not None and answer.sent_at < now - REWRITE_SECONDS:
                answer.sent_at = now
                yield answer

    def all(self) -> list[UnrecordedSuccess]:
        return list(self._answers.values())


log = logging.getLogger("accord.bridge")

MAX_BATCH: Final = 500
RETRY_SECONDS: Final = (0.1, 5.0)
"""The shortest and the longest delay between tries while the database is away."""
DELAY_PER_CALL_SECONDS: Final = 0.0001
"""Delay between two transactions for each call that is under way."""
MAX_DELAY_SECONDS: Final = 0.03
"""The longest delay between two transactions."""
_CHECK_SECONDS: Final = 0.002


class ResultWrite(Struct, eq=False):
    """A pending write of one task's result.

    `written` becomes False if another worker has the task, and gets a StoreError for a result that
    the database will never take.
    """

    change: TaskChange
    written: asyncio.Future[bool]
    message: RunMessage | None = None
    letter: NewDeadLetter | None = None


class ResultWriter:
    """A writer of results for one member. Belongs to one event loop.

    `calls` returns how many calls are under way.
    """

    def __init__(
        self, store: Store, rows: TaskRows, bus: Bus, owner: str, calls: Callable[[], int]
    ) -> None:
        self._store = store
        self._rows = rows
        self._bus = bus
        self._owner = owner
        self._calls = calls
        self._began = 0.0
        """The time when the last transaction began."""
        self._waiting: deque[ResultWrite] = deque()
        self._writing: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()

    def add(
        self,
        change: TaskChange,
        message: RunMessage | None = None,
        letter: NewDeadLetter | None = None,
    ) -> asyncio.Future[bool]:
        """Write a result, now or when the database is back; await the future to know if it was."""
        ending = ResultWrite(change, self._loop.create_future(), message, letter)
        self._waiting.append(ending)
        if self._writing is None:
            self._writing = self._loop.create_task(self._write_all())
        return ending.written

    async def close(self, timeout: float) -> None:
        """Write the waiting results, within `timeout` seconds."""
        if self._writing is not None:
            await asyncio.wait((self._writing,), timeout=timeout)
        if self._writing is not None:
            log.error("%d tasks ended that could not be written", len(self._waiting))
            self._writing.cancel()
            await asyncio.wait((self._writing,))

    async def _write_all(self) -> None:
        pause, max_pause = RETRY_SECONDS
        try:
            while self._waiting:
                await self._collect()
                try:
                    await self._write(await self._offer(self._next()))
                    pause = RETRY_SECONDS[0]
                except StoreUnavailableError as error:
                    log.warning("the ends of %d tasks wait: %s", len(self._waiting), error)
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, max_pause)
        finally:
            self._writing = None
            for ending in self._waiting:
                ending.written.cancel()

    async def _collect(self) -> None:
        await asyncio.sleep(0)  # collect the other results of this turn of the event loop
        while len(self._waiting) < MAX_BATCH:
            pace = min(self._calls() * DELAY_PER_CALL_SECONDS, MAX_DELAY_SECONDS)
            left = self._began + pace - self._loop.time()
            if left <= 0:
                break
            await asyncio.sleep(min(left, _CHECK_SECONDS))
        self._began = self._loop.time()

    def _next(self) -> list[ResultWrite]:
        """Return the next batch, with one result for each task: a statement changes a row once."""
        batch: dict[str, ResultWrite] = {}
        for ending in self._waiting:
            if len(batch) == MAX_BATCH or ending.change.id in batch:
                break
            batch[ending.change.id] = ending
        return list(batch.values())

    async def _offer(self, batch: list[ResultWrite]) -> list[ResultWrite]:
        """Offer successes to the bus; return the results that it has not recorded."""
        successes = [each.message for each in batch if each.change.outcome == "success"]
        recorded = await self._bus.offer([each for each in successes if each is not None])
        if not recorded:
            return batch
        left: list[ResultWrite] = []
        for ending in batch:
            self._waiting.popleft()
            if ending.message is None or ending.message.id not in recorded:
                left.append(ending)
            elif not ending.written.done():
                ending.written.set_result(True)
        self._waiting.extendleft(reversed(left))
        return left

    async def _write(self, batch: list[ResultWrite]) -> None:
        """Write a batch and remove it from the queue. Raise StoreUnavailableError."""
        if not batch:
            return
        try:
            done = await self._commit(batch)
        except StoreUnavailableError:
            raise
        except StoreError as error:
            if len(batch) > 1:  # one of them is at fault: write each alone, so the rest is stored
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

    async def _commit(self, batch: Sequence[ResultWrite]) -> set[str]:
        """Return the ids of the tasks whose rows were still owned here."""
        work = partial(self._run, batch)
        return await self._store.transact(work, lane=f"bridge-{self._owner}")

    async def _run(self, batch: Sequence[ResultWrite], db: Transaction) -> set[str]:
        changes = sorted((each.change for each in batch), key=_task_id)
        done = await self._rows.change(db, changes)
        kept = [each for each in batch if each.change.id in done]
        messages = [each.message for each in kept if each.message is not None]
        if messages:
            await self._bus.answer(db, messages)
        for each in kept:
            if each.letter is not None:
                await insert_dead_letter(db, each.letter)
        if any(each.change.state == "ready" for each in kept):
            await db.notify(WAKE)
        return done


def _task_id(change: TaskChange) -> str:
    return change.id
