"""A decision on one run, and the rows and messages that result from it.

Decisions are made in memory; many are written in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeVar, assert_never
from uuid import NAMESPACE_URL, uuid5

from msgspec import Struct, json
from msgspec.structs import replace

from accord.store.store import Engine, ReadTransaction, Transaction
from accord.workflows.bus.bus import Bus, RunAnnouncement
from accord.workflows.core.decisions import decide
from accord.workflows.core.errors import RefusedError
from accord.workflows.core.events import (
    Arrival,
    CallAgent,
    CallMethod,
    CallOperation,
    CallPlugin,
    CallTool,
    CancelChild,
    CancelRequested,
    CancelTask,
    Command,
    ContinueTask,
    Event,
    RequestApproval,
    RetryRequested,
    RunFinished,
    StartChild,
    TaskFailed,
    TaskSucceeded,
)
from accord.workflows.core.machine import take
from accord.workflows.core.program import Program, find_active
from accord.workflows.core.rules import input_problem
from accord.workflows.core.state import FINAL, Failure, State, encode_state
from accord.workflows.executor.run_cache import CachedRun
from accord.workflows.storage.definitions import Definitions, UnknownWorkflowError
from accord.workflows.storage.history import RunHistoryRow, RunRow, append_history, encode_events
from accord.workflows.storage.messages import InboxMessage, RunMessage, delete_messages, deliver
from accord.workflows.storage.runs import (
    NewRun,
    close_approvals,
    create_runs,
    open_approvals,
    run_exists,
    store_snapshots,
    update_runs,
)
from accord.workflows.storage.tasks import (
    FIRST_GROUP,
    WAKE,
    Call,
    NewTask,
    continue_tasks,
    finish_tasks,
    insert_owned,
    insert_tasks,
    task_id,
)


def child_id(run_id: str, task: str) -> str:
    """Return the id of the child run that a task starts.

    It is derived from the run and the task, so a repeated decision does not start a second child.
    """
    return str(uuid5(NAMESPACE_URL, f"accord:{task_id(run_id, task)}"))


class Children:
    """A factory of the child runs that the decisions of one batch start.

    It looks up each workflow only once.
    """

    def __init__(self, db: ReadTransaction, definitions: Definitions) -> None:
        self._db = db
        self._definitions = definitions
        self._found: dict[tuple[str, int | None], tuple[int, Program] | Failure] = {}

    async def prepare(
        self, parent: RunRow, commands: Iterable[Command], now: float
    ) -> list[NewRun | RunMessage]:
        """Return a new run or a message for each command to start a child, in order.

        If the child run exists already, a message to the child continues it. If the child cannot
        start, a message to the parent reports the failure.
        """
        return [
            await self._begin(parent, command, now)
            for command in commands
            if isinstance(command, StartChild)
        ]

    async def _begin(self, parent: RunRow, command: StartChild, now: float) -> NewRun | RunMessage:
        if command.resumes:
            child = child_id(parent.id, command.resumes)
            if await run_exists(self._db, child):
                return _continue_child(child, command, now)
        return _new_child(parent, command, await self._startable(command), now)

    async def _startable(self, command: StartChild) -> tuple[int, Program] | Failure:
        key = command.workflow, command.version
        if key not in self._found:
            try:
                self._found[key] = await self._definitions.startable(self._db, *key)
            except UnknownWorkflowError as error:
                self._found[key] = Failure("unknown_workflow", str(error))
        return self._found[key]


def _new_child(
    parent: RunRow, command: StartChild, found: tuple[int, Program] | Failure, now: float
) -> NewRun | RunMessage:
    if isinstance(found, Failure):
        return _refusal(parent, command, found, now)
    version, program = found
    problem = input_problem(program.definition, command.input)
    if problem is not None:
        return _refusal(parent, command, Failure("invalid_input", problem), now)
    return NewRun(
        id=child_id(parent.id, command.resumes or command.task),
        workflow=command.workflow,
        version=version,
        input=command.input,
        starter=parent.starter,
        origin="workflow",
        at=now,
        parent_run=parent.id,
        parent_task=command.task,
        depth=command.depth,
        correlation_id=parent.correlation_id,
        traceparent=parent.traceparent,
    )


def _continue_child(child: str, command: StartChild, now: float) -> RunMessage:
    """Return the message that retries a child run because the parent's task is retried."""
    event = RetryRequested(at=now, parent_task=command.task)
    return RunMessage(f"{child}/continued/{command.task}", child, event)


