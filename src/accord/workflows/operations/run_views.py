"""The structs in which operations show runs, and their conversion; times are in UTC."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final, Literal, overload

import msgspec
from msgspec import Struct

from accord.operations.context import Changed, Database, OperationContext
from accord.operations.errors import ConflictError, NotFoundError
from accord.store.store import Row
from accord.workflows.core.definition import (
    AgentStep,
    CallStep,
    McpTarget,
    RpcTarget,
    Step as WorkStep,
    StepType,
    WaitStep,
    WorkflowStep,
    type_of,
)
from accord.workflows.core.events import Event
from accord.workflows.core.outputs import StepView, view_steps
from accord.workflows.core.program import Program, asks_approval
from accord.workflows.core.state import Failure, RunStatus, State, StepStatus
from accord.workflows.storage.definitions import Definitions, UnknownRunError
from accord.workflows.storage.history import LoadedRun, UnreadEvent, load_run
from accord.workflows.storage.runs import CHILDREN, run_exists

_EARLIEST: Final = datetime(1000, 1, 1, tzinfo=UTC).timestamp()
_LATEST: Final = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()


@overload
def utc_text(seconds: float) -> str: ...
@overload
def utc_text(seconds: float | None) -> str | None: ...
def utc_text(seconds: float | None) -> str | None:
    """Return a time as text in UTC, clamped to the years 1000 to 9999.

    Damaged histories may contain times outside the calendar.
    """
    if seconds is None:
        return None
    clamped = datetime.fromtimestamp(min(max(seconds, _EARLIEST), _LATEST), UTC)
    return clamped.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def request_time(work: OperationContext) -> float:
    """Return the time at which an operation was called, in seconds since 1970."""
    return datetime.fromisoformat(work.now).timestamp()


MAX_WAITS: Final = 100
MAX_STEPS_SHOWN: Final = 1_000
"""The maximum number of steps in the view of a run; `list_run_steps` lists the others."""

_HIDDEN: Final = frozenset({"schema", "type", "at", "frame", "size"})
"""Internal fields of events that views omit."""
_TIMES: Final = frozenset({"wake", "deadline"})


class RunError(Struct, kw_only=True):
    """Why a run or a step failed."""

    code: str
    message: str
    step: str | None
    """The key of the step that failed."""
    details: Any


class Step(Struct, kw_only=True):
    """One step of a run; of a loop's body every round is one."""

    name: str
    key: str
    """Its name and the rounds of the loops around it: `comment[3]`."""
    type: StepType
    state: StepStatus
    attempts: int
    output: Any
    error: RunError | None
    started_at: str | None
    finished_at: str | None
    prompt: Any
    """What an agent asks for: a signal named as the key of the step answers it."""


class PendingApproval(Struct, kw_only=True):
    """A decision that a run waits for."""

    step: str
    key: str
    by: list[str]
    """People or roles, of whom one is enough."""
    since: str
    deadline: str | None
    message: str
    """What there is to decide, as the definition says it."""
    data: Any
    """What to look at for that."""


class RunWait(Struct, kw_only=True):
    """Something that a run waits for."""

    kind: Literal["approval", "signal", "question", "time", "task", "run"]
    """A decision, a signal, an answer to an agent, a time, work that is under way, a child run."""
    step: str
    """The key of the step that waits."""
    what: str
    """People or roles, a signal, an agent or what else works on it; empty for a time."""
    until: str | None
    """When it is over: the time that is waited for, or the deadline of the step."""


class RunProblem(Struct, kw_only=True):
    """Why a run does not go on. It does by itself when that has changed."""

    code: str
    """newer_schema, unknown_workflow, unreadable, not_stored, internal_error, …"""
    message: str
    next_try: str | None
    """When it is tried again, at the latest."""


class ChildRun(Struct, kw_only=True):
    """A run that a step started."""

    id: str
    workflow: str
    workflow_version: int
    state: RunStatus
    step: str


class RunSummary(Changed, kw_only=True):
    id: str
    workflow: str
    workflow_version: int
    state: RunStatus
    started_by: str
    origin: str
    """How it was started: rest, rpc, mcp, cli, schedule, webhook, event, workflow, …"""
    parent_run: str | None
    correlation_id: str
    created_at: str
    finished_at: str | None


class Run(RunSummary, kw_only=True):
    input: Any
    output: Any
    error: RunError | None
    steps: list[Step]
    """In the order in which they are written."""
    steps_total: int
    approvals: list[PendingApproval]
    children: list[ChildRun]
    signals: list[str]
    """Names of signals that it waits for."""
    trace_id: str
    """Of the trace that its calls belong to (W3C Trace Context)."""
    waits: list[RunWait]
    """What it waits for, 100 at most."""
    problem: RunProblem | None
    """Why nothing can be decided on it at the moment, or its steps cannot be shown."""


class RunEvent(Struct, kw_only=True):
    """Something that happened in a run."""

    sequence: int
    type: str
    at: str
    detail: dict[str, Any]


async def load_run_or_fail(work: OperationContext, id: str) -> LoadedRun:
    """Return a run with its current state. Raise NotFoundError if it does not exist."""
    try:
        return await load_run(work.db, work.service(Definitions), id)
    except UnknownRunError as error:
        raise NotFoundError(str(error)) from None


def require_readable(run: LoadedRun) -> None:
    """Raise ConflictError if this release cannot read the run."""
    if run.unreadable is not None:
        raise ConflictError(
            f"the run cannot be read: {run.unreadable.message}", state=run.row.status
        )


