"""Buses, which carry tasks to bridges and results to executors.

Everything is handed over inside the transaction that it follows from, so both are committed or
neither is. Messages may arrive twice, and in another order.

When bus, worker and executor share a process, tasks go straight to the worker and results to the
executor, instead of being polled from the database. The tables say the same as without that
shortcut, so others take over when the process is gone. `EmbeddedBus` consists of the shared tables
alone; `accord.workflows.bus.kafka` adds a broker.

BusError
├── TopicError        topics are not as they must be; the message names them and what to do
├── EnvelopeError     a message cannot be understood
└── ReplayError       a dead letter cannot be published again
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol

from msgspec import Struct

from accord.store.store import Row, Transaction
from accord.workflows.core.events import CallOperation
from accord.workflows.storage.inbox import RunMessage, deliver
from accord.workflows.storage.tasks import WAKE, Kind, NewTask, cancel_tasks, insert_tasks


class BusError(Exception):
    """The bus cannot be used as it is set up."""


class TopicError(BusError):
    """Topics are not as they must be; the message names each and what to do."""


class EnvelopeError(BusError):
    """A message that cannot be understood, or means nothing here: `code` says which."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ReplayError(BusError):
    """A dead letter cannot be published again; the message says why."""


class LocalWorker(Protocol):
    """A worker. Tasks that it has room for are its own from the start, where an executor decides on
    them, or as soon as they arrive.

        claim     before the transaction: which tasks are to be recorded as its own
        give      after it: they are recorded, and begin
        drop      or else: it is not known whether they are recorded; where they are, it finds them

    Belongs to the event loop.
    """

    @property
    def owner(self) -> str:
        """The member that it works for."""

    def claim(self, tasks: Sequence[NewTask]) -> list[NewTask]:
        """Those of these tasks that it has room for."""

    def give(self, tasks: Sequence[NewTask]) -> None: ...

    def drop(self, tasks: Sequence[NewTask]) -> None: ...

    # The same for tasks that are there already, and arrive

    def reserve(self, tasks: Sequence[tuple[str, Kind, str]]) -> list[str]:
        """The ids of those that it has room for, of these ids, kinds and targets."""

    async def record(self, db: Transaction, ids: Collection[str]) -> list[Row]:
        """Make tasks its own, if they are still on their way; those that were."""

    def begin(self, ids: Collection[str], rows: Sequence[Row]) -> None:
        """Of these that were reserved, those are recorded as its own."""

    def release(self, ids: Collection[str]) -> None:
        """These were reserved, and it is not known whether they are recorded."""


class LocalExecutor(Protocol):
    """An executor. Belongs to the event loop."""

    def is_its_own(self, run_id: str) -> bool:
        """Whether it decides on a run, as far as it knows."""

    async def decide_on(self, messages: Sequence[RunMessage]) -> set[str]:
        """Decide on what came of tasks; the ids of those messages that are recorded, with the end
        of their tasks. Others may go to the inbox of their run, or come again."""


class RunAnnouncement(Struct, frozen=True):
    """What one decision added to the history of a run, for whoever watches from outside."""

    run_id: str
    sequence: int
    """Of the first of its events."""
    events: str
    """JSON: a list."""
    at: float
    correlation_id: str = ""
    traceparent: str = ""


