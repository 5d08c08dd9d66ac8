"""Writes task results in batches.

All results of one turn of the event loop, and those that arrive while the previous batch is being
written, share one transaction. The more calls are running, the longer results are collected, to
spread the cost of a transaction over more results. If the executor of the same process can decide
on a success, the executor writes the result together with its decision.

While the database is unavailable, results stay in memory and are written later, so no call has to
be repeated. If another worker has taken over a task, the task's fence makes this write fail for
that task alone.

A success that was sent through the bus is kept here until the task's row shows that it was
recorded, because the message may be lost.
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
"""The maximum size of unrecorded successes in memory.

Above it, new successes are written to the database instead of being sent through the bus.
"""
REWRITE_SECONDS: Final = 60.0
"""How long the worker waits for a sent success to be recorded before writing it itself."""


class UnrecordedSuccess(Struct, eq=False):
    """A success sent through the bus, with the change of the task's row that it implies."""

    change: TaskChange
    message: RunMessage
    size: int
    sent_at: float
    is_sent: bool = False
    """True once the bus has accepted the success."""


class UnrecordedSuccesses:
    """Successes sent through the bus that may not be recorded yet, by task id."""

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
        """The task ids of successes that the bus has accepted."""
        return [id for id, answer in self._answers.items() if answer.is_sent]

    def add(self, change: TaskChange, message: RunMessage, size: int) -> None:
        self._answers[change.id] = UnrecordedSuccess(change, message, size, self._clock())
        self._size += size

    def mark_sent(self, id: str) -> None:
        """Mark the success of a task as accepted by the bus."""
        if id in self._answers:
            self._answers[id].is_sent = True

    def take(self, id: str) -> UnrecordedSuccess | None:
        found = self._answers.pop(id, None)
        if found is not None:
            self._size -= found.size
        return found

    def overdue(self, ids: Collection[str]) -> Iterator[UnrecordedSuccess]:
        """Yield the successes of tasks `ids` sent more than `REWRITE_SECONDS` ago.

        The time starts again for each of them, so that the next call does not yield it again.
        """
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
"""The shortest and the longest delay between retries while the database is unavailable."""
DELAY_PER_CALL_SECONDS: Final = 0.0001
"""The interval between two transactions, per running call."""
MAX_DELAY_SECONDS: Final = 0.03
"""The maximum interval between two transactions."""
_CHECK_SECONDS: Final = 0.002


class ResultWrite(Struct, eq=False):
    """A queued write of one task's result.

    The future `written` gets True when the result is written, False if another worker owns the
    task, or a StoreError if the database rejects the result.
    """

    change: TaskChange
    written: asyncio.Future[bool]
    message: RunMessage | None = None
    letter: NewDeadLetter | None = None


class ResultWriter:
    """A writer of task results for one worker. Belongs to one event loop.

    `calls` returns the number of running calls.
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
        """The start time of the latest transaction."""
        self._waiting: deque[ResultWrite] = deque()
        self._writing: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()

    def add(
        self,
        change: TaskChange,
        message: RunMessage | None = None,
        letter: NewDeadLetter | None = None,
    ) -> asyncio.Future[bool]:
        """Queue a result; the returned future becomes True when it is written.

        It becomes False if another worker owns the task. While the database is unavailable, the
        result stays in the queue.
        """
        ending = ResultWrite(change, self._loop.create_future(), message, letter)
        self._waiting.append(ending)
        if self._writing is None:
            self._writing = self._loop.create_task(self._write_all())
        return ending.written

    async def close(self, timeout: float) -> None:
        """Write the queued results; give up after `timeout` seconds."""
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
        """Return the next batch, with one result per task, as a statement updates each row once."""
        batch: dict[str, ResultWrite] = {}
        for ending in self._waiting:
            if len(batch) == MAX_BATCH or ending.change.id in batch:
                break
            batch[ending.change.id] = ending
        return list(batch.values())

    async def _offer(self, batch: list[ResultWrite]) -> list[ResultWrite]:
        """Offer the successes of a batch to the executor of this process, if there is one.

        Remove the successes that it recorded from the queue; return the other results.
        """
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
        """Write a batch and remove it from the queue. Raise StoreUnavailableError to retry it."""
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
        """Write a batch in one transaction; return the ids of tasks that this worker owned."""
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
