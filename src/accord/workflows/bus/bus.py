"""Buses, which carry tasks to bridges and results to executors.

Everything is handed over inside the transaction that it follows from, so both are committed or
neither is. Messages may arrive twice, and in another order.

When bus, worker and executor share a process, tasks go straight to the worker and results to the
executor, instead of being polled from the database. The tables say the same as without that
shortcut, so others take over when the process is gone. `EmbeddedBus` consists of the shared tables
alone; `accord.workflows.bus.kafka` adds a broker.

BusError
├── TopicError        topics have unusable settings; the message names them and the remedy
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
from accord.workflows.storage.messages import RunMessage, deliver
from accord.workflows.storage.tasks import WAKE, Kind, NewTask, cancel_tasks, insert_tasks


class BusError(Exception):
    """The bus cannot be used as it is set up."""


class TopicError(BusError):
    """Topics have unusable settings; the message names each topic and the remedy."""


class EnvelopeError(BusError):
    """A message that cannot be decoded or used; `code` gives the reason."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ReplayError(BusError):
    """A dead letter cannot be published again; the message says why."""


class LocalWorker(Protocol):
    """The worker of this process. Belongs to the event loop.

    Tasks that it has room for become its own when an executor decides on them, or when they arrive.

        claim     before the transaction: choose the tasks to be recorded as its own
        give      after it: they are recorded, and begin
        drop      otherwise: it is unknown if they are recorded; if so, the worker finds them
    """

    @property
    def owner(self) -> str:
        """The id of its member, which owns its tasks."""

    def claim(self, tasks: Sequence[NewTask]) -> list[NewTask]:
        """Return those of these tasks that it has room for."""

    def give(self, tasks: Sequence[NewTask]) -> None: ...

    def drop(self, tasks: Sequence[NewTask]) -> None: ...

    # The same for recorded tasks, whose messages arrive

    def reserve(self, tasks: Sequence[tuple[str, Kind, str]]) -> list[str]:
        """Return the ids of tasks that it has room for, of these ids, kinds and targets."""

    async def record(self, db: Transaction, ids: Collection[str]) -> list[Row]:
        """Make tasks its own if they are still on their way; return their rows."""

    def begin(self, ids: Collection[str], rows: Sequence[Row]) -> None:
        """Begin the recorded rows, and release the other reserved ids."""

    def release(self, ids: Collection[str]) -> None:
        """Release reserved ids of which it is unknown whether they are recorded."""


class LocalExecutor(Protocol):
    """The executor of this process. Belongs to the event loop."""

    def is_its_own(self, run_id: str) -> bool:
        """Return True if it decides on the run, as far as it knows."""

    async def decide_on(self, messages: Sequence[RunMessage]) -> set[str]:
        """Decide on results of tasks; return the ids of messages that are recorded.

        Their tasks are recorded as ended too. Other messages may go to the inbox of their run, or
        be offered again.
        """


class RunAnnouncement(Struct, frozen=True):
    """The events that one decision added to a run, for outside observers."""

    run_id: str
    sequence: int
    """The number of its first event."""
    events: str
    """JSON: a list."""
    at: float
    correlation_id: str = ""
    traceparent: str = ""


class Bus(Protocol):
    """A carrier of tasks and results."""

    def join(
        self,
        *,
        local_worker: LocalWorker | None = None,
        local_executor: LocalExecutor | None = None,
    ) -> None:
        """Register the worker or executor of this process, to receive messages directly."""

    def lend(self, local_worker: LocalWorker) -> LocalWorker:
        """Return the worker through which an executor of this process gives tasks."""

    async def dispatch(
        self,
        db: Transaction,
        tasks: Sequence[NewTask],
        decisions: Sequence[RunAnnouncement] = (),
        *,
        owned: Sequence[NewTask] = (),
    ) -> None:
        """Give tasks to bridges, and announce decisions.

        Tasks in `owned` have an owner already, and are only announced.
        """

    async def cancel(self, db: Transaction, task_ids: Sequence[str]) -> None:
        """Cancel these tasks at their bridges, also before a bridge has them."""

    async def offer(self, messages: Sequence[RunMessage]) -> set[str]:
        """Offer successes to the executor of this process; return the ids it recorded.

        The ends of their tasks are recorded too. Send the other messages with `answer` or
        `send_success`.
        """

    async def answer(self, db: Transaction, messages: Sequence[RunMessage]) -> None:
        """Send results of tasks to executors."""

    def send_success(self, message: RunMessage, after: Callable[[bool], None]) -> int:
        """Send a success to executors without a transaction, if the bus can.

        Return its size in characters, or 0 if the bus cannot. `after` is called with True once the
        broker has it. The sender keeps the success until the row of the task says that it is done.
        """

    async def start(self) -> None: ...

    async def close(self) -> None: ...


class EmbeddedBus:
    """A `Bus` that consists of the shared tables alone."""

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
        owned: Sequence[NewTask] = (),
    ) -> None:
        """Insert the tasks; observers read the history."""
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

    def send_success(self, message: RunMessage, after: Callable[[bool], None]) -> int:
        return 0

    async def start(self) -> None:
        """Do nothing: notifications of the store suffice."""

    async def close(self) -> None:
        pass


BEGIN_ANYWAY_SECONDS: Final = 5.0
"""Seconds after which a task begins without its message."""


class DeferredHandoff:
    """A `LocalWorker` for a bus with a broker: tasks begin when their messages arrive.

    The tasks are recorded as the worker's own at once, so no worker has to take them; if a message
    takes long, its task begins without it. `is_read_here` returns True if all messages of tasks
    arrive in this process; operations have none. Belongs to the event loop.
    """

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
        """Note that no message will come for this task."""
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
        """Begin the tasks whose messages have arrived; return their ids."""
        begun = {id: self._deferred.pop(id) for id in set(ids) if id in self._deferred}
        self._local_worker.give(list(begun.values()))
        return set(begun)

    # Tasks that are not deferred here go straight to the worker

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
