"""Tasks in flight, their targets, circuit breakers, and the local handoff.

A worker holds a limited number of tasks, and of bytes of their inputs. Each target has a limited
number of slots for concurrent calls, so a slow or failing target does not delay others.

The local handoff lets an executor or a bus pass tasks in memory to the worker of the same process,
so that the worker need not poll the database for these tasks.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from msgspec.structs import replace

from accord.store.store import Row, Transaction
from accord.workflows.bridge.task import ClaimedTask, Terms, claimed_task
from accord.workflows.storage.tasks import Kind, NewTask, TaskRows, kind_and_target

TASK_OVERHEAD_BYTES: Final = 2_000
"""The estimated memory of a task in addition to its input, in bytes."""


class InFlightTask:
    """A task in flight.

    `task` has the values of the task's database row, including changes that are being written.
    """

    __slots__ = ("cancelled", "ending", "job", "reached", "size", "started", "task", "unwritable")

    def __init__(self, task: ClaimedTask) -> None:
        self.task = task
        self.size = task.size + TASK_OVERHEAD_BYTES
        self.cancelled = task.cancelled
        """True if cancellation of the task was requested."""
        self.ending = False
        """True while the outcome of the task is being written to the database."""
        self.reached = False
        """True once the target has answered the current attempt."""
        self.unwritable = False
        """True if the database rejected the outcome of the task."""
        self.started = 0.0
        self.job: asyncio.Task[None] | None = None

    def set_remote(self, remote_task: str, remote_context: str) -> None:
        """Record the agent's ids for the task and its context.

        No answer to the agent's question remains to be sent.
        """
        self.task = replace(
            self.task,
            remote_task=remote_task,
            remote_context=remote_context,
            continues=False,
            continuation=None,
        )

    def start_over(self) -> None:
        """Forget the id of the remote task, so that the next attempt sends a new call."""
        self.set_remote("", "")

    def stop(self) -> None:
        """Cancel the asyncio task that runs the attempt, if there is one."""
        if self.job is not None:
            self.job.cancel()


MAX_BYTES: Final = 64 * 1024 * 1024
"""The limit for the memory of all tasks in flight, in bytes; the last batch may exceed it."""


class InFlightTasks:
    """The tasks in flight of one worker, by id."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._tasks: dict[str, InFlightTask] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._tasks)

    def __contains__(self, entry: InFlightTask) -> bool:
        return self._tasks.get(entry.task.id) is entry

    def get(self, id: str) -> InFlightTask | None:
        return self._tasks.get(id)

    def all(self) -> list[InFlightTask]:
        return list(self._tasks.values())

    @property
    def room(self) -> int:
        """The number of further tasks that the worker has room for."""
        return 0 if self._bytes >= MAX_BYTES else self._most - len(self._tasks)

    def add(self, entry: InFlightTask) -> None:
        self._tasks[entry.task.id] = entry
        self._bytes += entry.size

    def remove(self, entry: InFlightTask) -> None:
        if entry in self:
            del self._tasks[entry.task.id]
            self._bytes -= entry.size


MAX_CONSECUTIVE_FAILURES: Final = 5
FAILURE_RATIO: Final = 0.5
MIN_CALLS: Final = 10
WINDOW_SECONDS: Final = 120.0
OPEN_SECONDS: Final = 60.0
HALF_OPEN_CALLS: Final = 3
MAX_REMEMBERED: Final = 1_000
"""The maximum number of recent calls on which a circuit breaker bases its failure rate."""

BreakerState: TypeAlias = Literal["closed", "open", "trial"]


