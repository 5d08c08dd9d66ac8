"""Buses, which carry tasks to bridges and task results to executors.

A message is sent in the same transaction as the change that causes it, so both are committed or
neither is. Messages may arrive twice, and in another order.

When a bus, a worker and an executor share a process, tasks are passed to the worker and results to
the executor in memory, instead of being polled from the database. The tables still record
everything, so other processes can take over when this one dies. `EmbeddedBus` uses only the shared
tables; `accord.workflows.bus.kafka` adds a broker.

BusError
├── TopicError        topics have unusable settings; the message names them and the remedy
├── EnvelopeError     a message cannot be decoded or used
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
    """The bus cannot be used with its configuration."""


class TopicError(BusError):
    """Topics have unusable settings; the message names each topic and the remedy."""


class EnvelopeError(BusError):
    """A message cannot be decoded or used; `code` is the reason."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ReplayError(BusError):
    """A dead letter cannot be published again; the message states the reason."""


class LocalWorker(Protocol):
    """The worker in the process of an executor or bus. Belongs to the event loop.

    It becomes the owner of tasks that it has room for, either when an executor decides on them or
    when their messages arrive. An executor calls:

        claim     before its transaction: choose the tasks to record with this worker as owner
        give      after the commit: begin these tasks
        drop      after a failure: release the slots reserved for these tasks

    If the tasks were committed despite the failure, the worker begins them when it next reads the
    rows that it owns.
    """

    @property
    def owner(self) -> str:
        """The member id of the worker, which is stored as the owner of its tasks."""

    def claim(self, tasks: Sequence[NewTask]) -> list[NewTask]:
        """Return the tasks that the worker has room for, and reserve slots for them."""

    def give(self, tasks: Sequence[NewTask]) -> None: ...

    def drop(self, tasks: Sequence[NewTask]) -> None: ...

    # The same for recorded tasks, whose messages arrive

    def reserve(self, tasks: Sequence[tuple[str, Kind, str]]) -> list[str]:
        """Reserve slots for tasks, given by id, kind and target; return the ids that got one."""

    async def record(self, db: Transaction, ids: Collection[str]) -> list[Row]:
        """Make the worker the owner of tasks that no worker has taken yet; return their rows."""

    def begin(self, ids: Collection[str], rows: Sequence[Row]) -> None:
        """Begin the tasks of these rows, and release the slots of the other reserved ids."""

    def release(self, ids: Collection[str]) -> None:
        """Release reserved slots, after a transaction that failed or may have failed."""


class LocalExecutor(Protocol):
    """The executor in the same process as a worker or bus. Belongs to the event loop."""

    def is_its_own(self, run_id: str) -> bool:
        """Return True if the executor owns the shard of the run, as far as it knows."""

    async def decide_on(self, messages: Sequence[RunMessage]) -> set[str]:
        """Record task results, and decide on the next steps of their runs.

        Return the ids of the messages whose results were recorded; their tasks are marked as done.
        The caller may send the other messages to the inbox of their run, or offer them again.
        """


class RunAnnouncement(Struct, frozen=True):
    """The events that one decision added to a run, published for external observers."""

    run_id: str
    sequence: int
    """The number of the first of these events in the run's history."""
    events: str
    """The events as a JSON list."""
    at: float
    correlation_id: str = ""
    traceparent: str = ""


class Bus(Protocol):
    """A carrier of tasks to bridges and of task results to executors."""

    def join(
        self,
        *,
        local_worker: LocalWorker | None = None,
        local_executor: LocalExecutor | None = None,
    ) -> None:
        """Register the worker or executor of this process, to pass messages to it in memory."""

    def lend(self, local_worker: LocalWorker) -> LocalWorker:
        """Return the `LocalWorker` that the executor of this process passes its tasks to.

        It is `local_worker`, or a wrapper that lets tasks wait until their messages arrive.
        """

    async def dispatch(
        self,
        db: Transaction,
        tasks: Sequence[NewTask],
        decisions: Sequence[RunAnnouncement] = (),
        *,
        owned: Sequence[NewTask] = (),
    ) -> None:
        """Send tasks to bridges, and publish the events of decisions.

        Tasks in `owned` are recorded with an owner already, so they are only published.
        """

    async def cancel(self, db: Transaction, task_ids: Sequence[str]) -> None:
        """Cancel tasks, whether or not a bridge has received them yet."""

    async def offer(self, messages: Sequence[RunMessage]) -> set[str]:
        """Offer successes to the local executor; return the message ids that it recorded.

        The tasks of recorded messages are marked as done. The caller sends the other messages with
        `answer` or `send_success`.
        """

    async def answer(self, db: Transaction, messages: Sequence[RunMessage]) -> None:
        """Send task results to executors, in the transaction `db`."""

    def send_success(self, message: RunMessage, after: Callable[[bool], None]) -> int:
        """Send a success to executors without a transaction, if the bus supports it.

        Return the message's size in characters, or 0 if it was not sent. `after` is called with
        True once the broker has acknowledged the message. The sender must keep the success until
        the row of the task is marked as done.
        """

    async def start(self) -> None: ...

    async def close(self) -> None: ...


class EmbeddedBus:
    """A `Bus` without a broker: tasks and results are passed through the database."""

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
        """Insert the tasks. Events are not published, as observers can read the history."""
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
        """Do nothing: the store's notifications wake the receivers."""

    async def close(self) -> None:
        pass


BEGIN_ANYWAY_SECONDS: Final = 5.0
"""How long a task waits for its message from the broker before it begins without it."""


class DeferredHandoff:
    """A `LocalWorker` for a bus with a broker: tasks begin when their messages arrive.

    The tasks are recorded with the local worker as owner, so no worker has to take them from the
    table. A task whose message does not arrive within `BEGIN_ANYWAY_SECONDS` begins without it.
    Tasks that call operations have no message and begin at once. `is_read_here` returns True if
    this process reads all partitions of the tasks topic. Belongs to the event loop.
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
        """Mark a task for which no message is published, so that `give` begins it at once."""
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
        """Begin the deferred tasks among `ids`, whose messages have arrived or are late.

        Return the ids of the tasks that began.
        """
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