def _refusal(parent: RunRow, command: StartChild, error: Failure, now: float) -> RunMessage:
    failed = TaskFailed(at=now, task=command.task, error=error)
    return RunMessage(f"{task_id(parent.id, command.task)}/refused", parent.id, failed)


def cancel_child(run_id: str, command: CancelChild, now: float) -> RunMessage:
    """Return the message that cancels a child run."""
    child = child_id(run_id, command.resumes or command.task)
    event = CancelRequested(at=now, reason="the run that started it does not wait for it any more")
    # A child that is continued may be cancelled again while the first message is still unread.
    name = f"cancelled/{command.task}" if command.resumes else "cancelled"
    return RunMessage(f"{child}/{name}", child, event)


def notify_parent(child: RunRow, state: State, end: RunFinished) -> RunMessage | None:
    """Return the message that reports the end of a run to its parent; None without a parent.

    A retried run can end again, so the message id contains the number of the run's last event.
    """
    task = state.parent_task or child.parent_task
    if child.parent_run is None or task is None:
        return None
    event, sequence = _child_outcome(child, task, end), state.applied
    return RunMessage(f"{child.id}/ended/{sequence}", child.parent_run, event)


def _child_outcome(child: RunRow, task: str, end: RunFinished) -> TaskSucceeded | TaskFailed:
    if end.status == "completed":
        return TaskSucceeded(at=end.at, task=task, output=end.output)
    error = end.error or Failure(end.status, f"the run was {end.status}")
    details = {"run": child.id, "step": error.step}
    return TaskFailed(at=end.at, task=task, error=Failure(error.code, error.message, "", details))


SNAPSHOT_EVENTS: Final = 100
"""The minimum number of events between two snapshots of a run.

It grows to a quarter of the run's events, so that the cost per event stays constant.
"""