class Breaker:
    """The circuit breaker of one target."""

    __slots__ = ("_calls", "_failed", "_in_a_row", "_opened", "_trials", "_worked")

    def __init__(self) -> None:
        self._calls: deque[tuple[float, bool]] = deque(maxlen=MAX_REMEMBERED)
        self._failed = 0
        self._in_a_row = 0
        self._opened: float | None = None
        self._trials = 0
        self._worked = 0

    @property
    def is_closed(self) -> bool:
        return self._opened is None

    def state(self, now: float) -> BreakerState:
        if self._opened is None:
            return "closed"
        return "open" if now < self._opened + OPEN_SECONDS else "trial"

    def room(self, now: float) -> int | None:
        """Return how many more calls the breaker allows now; None if it sets no limit."""
        if self._opened is None:
            return None
        return HALF_OPEN_CALLS - self._trials if self.state(now) == "trial" else 0

    def call_started(self) -> None:
        """Record the start of a call that `room` allowed."""
        if self._opened is not None:
            self._trials += 1

    def call_dropped(self) -> None:
        """Record that a call ended without telling anything about the target's health."""
        if self._opened is not None and self._trials > 0:
            self._trials -= 1

    def succeeded(self, now: float) -> None:
        if self._opened is None:
            self._in_a_row = 0
            self._remember(now, failed=False)
            return
        if self.state(now) == "open":  # a call that began before the breaker opened
            return
        self._worked += 1
        if self._worked >= HALF_OPEN_CALLS:
            self._close()

    def failed(self, now: float) -> bool:
        """Record a failed call; return True if the breaker opens because of it."""
        if self._opened is not None:
            opens = self.state(now) == "trial"
        else:
            self._in_a_row += 1
            self._remember(now, failed=True)
            opens = self._in_a_row >= MAX_CONSECUTIVE_FAILURES or self._fails_often()
        if opens:
            self._open(now)
        return opens

    def _fails_often(self) -> bool:
        calls = len(self._calls)
        return calls >= MIN_CALLS and self._failed >= calls * FAILURE_RATIO

    def _remember(self, now: float, *, failed: bool) -> None:
        calls = self._calls
        if len(calls) == MAX_REMEMBERED:
            self._failed -= calls[0][1]
        calls.append((now, failed))
        self._failed += failed
        while calls[0][0] < now - WINDOW_SECONDS:
            self._failed -= calls.popleft()[1]

    def _open(self, now: float) -> None:
        self._opened = now
        self._trials = self._worked = 0

    def _close(self) -> None:
        self._calls.clear()
        self._opened = None
        self._failed = self._in_a_row = self._trials = self._worked = 0


MAX_TARGETS: Final = 1_000
"""The number of targets above which idle ones are forgotten."""

TargetKey: TypeAlias = tuple[Kind, str]


class CallTarget:
    """A target of calls: an agent, MCP server, URL, plugin step type or operation."""

    __slots__ = ("breaker", "busy", "key", "terms", "waiting")

    def __init__(self, key: TargetKey) -> None:
        self.key = key
        self.terms = Terms()
        self.busy = 0
        self.waiting: deque[InFlightTask] = deque()
        self.breaker = Breaker()

    def room(self, now: float) -> int:
        """Return how many more tasks may begin now."""
        room = self.terms.concurrency - self.busy
        allowed = self.breaker.room(now) if self.terms.breaks else None
        return room if allowed is None else min(room, allowed)

    def spare(self, now: float) -> int:
        """Return how many more tasks of this target the worker may take from the database.

        The result is zero or less if enough tasks of the target are queued already, or if the
        circuit breaker of the target is open.
        """
        if self.terms.breaks and self.breaker.state(now) != "closed":
            return self.room(now) - len(self.waiting)
        # Half as many again wait in the queue, so that a free slot is filled without a query.
        slots = self.terms.concurrency
        return slots + slots // 2 - self.busy - len(self.waiting)

    def is_full(self, now: float) -> bool:
        return self.spare(now) <= 0

    @property
    def is_idle(self) -> bool:
        return not self.busy and not self.waiting


class CallTargets:
    """The targets that one worker calls."""

    def __init__(self) -> None:
        self._known: dict[TargetKey, CallTarget] = {}

    def __iter__(self) -> Iterator[CallTarget]:
        return iter(self._known.values())

    def get(self, key: TargetKey) -> CallTarget:
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MAX_TARGETS:
                self._forget()
            found = self._known[key] = CallTarget(key)
        return found

    def full(self, now: float) -> list[str]:
        """Return the names of targets of which the worker may take no more tasks now."""
        return [each.key[1] for each in self._known.values() if each.is_full(now)]

    def _forget(self) -> None:
        """Forget idle targets; keep those with an open breaker, unless all idle ones have one."""
        idle = [each for each in self._known.values() if each.is_idle]
        well = [each for each in idle if each.breaker.is_closed]
        for target in well or idle:
            del self._known[target.key]