class Bus(Protocol):
    def join(
        self,
        *,
        local_worker: LocalWorker | None = None,
        local_executor: LocalExecutor | None = None,
    ) -> None:
        """A worker or an executor of this process, to whom the bus may give what arrives."""

    def lend(self, local_worker: LocalWorker) -> LocalWorker:
        """What an executor is to use to give tasks to the worker of its own process."""

    async def dispatch(
        self,
        db: Transaction,
        tasks: Sequence[NewTask],
        decisions: Sequence[RunAnnouncement] = (),
        *,
        given: Sequence[NewTask] = (),
    ) -> None:
        """Have tasks done by a bridge, and tell the world what happened; tasks that are `given` to
        somebody already are told only."""

    async def cancel(self, db: Transaction, task_ids: Sequence[str]) -> None:
        """Tell bridges that nobody waits for these any more, also before they have them."""

    async def offer(self, messages: Sequence[RunMessage]) -> set[str]:
        """Have the executor of this process decide on successes, where it is its affair: the ids of
        those messages that are recorded, with the end of their tasks. Others are answered, or told,
        as if they had not been offered."""

    async def answer(self, db: Transaction, messages: Sequence[RunMessage]) -> None:
        """Tell executors what came of tasks."""

    def tell(self, message: RunMessage, after: Callable[[bool], None]) -> int:
        """Tell executors of a success without a transaction, where the bus can: how many characters
        that are, or 0 where it cannot. `after` is told whether it is on its way for good. Who tells
        keeps it until it is recorded, which is when the row of the task says that it is done."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...


class EmbeddedBus:
    """Implements `Bus`."""

    def __init__(self) -> None:
        self._local_executor: LocalExecutor | None = None

    def join(
        self,
        *,
        local_worker: LocalWorker | None = None,
        local_executor: LocalExecutor | None = None,
    ) -> None:
        if local_executor is not None:
            self._local_executor = local_executor

    def lend(self, local_worker: LocalWorker) -> LocalWorker:
        return local_worker

    async def dispatch(
        self,
        db: Transaction,
        tasks: Sequence[NewTask],
        decisions: Sequence[RunAnnouncement] = (),
        *,
        given: Sequence[NewTask] = (),
    ) -> None:
        """Who watches reads the history."""
        if tasks:
            await insert_tasks(db, tasks, "ready")
            await db.notify(WAKE)

    async def cancel(self, db: Transaction, task_ids: Sequence[str]) -> None:
        await cancel_tasks(db, task_ids)

    async def offer(self, messages: Sequence[RunMessage]) -> set[str]:
        local_executor = self._local_executor
        if local_executor is None:
            return set()
        own = [each for each in messages if local_executor.is_its_own(each.run_id)]
        return await local_executor.decide_on(own) if own else set()

    async def answer(self, db: Transaction, messages: Sequence[RunMessage]) -> None:
        await deliver(db, messages)

    def tell(self, message: RunMessage, after: Callable[[bool], None]) -> int:
        return 0

    async def start(self) -> None:
        """Nothing runs: a wake is all there is."""

    async def close(self) -> None:
        pass


BEGIN_ANYWAY_SECONDS: Final = 5.0
"""Seconds after which a task begins without its message."""


class DeferredHandoff:
    """Implements `Hands`. `is_read_here` says whether all messages of tasks arrive in this
    process; operations have none. Belongs to the event loop."""

    def __init__(self, local_worker: LocalWorker, is_read_here: Callable[[], bool]) -> None:
        self._local_worker = local_worker
        self._is_read_here = is_read_here
        self._deferred: dict[str, NewTask] = {}
        self._unsent: set[str] = set()

    @property
    def owner(self) -> str:
        return self._local_worker.owner

    def claim(self, tasks: Sequence[NewTask]) -> list[NewTask]:
        is_read_here = self._is_read_here()
        return self._local_worker.claim([each for each in tasks if is_read_here or _is_local(each)])

    def leave_out(self, task: NewTask) -> None:
        """There will be no message for this one."""
        self._unsent.add(task.id)

    def give(self, tasks: Sequence[NewTask]) -> None:
        now = [each for each in tasks if _is_local(each) or each.id in self._unsent]
        self._unsent.difference_update(each.id for each in now)
        self._local_worker.give(now)
        begun = {each.id for each in now}
        deferred = {each.id: each for each in tasks if each.id not in begun}
        if deferred:
            self._deferred |= deferred
            asyncio.get_running_loop().call_later(BEGIN_ANYWAY_SECONDS, self.arrive, list(deferred))

    def drop(self, tasks: Sequence[NewTask]) -> None:
        self._unsent.difference_update(each.id for each in tasks)
        self._local_worker.drop(tasks)

    def arrive(self, ids: Collection[str]) -> set[str]:
        """Messages of tasks have arrived: which of these begin with it."""
        begun = {id: self._deferred.pop(id) for id in set(ids) if id in self._deferred}
        self._local_worker.give(list(begun.values()))
        return set(begun)

    # Tasks that nobody waits for here are the worker's affair

    def reserve(self, tasks: Sequence[tuple[str, Kind, str]]) -> list[str]:
        return self._local_worker.reserve(tasks)

    async def record(self, db: Transaction, ids: Collection[str]) -> list[Row]:
        return await self._local_worker.record(db, ids)

    def begin(self, ids: Collection[str], rows: Sequence[Row]) -> None:
        self._local_worker.begin(ids, rows)

    def release(self, ids: Collection[str]) -> None:
        self._local_worker.release(ids)


def _is_local(task: NewTask) -> bool:
    return isinstance(task.command, CallOperation)