async def require_run(work: OperationContext, id: str) -> None:
    """Raise NotFoundError if the run does not exist."""
    if not await run_exists(work.db, id):
        raise NotFoundError(str(UnknownRunError(id)))


async def shown_run(db: Database, run: LoadedRun) -> Run:
    """Convert a loaded run to the struct that operations return."""
    row, state = run.row, run.state
    views = list(view_steps(run.program, state))
    return Run(
        id=row.id,
        workflow=row.workflow,
        workflow_version=row.version,
        state=state.status,
        started_by=row.starter.username,
        origin=row.origin,
        parent_run=row.parent_run,
        correlation_id=row.correlation_id,
        created_at=utc_text(row.created_at),
        finished_at=utc_text(row.finished_at),
        input=state.input,
        output=state.output,
        error=shown_error(state.error),
        steps=[_step(each) for each in views[:MAX_STEPS_SHOWN]],
        steps_total=len(views),
        approvals=list(pending_approvals(run.program, state)),
        children=await run_children(db, run),
        signals=sorted(state.waiters) if state.phase == "running" else [],
        trace_id=row.traceparent[3:35],
        waits=list(islice(waits_of(run.program, state), MAX_WAITS)),
        problem=_problem(run),
    )


def waits_of(program: Program, state: State) -> Iterator[RunWait]:
    """Yield everything that a run waits for, in the order in which the steps started."""
    if state.phase != "running":
        return
    for key, step in state.steps.items():
        plan = program.plans[step.name]
        if not step.active or plan.blocks:
            continue
        until = state.deadlines.get(key)
        kind: Literal["approval", "signal", "question", "time", "task", "run"]
        match plan.step:
            case WaitStep(approval=approval) if approval is not None:
                kind, what = "approval", " or ".join(approval.by)
            case WaitStep(signal=str(signal)):
                kind, what = "signal", signal
            case WaitStep():
                kind, what, until = "time", "", state.wakes.get(key, until)
            case WorkflowStep(workflow=workflow):
                kind, what = "run", workflow
            case _:
                kind = "question" if step.status == "waiting" else "task"
                what = _worker_of(plan.step)
        yield RunWait(kind=kind, step=key, what=what, until=utc_text(until))


def _worker_of(step: WorkStep) -> str:
    """Return the name of what a step calls: agent, tool, method, operation or step type."""
    match step:
        case AgentStep(agent=agent):
            return agent
        case CallStep(mcp=McpTarget(tool=tool)):
            return tool
        case CallStep(rpc=RpcTarget(method=method)):
            return method
        case CallStep(operation=operation):
            return operation or ""
        case _:
            return type_of(step)


def _problem(run: LoadedRun) -> RunProblem | None:
    problem, row = run.problem, run.row
    if problem is None:
        return None
    is_tried = row.problem is not None or row.stuck is not None
    next_try = (row.next_timer if row.due is None else row.due) if is_tried else None
    return RunProblem(code=problem.code, message=problem.message, next_try=utc_text(next_try))


def shown_steps(program: Program, state: State) -> Iterator[Step]:
    """Yield the steps of a run as the structs that operations return."""
    return map(_step, view_steps(program, state))


def pending_approvals(program: Program, state: State) -> Iterator[PendingApproval]:
    """Yield the open approvals of a run."""
    if state.phase != "running":
        return
    for step in state.steps.values():
        plan = program.plans[step.name]
        if step.active and asks_approval(plan):
            assert isinstance(plan.step, WaitStep)
            assert plan.step.approval is not None
            yield PendingApproval(
                step=step.name,
                key=step.key,
                by=list(plan.step.approval.by),
                since=utc_text(step.started_at),
                deadline=utc_text(state.deadlines.get(step.key)),
                message=(step.shown or {}).get("message", ""),
                data=(step.shown or {}).get("data"),
            )


def shown_error(error: Failure | None) -> RunError | None:
    """Convert the failure of a step or run to the struct that operations return."""
    if error is None:
        return None
    return RunError(
        code=error.code,
        message=error.message,
        step=error.step or None,
        details=error.details,
    )


def shown_event(sequence: int, event: Event | UnreadEvent) -> RunEvent:
    """Convert an event to the struct that operations return.

    An event that this release cannot decode is shown with its stored fields.
    """
    if isinstance(event, UnreadEvent):
        members = {**event.detail, "type": event.type}
    else:
        members = msgspec.to_builtins(event)
    return RunEvent(
        sequence=sequence,
        type=members["type"],
        at=utc_text(event.at),
        detail={
            name: utc_text(value) if name in _TIMES and isinstance(value, float) else value
            for name, value in members.items()
            if name not in _HIDDEN and value is not None
        },
    )


def _step(view: StepView) -> Step:
    return Step(
        name=view.name,
        key=view.key,
        type=view.type,
        state=view.status,
        attempts=view.attempts,
        output=view.output,
        error=shown_error(view.error),
        started_at=utc_text(view.started_at),
        finished_at=utc_text(view.finished_at),
        prompt=view.prompt,
    )


async def run_children(db: Database, run: LoadedRun) -> list[ChildRun]:
    """Return the child runs that the steps of a run started."""
    if not run.state.applied and run.unreadable is None:  # nothing has happened yet
        return []
    return [_child(each) for each in await db.fetch(CHILDREN, run.row.id)]


def _child(row: Row) -> ChildRun:
    return ChildRun(
        id=row["id"],
        workflow=row["workflow"],
        workflow_version=row["version"],
        state=row["status"],
        step=row["parent_task"],
    )