ReadStates: TypeAlias = Callable[[], Mapping[TargetKey, BreakerState]]


class Breakers:
    """The states of the circuit breakers of all workers in this process."""

    def __init__(self) -> None:
        self._known: dict[Kind, ReadStates] = {}

    def add(self, kind: Kind, known: ReadStates) -> None:
        """Register a worker's function that returns its breaker states for a kind of task."""
        self._known[kind] = known

    def remove(self, kind: Kind) -> None:
        self._known.pop(kind, None)

    def states(self, kind: Kind) -> Mapping[TargetKey, BreakerState] | None:
        """Return the states of recently called targets of this kind.

        Return None if no worker of this process handles tasks of this kind.
        """
        return self._known[kind]() if kind in self._known else None


class LocalHandoff:
    """A `LocalWorker` of the bus that passes tasks to the worker in memory.

    `is_open` returns True if the worker may begin tasks now. All tasks that are passed on are
    recorded as owned by the worker. `begin_tasks` is called with new tasks that an executor gives;
    `begin_rows` with the rows of tasks whose messages arrived, and with a function to call when
    these tasks are in flight.
    """

    def __init__(
        self,
        owner: str,
        kinds: Collection[Kind],
        in_flight: InFlightTasks,
        targets: CallTargets,
        rows: TaskRows,
        *,
        is_open: Callable[[], bool],
        begin_tasks: Callable[[list[ClaimedTask]], None],
        begin_rows: Callable[[Sequence[Row], Callable[[], None]], None],
        now: Callable[[], float],
    ) -> None:
        self.owner = owner
        self._kinds = kinds
        self._in_flight = in_flight
        self._targets = targets
        self._rows = rows
        self._is_open = is_open
        self._begin_tasks = begin_tasks
        self._begin_rows = begin_rows
        self._now = now
        self._coming: dict[str, TargetKey] = {}
        self._expected: Counter[TargetKey] = Counter()
        """The number of claimed tasks that have not begun yet, by target."""

    def __contains__(self, id: str) -> bool:
        """Return True if the task with this id was claimed, but has not begun yet."""
        return id in self._coming

    def claim(self, tasks: Sequence[NewTask]) -> list[NewTask]:
        known = {task.id: task for task in tasks}
        return [
            known[id]
            for id in self.reserve(
                [(id, *kind_and_target(each.command)) for id, each in known.items()]
            )
        ]

    def give(self, tasks: Sequence[NewTask]) -> None:
        # Without an await in between: a claimed task is always either expected or in flight.
        self.drop(tasks)
        if tasks:
            self._begin_tasks([claimed_task(task) for task in tasks])

    def drop(self, tasks: Sequence[NewTask]) -> None:
        self.release([task.id for task in tasks])

    def reserve(self, tasks: Sequence[tuple[str, Kind, str]]) -> list[str]:
        if not self._is_open():
            return []
        now = self._now()
        room = self._in_flight.room - len(self._coming)
        spare: dict[TargetKey, int] = {}
        reserved: list[str] = []
        for id, kind, target in tasks:
            key = kind, target
            if len(reserved) >= room or kind not in self._kinds:
                continue
            slots = spare.get(key)
            if slots is None:
                slots = self._targets.get(key).spare(now) - self._expected[key]
            spare[key] = slots - 1
            if slots > 0 and id not in self._coming:
                reserved.append(id)
                self._coming[id] = key
                self._expected[key] += 1
        return reserved

    async def record(self, db: Transaction, ids: Collection[str]) -> list[Row]:
        return await self._rows.record(db, self.owner, ids)

    def begin(self, ids: Collection[str], rows: Sequence[Row]) -> None:
        begun = {row["id"] for row in rows}
        self.release([id for id in ids if id not in begun])
        if rows:
            self._begin_rows(rows, lambda: self.release(begun))

    def release(self, ids: Collection[str]) -> None:
        for id in ids:
            key = self._coming.pop(id, None)
            if key is not None:
                self._expected[key] -= 1
                if not self._expected[key]:
                    del self._expected[key]