class RunDecision(Struct):
    """A decision on a run: events to record, numbered from `first`, and commands to send."""

    cached: CachedRun
    messages: Sequence[InboxMessage]
    first: int
    events: list[Event]
    commands: list[Command]
    ignored: int
    closed: list[str]
    """The tasks of approvals that are closed by this decision."""

    @property
    def end(self) -> RunFinished | None:
        """The event that ends the run in this decision; None if the run continues."""
        last = self.events[-1] if self.events else None
        return last if isinstance(last, RunFinished) else None

    @property
    def outcome(self) -> RunFinished | None:
        """The end of the run if it has to be reported to the parent, otherwise None.

        Either the run ends in this decision, or it had completed already when the parent retried
        the step that waits for it.
        """
        state = self.cached.state
        if self.end is not None or state.phase not in FINAL:
            return self.end
        if not any(_is_from_parent(event) for event in self.events):
            return None
        assert state.phase == "completed", "other runs go on"
        return RunFinished(at=self.events[-1].at, status="completed", output=state.output)

    @property
    def wants_snapshot(self) -> bool:
        """True if a snapshot of the state is to be stored with this decision."""
        at = self.cached.row.snapshot_at
        since = self.cached.state.applied - at
        return bool(self.events) and (
            self.cached.state.phase in FINAL or since >= max(SNAPSHOT_EVENTS, at // 4)
        )

    def next_timer(self, now: float) -> float | None:
        """Return the time for `next_timer` in the run's row: nothing is due before it.

        If the stored time is earlier than the run's next timer, the stored time is kept. That saves
        a write; the cost is that the run is checked once too early.
        """
        written, due = self.cached.row.next_timer, self.cached.state.next_timer
        if written is None or written <= now or self.cached.state.phase in FINAL:
            return due
        return written if due is None else min(written, due)


def begin_decision(cached: CachedRun, messages: Sequence[InboxMessage]) -> RunDecision:
    """Return an empty decision on a run."""
    return RunDecision(cached, messages, cached.state.applied + 1, [], [], 0, [])


def decide_run(decision: RunDecision, arrivals: Sequence[Arrival], now: float) -> Iterator[None]:
    """Decide on arriving events in order, and on due timers.

    Yield between the parts of a long decision, so that other tasks of the event loop can run.
    """
    for arrival in arrivals:
        _receive(decision, arrival)
        yield from _decide(decision, now)
    if not arrivals:
        yield from _decide(decision, now)
    cached = decision.cached
    requested = {each.task for each in decision.commands if isinstance(each, RequestApproval)}
    cached.approvals |= requested
    decision.closed = [task for task in cached.approvals if find_active(cached.state, task) is None]
    cached.approvals.difference_update(decision.closed)


def _is_from_parent(event: Event) -> bool:
    return isinstance(event, RetryRequested) and event.parent_task is not None


def _receive(decision: RunDecision, arrival: Arrival) -> None:
    try:
        event = take(decision.cached.program, decision.cached.state, arrival)
    except RefusedError:  # operations check first; this signal came in another way
        event = None
    if event is None:
        decision.ignored += 1
    else:
        decision.events.append(event)


def _decide(decision: RunDecision, now: float) -> Iterator[None]:
    more = True
    while more:
        step = decide(decision.cached.program, decision.cached.state, now)
        decision.events.extend(step.events)
        decision.commands.extend(step.commands)
        more = step.more
        if more:
            yield


T = TypeVar("T")
_Row = tuple[Any, ...]


class RunWrites(Struct):
    """The rows and messages to write for one run; `row` is the run's new row."""

    decision: RunDecision
    row: RunRow
    entries: list[RunHistoryRow]
    updates: list[_Row]
    snapshots: list[_Row]
    calls: list[NewTask]
    operations: list[NewTask]
    cancels: list[str]
    continues: list[_Row]
    opened: list[_Row]
    closed: list[_Row]
    children: list[NewRun]
    messages: list[RunMessage]


def compose_writes(
    decision: RunDecision,
    children: Sequence[NewRun | RunMessage],
    groups: Mapping[str, int],
    now: float,
) -> RunWrites:
    """Return the rows and messages to write for a decision.

    `children` are the results of `Children.prepare`. `groups` are the results of `attempt_groups`:
    for each task that repeats a call, the attempt group of the call.
    """
    cached, run_id = decision.cached, decision.cached.row.id
    state = cached.state
    row = replace(
        cached.row,
        status=state.status,
        next_timer=decision.next_timer(now),
        finished_at=state.finished_at,
        snapshot_at=state.applied if decision.wants_snapshot else cached.row.snapshot_at,
        problem=None,
    )
    writes = RunWrites(decision, row, [], [], [], [], [], [], [], [], [], [], [])
    if decision.events:
        text = encode_events(decision.events)
        writes.entries.append(RunHistoryRow(run_id, decision.first, len(decision.events), text))
    writes.closed = [(run_id, task) for task in decision.closed]
    changed = (row.status, row.next_timer, row.finished_at)
    if decision.wants_snapshot:
        text = encode_state(state).decode()
        writes.snapshots.append((run_id, *changed, text, row.snapshot_at))
    elif changed != (cached.row.status, cached.row.next_timer, cached.row.finished_at) or (
        cached.row.problem is not None
    ):
        writes.updates.append((run_id, *changed))
    _compose_commands(writes, iter(children), groups, now)
    if decision.outcome is not None:
        message = notify_parent(row, state, decision.outcome)
        writes.messages += [] if message is None else [message]
    return writes


def _compose_commands(
    writes: RunWrites,
    children: Iterator[NewRun | RunMessage],
    groups: Mapping[str, int],
    now: float,
) -> None:
    row = writes.row
    for command in writes.decision.commands:
        match command:
            case CallAgent() | CallTool() | CallMethod() | CallPlugin():
                writes.calls.append(_task(row, command, groups, now))
            case CallOperation():
                writes.operations.append(_task(row, command, groups, now))
            case CancelTask(task=task):
                writes.cancels.append(task_id(row.id, task))
            case ContinueTask(task=task, payload=payload):
                writes.continues.append((task_id(row.id, task), json.encode(payload).decode()))
            case RequestApproval():
                approvers = json.encode(command.by).decode()
                prompt = json.encode({"message": command.message, "data": command.data}).decode()
                opened = (row.id, command.task, command.step, approvers, command.deadline, now)
                writes.opened.append((*opened, prompt))
            case CancelChild():
                writes.messages.append(cancel_child(row.id, command, now))
            case StartChild():  # in order: one decision may cancel a child and continue it
                begun = next(children)
                if isinstance(begun, NewRun):
                    writes.children.append(begun)
                else:
                    writes.messages.append(begun)
            case _:
                assert_never(command)


def _task(row: RunRow, command: Call, groups: Mapping[str, int], now: float) -> NewTask:
    return NewTask(
        run_id=row.id,
        command=command,
        at=now,
        attempt_group=groups.get(command.task, FIRST_GROUP),
        traceparent=row.traceparent,
        correlation_id=row.correlation_id,
    )


def _announcement(writes: RunWrites, entry: RunHistoryRow) -> RunAnnouncement:
    row = writes.row
    return RunAnnouncement(
        *(entry.run_id, entry.sequence, entry.events, writes.decision.events[0].at),
        row.correlation_id,
        row.traceparent,
    )


class LocalTasks(Struct, frozen=True):
    """The ids of new tasks that are recorded with the local worker as owner."""

    owner: str = ""
    ids: frozenset[str] = frozenset()


async def write_decisions(
    db: Transaction,
    engine: Engine,
    bus: Bus,
    batch: Sequence[RunWrites],
    strays: Sequence[InboxMessage],
    owned: LocalTasks,
) -> None:
    """Write decisions, and delete the messages that they handled.

    Tasks whose results were offered by the bus are marked as done. `strays` are messages whose run
    does not exist. Raise ConstraintError if another executor has decided on one of the runs
    first.
    """
    handled = list(chain(strays, *(writes.decision.messages for writes in batch)))
    await delete_messages(db, engine, handled)
    await finish_tasks(db, [each.message for each in handled if each.message is not None])
    await append_history(db, _flatten(writes.entries for writes in batch))
    await update_runs(db, _flatten(writes.updates for writes in batch))
    await store_snapshots(db, _flatten(writes.snapshots for writes in batch))
    await _hand_over(db, bus, batch, owned)
    await open_approvals(db, _flatten(writes.opened for writes in batch))
    await close_approvals(db, _flatten(writes.closed for writes in batch))
    await create_runs(db, _flatten(writes.children for writes in batch))
    await deliver(db, _flatten(writes.messages for writes in batch))


async def _hand_over(
    db: Transaction, bus: Bus, batch: Sequence[RunWrites], owned: LocalTasks
) -> None:
    calls = _flatten(writes.calls for writes in batch)
    operations = _flatten(writes.operations for writes in batch)
    local: list[NewTask] = []
    if owned.ids:
        local = [each for each in calls if each.id in owned.ids]
        own = [each for each in operations if each.id in owned.ids]
        await insert_owned(db, local + own, owned.owner)
        calls = [each for each in calls if each.id not in owned.ids]
        operations = [each for each in operations if each.id not in owned.ids]
    decisions = [_announcement(writes, entry) for writes in batch for entry in writes.entries]
    if calls or local or decisions:
        await bus.dispatch(db, calls, decisions, owned=local)
    await insert_tasks(db, operations, "ready")
    # In the order of ids, as every statement on many tasks, so that transactions cannot deadlock.
    continues = sorted(_flatten(writes.continues for writes in batch))
    await continue_tasks(db, continues)
    if cancels := sorted(_flatten(writes.cancels for writes in batch)):
        await bus.cancel(db, cancels)
    if operations or continues:
        await db.notify(WAKE)


def _flatten(lists: Iterable[list[T]]) -> list[T]:
    return list(chain.from_iterable(lists))
