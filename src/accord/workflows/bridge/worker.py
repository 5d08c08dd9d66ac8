"""The worker: takes tasks, passes them to callers, and records their outcomes.

The states of a task, as stored in the table `tasks` (`asking`: an agent's question is open):

    ready ── take ──▶ running ── call ──▶ success or failure ──▶ done; the run gets a message
      ▲                  │                question ──▶ asking; the run gets a message
      │                  │                failure to be retried ──┐
      └── due ───────────┴────────────────────────────────────────┘

A loop, which runs when woken and every second, takes tasks from the table, stops tasks that were
cancelled or taken over by another worker, and starts calls within the concurrency of each target. A
task that waits for its next attempt goes back to the table, where any worker can take it.

A row is changed only while it still has the fence with which the worker took it. So a worker whose
lease has expired may finish its calls: it cannot overwrite tasks that others have taken over. Until
its lease is renewed it starts no calls, and it stops calls of tasks that it finds it has lost.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from accord.a2a.protocol.errors import CallError, DefiniteError
from accord.store.store import Row, Store, StoreError
from accord.telemetry.metrics import Exposition
from accord.workflows.bridge.attempts import AttemptRunner
from accord.workflows.bridge.in_flight import (
    BreakerState,
    CallTarget,
    CallTargets,
    InFlightTask,
    InFlightTasks,
    LocalHandoff,
    TargetKey,
)
from accord.workflows.bridge.outcomes import Outcomes
from accord.workflows.bridge.result_writer import ResultWriter, UnrecordedSuccesses
from accord.workflows.bridge.task import (
    ClaimedTask,
    TaskCaller,
    read_claimed,
    shown_target,
    unreadable_task,
)
from accord.workflows.bus.bus import Bus
from accord.workflows.core.errors import NewerSchemaError
from accord.workflows.metrics import BridgeMetrics
from accord.workflows.storage.leases import Membership
from accord.workflows.storage.tasks import WAKE, Kind, TaskRows

log = logging.getLogger("accord.bridge")

POLL_SECONDS: Final = 1.0
CANCEL_SECONDS: Final = 0.1
"""The minimum interval between two queries for cancelled tasks."""
DRAIN_SECONDS: Final = 10.0
MAX_TASKS: Final = 4_096
UNREADABLE_SECONDS: Final = 60.0
"""How long a task that only a newer release can read is postponed."""
MAX_TAKEN: Final = 32
"""The maximum number of tasks taken by one query.

It is small because all of them may be for the same slow target.
"""


class TaskWorker:
    """A worker for some kinds of tasks. Belongs to one event loop.

    `most` is the maximum number of tasks in flight. `drain` is the number of seconds for which
    `close` waits for running calls. `poll` is the interval in seconds at which the table `tasks` is
    read even if no notification came.
    """

    def __init__(
        self,
        store: Store,
        membership: Membership,
        bus: Bus,
        callers: Mapping[Kind, TaskCaller],
        *,
        most: int = MAX_TASKS,
        drain: float = DRAIN_SECONDS,
        poll: float = POLL_SECONDS,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._membership = membership
        self._callers = callers
        self._drain = drain
        self._poll = poll
        self._now = now
        self._woken = asyncio.Event()
        self._metrics = BridgeMetrics()
        self._targets = CallTargets()
        self._in_flight = InFlightTasks(most)
        self._unrecorded = UnrecordedSuccesses(time.monotonic)
        self._rows = TaskRows(store, callers)
        self._writer = ResultWriter(
            store, self._rows, bus, membership.id, lambda: self._attempts.under_way
        )
        self._outcomes = Outcomes(
            self._writer,
            bus,
            self._in_flight,
            self._unrecorded,
            self._metrics,
            owner=membership.id,
            now=now,
            wake=self._woken.set,
            ended=self._ended,
        )
        self._attempts = AttemptRunner(
            callers, self._outcomes, self._in_flight, self._metrics, now=now, freed=self._freed
        )
        self.handoff = LocalHandoff(
            membership.id,
            callers,
            self._in_flight,
            self._targets,
            self._rows,
            is_open=self._is_open,
            begin_tasks=self._begin_tasks,
            begin_rows=self._begin_rows,
            now=now,
        )
        """The local handoff, through which an executor or bus in this process passes tasks."""
        self._placing: set[asyncio.Task[None]] = set()
        self._unplaced: list[InFlightTask] = []
        self._refused: set[str] = set()
        """Ids of tasks of a newer release that were already logged."""
        self._more = False
        """True if the worker may have left tasks in the table, as it or a target was full."""
        self._doubted = False
        """True while it is uncertain if this worker still owns its tasks in flight."""
        self._looked = self._looked_at_all = 0.0
        self._closing = False
        self._running: asyncio.Task[None] | None = None
        self._stop_listening: Callable[[], None] | None = None

    async def start(self) -> None:
        """Start the worker. Raise StoreError if the database is unreachable."""
        self._stop_listening = await self._store.listen(WAKE, self._woken.set)
        self._running = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop taking tasks, wait for running calls, and give back the unfinished tasks."""
        self._closing = True
        if self._stop_listening is not None:
            self._stop_listening()
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, *self._placing, return_exceptions=True)
        for entry in self._in_flight.all():
            if (
                entry.job is None or entry.task.remote_task
            ):  # another worker can follow the remote task
                self._let_go(entry)
        await self._attempts.join(self._drain)
        for entry in self._in_flight.all():
            self._let_go(entry)
        await self._attempts.join()
        for answer in self._unrecorded.all():  # or another worker would repeat the call
            self._outcomes.write(answer)
        await self._writer.close(self._drain)

    def _let_go(self, entry: InFlightTask) -> None:
        self._outcomes.give_back(entry)
        entry.stop()

    # Metrics and states

    @property
    def in_flight(self) -> int:
        """The number of tasks in flight."""
        return len(self._in_flight)

    def breakers(self) -> dict[TargetKey, BreakerState]:
        """Return the states of the circuit breakers, by target."""
        now = self._now()
        return {each.key: each.breaker.state(now) for each in self._targets}

    def write(self, page: Exposition) -> None:
        """Write the metrics of the worker to a Prometheus page."""
        self._metrics.write(page)
        page.family(
            "accord_tasks_held", "gauge", "Tasks that were taken and have not ended.",
            [((), len(self._in_flight))],
        )  # fmt: skip
        page.family(
            "accord_tasks_waiting", "gauge", "Those of them that wait for their target.",
            [((), sum(len(each.waiting) for each in self._targets))],
        )  # fmt: skip
        left_alone = Counter(
            (kind, shown_target(kind, target), state)
            for (kind, target), state in self.breakers().items()
            if state != "closed"
        )
        page.family(
            "accord_task_breakers", "gauge", "Targets that are left alone, or tried again.",
            (
                ((("kind", kind), ("target", target), ("state", state)), count)
                for (kind, target, state), count in sorted(left_alone.items())
            ),
        )  # fmt: skip

    # Taking

    async def _run(self) -> None:
        while True:
            try:
                await self._turn()
            except StoreError as error:
                log.warning("tasks cannot be taken: %s", error)
                await asyncio.sleep(self._poll)
            except Exception:
                log.exception("a turn of the worker failed")
                await asyncio.sleep(self._poll)
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._poll):
                        await self._woken.wait()

    async def _turn(self) -> None:
        """Do one turn of the loop: check tasks in flight, start queued ones, take more.

        Raise StoreError if a query fails.
        """
        self._woken.clear()  # before reading: a notification during the read must count
        if self._membership.lost.is_set():
            self._doubted = True
            return
        await self._look()
        await self._place_again()
        for target in tuple(self._targets):
            self._begin(target)
        while await self._take():
            pass

    async def _take(self) -> bool:
        """Take a batch of tasks; return True if the batch was full, so there may be more."""
        room = min(self._in_flight.room, MAX_TAKEN)
        if room <= 0:
            self._more = True
            return False
        now = self._now()
        full = self._targets.full(now)
        rows = await self._rows.take(self._membership.id, now=now, most=room, besides=full)
        self._more = bool(full) or len(rows) == room
        await self._receive(rows)
        return len(rows) == room

    async def _receive(self, rows: Sequence[Row]) -> None:
        for row in rows:
            try:
                entry = InFlightTask(read_claimed(row))
            except (NewerSchemaError, msgspec.DecodeError) as error:
                entry = InFlightTask(unreadable_task(row))
                self._in_flight.add(entry)
                self._refuse(entry, error)
                continue
            self._in_flight.add(entry)
            await self._place(entry)

    def _refuse(self, entry: InFlightTask, error: Exception) -> None:
        """Handle a task whose command cannot be decoded.

        A command of a newer release is postponed, so that a worker of that release can take the
        task. An invalid command fails the task.
        """
        if entry.task.cancelled:
            self._outcomes.cancel(entry)
        elif isinstance(error, NewerSchemaError):
            if entry.task.id not in self._refused:
                if len(self._refused) >= MAX_TASKS:
                    self._refused.clear()
                self._refused.add(entry.task.id)
                log.error("task %s waits for a bridge of a newer release: %s", entry.task.id, error)
            self._outcomes.postpone(entry, UNREADABLE_SECONDS)
        else:
            self._outcomes.fail(entry, DefiniteError("unreadable_command", str(error)))

    def _is_open(self) -> bool:
        is_running = self._running is not None and not self._closing
        return is_running and not self._doubted and not self._membership.lost.is_set()

    def _begin_tasks(self, tasks: list[ClaimedTask]) -> None:
        if self._closing:  # others take them over
            return
        entries = [InFlightTask(task) for task in tasks]
        for entry in entries:
            self._in_flight.add(entry)
        self._place_soon(self._place_all(entries))

    def _begin_rows(self, rows: Sequence[Row], after: Callable[[], None]) -> None:
        async def receive() -> None:
            try:
                if not self._closing:
                    await self._receive(rows)
            finally:
                after()

        self._place_soon(receive())

    def _place_soon(self, placing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(placing)
        self._placing.add(task)
        task.add_done_callback(self._placing.discard)

    async def _place_all(self, entries: list[InFlightTask]) -> None:
        for entry in entries:
            try:
                await self._place(entry)
            except Exception:
                log.exception("task %s is begun later", entry.task.id)
                self._unplaced.append(entry)

    async def _place(self, entry: InFlightTask) -> None:
        """Queue a task for its target, and start it if the target has a free slot."""
        task = entry.task
        target = self._target_of(entry)
        try:
            target.terms = await self._callers[task.kind].terms(task.target)
        except StoreError:
            self._unplaced.append(entry)
        except CallError as error:
            if entry.cancelled:
                self._outcomes.cancel(entry)
            else:
                self._outcomes.fail(entry, error)
        else:
            if entry.cancelled:  # stop it at once, even if the target has no room
                self._attempts.start(entry, target)
            else:
                target.waiting.append(entry)
                self._begin(target)

    async def _place_again(self) -> None:
        unplaced, self._unplaced = self._unplaced, []
        for entry in unplaced:
            if entry in self._in_flight:
                await self._place(entry)

    def _begin(self, target: CallTarget) -> None:
        if self._membership.lost.is_set():
            self._doubted = True
        if not self._doubted and not self._closing:
            self._attempts.begin(target)

    def _freed(self, target: CallTarget) -> None:
        """Start queued tasks of a target after one of its attempts has ended.

        If tasks were left in the table, wake the worker, so that it may take more of them.
        """
        self._begin(target)
        if self._more and not target.is_full(self._now()):
            self._woken.set()

    def _ended(self) -> None:
        """Wake the worker after a task has ended, if the worker left tasks in the table.

        The worker leaves tasks there when it or a target is full.
        """
        if self._more:
            self._woken.set()

    def _target_of(self, entry: InFlightTask) -> CallTarget:
        return self._targets.get((entry.task.kind, entry.task.target))

    # Cancelled tasks, and tasks that other workers took

    async def _look(self) -> None:
        now = time.monotonic()
        if self._doubted or now - self._looked_at_all >= self._poll:
            await self._look_at_all()
            self._looked = self._looked_at_all = now
            rows = await self._rows.take_over(self._membership.id, most=MAX_TAKEN)
            await self._receive(rows)
        elif len(self._in_flight) and now - self._looked >= CANCEL_SECONDS:
            self._looked = now
            for row in await self._rows.cancelled(self._membership.id):
                self._note_cancellation(row)

    async def _look_at_all(self) -> None:
        # Before the query: tasks taken meanwhile are not in its answer, and must not count as lost.
        before, sent = self._in_flight.all(), self._unrecorded.ids
        rows = {row["id"]: row for row in await self._rows.owned(self._membership.id)}
        self._doubted = False
        for entry in before:
            row = rows.get(entry.task.id)
            if row is not None and row["fence"] == entry.task.fence:
                self._note_cancellation(row)
            elif not entry.ending and entry in self._in_flight:
                self._lose(entry)
        for id in sent:
            if id not in rows:
                self._unrecorded.take(id)
        for answer in self._unrecorded.overdue(sent):
            self._outcomes.write(answer)
        for id in rows.keys() - {entry.task.id for entry in before}:
            if id in self.handoff or id in self._unrecorded or self._in_flight.get(id) is not None:
                continue
            # This task was taken, but the database died before it could answer.
            await self._receive(await self._rows.regain(self._membership.id, id, rows[id]["fence"]))

    def _note_cancellation(self, row: Row) -> None:
        entry = self._in_flight.get(row["id"])
        if entry is None or not row["cancelled"] or entry.cancelled:
            return
        entry.cancelled = True
        target = self._target_of(entry)
        if entry in target.waiting:
            target.waiting.remove(entry)
            self._attempts.start(entry, target)
        elif entry.task.remote_task or not target.terms.follows:
            entry.stop()  # else wait for the remote id, without which it cannot be cancelled

    def _lose(self, entry: InFlightTask) -> None:
        """Drop a task that another worker has taken over, and stop the call made for it."""
        log.warning("task %s was taken by another", entry.task.id)
        self._metrics.lost += 1
        self._in_flight.remove(entry)
        with suppress(ValueError):
            self._target_of(entry).waiting.remove(entry)
        entry.stop()
