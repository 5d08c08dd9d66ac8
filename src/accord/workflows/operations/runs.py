"""Operations on runs: start and list them, and read their history, steps and calls."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from accord.operations.context import Effect, OperationContext
from accord.operations.errors import ConflictError, InvalidError, NotFoundError
from accord.operations.operation import Rest
from accord.operations.pages import Cursor, Limit, Page, cursor_keys, map_page, page_of
from accord.operations.registry import Registry
from accord.store.store import Row
from accord.workflows.bridge.task import is_callable, message_id_of, read_claimed, unreadable_task
from accord.workflows.core.errors import MAX_CHAIN, NewerSchemaError
from accord.workflows.core.events import StepStarted
from accord.workflows.core.rules import input_problem
from accord.workflows.core.state import RunStatus
from accord.workflows.operations.run_views import (
    ChildRun,
    Run,
    RunEvent,
    RunSummary,
    Step,
    load_run_or_fail,
    request_time,
    require_readable,
    require_run,
    run_children,
    shown_event,
    shown_run,
    shown_steps,
    utc_text,
)
from accord.workflows.operations.workflows import WorkflowName, find_workflow
from accord.workflows.storage.definitions import Definitions
from accord.workflows.storage.history import LoadedRun, begun_run, read_history, read_recorded
from accord.workflows.storage.runs import (
    COUNT_RUNS_SINCE,
    NewRun,
    Origin,
    chain_after,
    count_rows,
    create_run,
    list_rows,
    starter_of,
    trace_of,
)
from accord.workflows.storage.tasks import (
    CALLS_OF_STEP,
    COUNT_CALLS,
    COUNT_OPEN_CALLS,
    LIST_CALLS,
    LIST_OPEN_CALLS,
    Kind,
)
from accord.workflows.watching import LAST_PLACE, RunWatch

operations: Final = Registry()

RunId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
StepKey: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=500, description="The key of a step, such as `comment[3]`.")
]
Wait: TypeAlias = Annotated[
    float, Meta(ge=0, le=60, description="Seconds to wait for its end before answering.")
]
Place: TypeAlias = Annotated[int, Meta(ge=0, le=LAST_PLACE)]

NEWEST: Final = (1e12, "")
"""A list position before the newest run: greater than the creation time and id of every run."""
_ORIGINS: Final[dict[str, Origin]] = {
    "rest": "rest",
    "rpc": "rpc",
    "mcp": "mcp",
    "a2a": "a2a",
    "cli": "cli",
    "web": "web",
    "system": "workflow",
}


class RunHistory(Struct, kw_only=True):
    """What happened in a run, in order."""

    items: list[RunEvent]
    has_more: bool
    """Whether there are later ones."""


async def _wait_for_end(work: OperationContext, arguments: Mapping[str, Any], result: Any) -> Any:
    """Wait until a started run has ended, and return the run.

    The argument `wait` is the maximum number of seconds.
    """
    seconds = arguments.get("wait", 0)
    if not seconds:
        return result
    id = result["id"] if isinstance(result, dict) else result.id
    await work.service(RunWatch).wait(id, seconds)
    run = await shown_run(work.db, await load_run_or_fail(work, id))
    if isinstance(result, Run):
        run.change_id = result.change_id
    return run


@operations.write(
    right="run",
    rest=Rest("POST", "/workflows/{name}/runs", 202, "/runs/{id}"),
    tag="runs",
    finish=_wait_for_end,
    open_world=True,
    runs=is_callable,
)
async def run_workflow(
    work: OperationContext,
    *,
    name: WorkflowName,
    input: Any = None,
    wait: Wait = 0,  # noqa: ARG001 - read by `_wait_for_end`
) -> Run:
    """Start a run of a workflow. get_run tells what became of it."""
    return await shown_run(work.db, await start_run(work, work.new_id(), name, input))


async def start_run(work: OperationContext, id: str, name: str, input: Any) -> LoadedRun:
    """Start a run as the caller.

    Raise NotFoundError if there is no such workflow, ConflictError if it is inactive or the chain
    of runs is too long, InvalidError if the input is invalid.
    """
    row = await find_workflow(work.db, name)
    if not row["active"]:
        raise ConflictError(f"runs of {row['name']}@{row['version']} cannot be started: not active")
    program = await work.service(Definitions).get(work.db, row["name"], row["version"])
    problem = input_problem(program.definition, input)
    if problem is not None:
        raise InvalidError("input", problem)
    caller = work.caller
    run = NewRun(
        id=id,
        workflow=row["name"],
        version=row["version"],
        input=input,
        starter=starter_of(caller),
        cause=caller.run_id,
        chain=await _chain(work),
        origin=_ORIGINS[caller.face],
        at=request_time(work),
        correlation_id=caller.correlation_id,
        traceparent=trace_of(caller),
    )
    await create_run(work.db, run)
    work.reaches("agents")
    work.record(
        Effect(
            action="created",
            kind="run",
            id=run.id,
            reference_id=run.id,
            after={"workflow": run.workflow, "version": run.version},
        )
    )
    return begun_run(run, program)


@operations.read(rest=Rest("GET", "/runs/{id}"), tag="runs", snapshot=True)
async def get_run(work: OperationContext, *, id: RunId) -> Run:
    """Get a run: its state, output, error, steps, and what it waits for."""
    return await shown_run(work.db, await load_run_or_fail(work, id))


@operations.read(rest=Rest("GET", "/runs"), tag="runs", tool=False, snapshot=True)
async def list_runs(
    work: OperationContext,
    *,
    workflow: WorkflowName | None = None,
    state: RunStatus | None = None,
    started_by: Annotated[str, Meta(max_length=64)] | None = None,
    parent_run: RunId | None = None,
    limit: Limit = 20,
    cursor: Cursor | None = None,
) -> Page[RunSummary]:
    """List runs, the newest first."""
    bare, _, version = (workflow or "").partition("@")
    filters = {
        "workflow": bare or None,
        "version": int(version) if version else None,
        "status": state,
        "username": started_by,
        "parent_run": parent_run,
    }
    conditions = {column: value for column, value in filters.items() if value is not None}
    total = await count_rows(work.db, conditions)
    before = NEWEST if cursor is None else cursor_keys(cursor, tuple[float, str])
    rows = await list_rows(work.db, conditions, before, limit + 1)
    page = page_of(rows, limit=limit, total=total, key=lambda row: (row["created_at"], row["id"]))
    return map_page(page, _listed)


@operations.read(rest=Rest("GET", "/runs/{id}/steps"), tag="runs", tool=False, snapshot=True)
async def list_run_steps(
    work: OperationContext, *, id: RunId, limit: Limit = 100, cursor: Cursor | None = None
) -> Page[Step]:
    """List the steps of a run, in the order in which they are written."""
    run = await load_run_or_fail(work, id)
    [start] = [0] if cursor is None else cursor_keys(cursor, tuple[int])
    steps = list(islice(shown_steps(run.program, run.state), start, None)) if start >= 0 else []
    return page_of(
        steps[: limit + 1],
        limit=limit,
        total=start + len(steps),
        key=lambda _step: (start + limit,),
    )


@operations.read(rest=Rest("GET", "/runs/{id}/history"), tag="runs", tool=False, snapshot=True)
async def get_run_history(
    work: OperationContext, *, id: RunId, after: Place = 0, last: bool = False, limit: Limit = 100
) -> RunHistory:
    """What happened in a run, in order, from the event after number `after` on; with `last` only
    the end of it."""  # noqa: D205, D401 - the text in documents
    await require_run(work, id)
    events = await read_recorded(work.db, id, after)
    page = events[-limit:] if last else events[:limit]
    return RunHistory(
        items=[shown_event(*each) for each in page],
        has_more=not last and len(events) > limit,
    )


async def _chain(work: OperationContext) -> int:
    """Return the number of runs that triggered each other before a new run.

    It is 0 if the caller is no run. Raise ConflictError if it exceeds the limit.
    """
    chain = await chain_after(work.db, work.caller.run_id)
    if chain > MAX_CHAIN:
        raise ConflictError(
            f"{chain} runs were started by runs, one after the other, and the limit is {MAX_CHAIN}"
        )
    return chain


def _listed(row: Row) -> RunSummary:
    return RunSummary(
        id=row["id"],
        workflow=row["workflow"],
        workflow_version=row["version"],
        state=row["status"],
        started_by=row["username"],
        origin=row["origin"],
        parent_run=row["parent_run"],
        correlation_id=row["correlation_id"],
        created_at=utc_text(row["created_at"]),
        finished_at=utc_text(row["finished_at"]),
    )


Days: TypeAlias = Annotated[int, Meta(ge=1, le=90)]

_DAY: Final = 86_400


class RunCounts(Struct, kw_only=True):
    """Runs that were started since a time, by their state; states of none are left out."""

    since: str
    total: int
    by_state: dict[RunStatus, int]


@operations.read(rest=Rest("GET", "/run-counts"), tag="runs", tool=False)
async def count_runs(work: OperationContext, *, days: Days = 7) -> RunCounts:
    """Count the runs of the last days by state."""
    since = request_time(work) - days * _DAY
    rows = await work.db.fetch(COUNT_RUNS_SINCE, since)
    counts: dict[RunStatus, int] = {row["status"]: row["total"] for row in rows if row["total"]}
    return RunCounts(since=utc_text(since), total=sum(counts.values()), by_state=counts)


_FIRST: Final = (-1.0, "")


class RunCall(Struct, kw_only=True):
    """Something that a step has done by somebody else."""

    id: str
    step: str
    """The key of the step."""
    kind: Kind
    target: str
    """The agent or operation, or an address."""
    state: Literal["published", "ready", "running", "asking", "done"]
    outcome: Literal["success", "error", "cancelled"] | None
    attempt: int
    next_try: str | None
    """When it is tried again, where the last attempt failed."""
    message_id: str
    """Of the message that an agent gets: the same while nobody knows what became of it."""
    remote_task: str
    """What the agent calls its task, once it told."""
    started_at: str
    finished_at: str | None


class RunStep(Step, kw_only=True):
    """A step with what went in and what was called."""

    input: Any
    choice: str | None
    """Of a condition: the list of steps that it chose."""
    deadline: str | None
    """When it is over, done or not."""
    wakes_at: str | None
    """When a wait is over."""
    calls: list[RunCall]
    children: list[ChildRun]


@operations.read(rest=Rest("GET", "/runs/{id}/calls"), tag="runs", tool=False, snapshot=True)
async def list_run_calls(
    work: OperationContext,
    *,
    id: RunId,
    open: bool = False,
    limit: Limit = 100,
    cursor: Cursor | None = None,
) -> Page[RunCall]:
    """List what the steps of a run called, the oldest first; with `open` what is under way."""
    await require_run(work, id)
    after = _FIRST if cursor is None else cursor_keys(cursor, tuple[float, str])
    rows = await work.db.fetch(LIST_OPEN_CALLS if open else LIST_CALLS, id, *after, limit + 1)
    [count] = await work.db.fetch(COUNT_OPEN_CALLS if open else COUNT_CALLS, id)
    page = page_of(
        rows, limit=limit, total=count["total"], key=lambda row: (row["created_at"], row["id"])
    )
    now = request_time(work)
    return map_page(page, lambda row: _call(row, now))


@operations.read(rest=Rest("GET", "/runs/{id}/steps/{step}"), tag="runs", tool=False, snapshot=True)
async def get_run_step(work: OperationContext, *, id: RunId, step: StepKey) -> RunStep:
    """Get one step of a run, with its input and what it called."""
    run = await load_run_or_fail(work, id)
    require_readable(run)
    found = next((each for each in shown_steps(run.program, run.state) if each.key == step), None)
    if found is None:
        raise NotFoundError(f"the run has no step {step!r}")
    started = await _started(work, id, step)
    calls = await work.db.fetch(CALLS_OF_STEP, id, step, f"{_escape_like(step)}@%")
    now = request_time(work)
    return RunStep(
        **asdict(found),
        input=None if started is None else started.input,
        choice=None if started is None else started.choice,
        deadline=utc_text(run.state.deadlines.get(step)),
        wakes_at=utc_text(run.state.wakes.get(step)),
        calls=[_call(row, now) for row in calls],
        children=[
            each for each in await run_children(work.db, run) if each.step.partition("@")[0] == step
        ],
    )


async def _started(work: OperationContext, id: str, step: str) -> StepStarted | None:
    """Return the latest event that started a step; None if the step has not started."""
    found = None
    for _, event in await read_history(work.db, id):
        if isinstance(event, StepStarted) and event.key == step:
            found = event
    return found


def _call(row: Row, now: float) -> RunCall:
    try:
        task = read_claimed(row)
    except (NewerSchemaError, msgspec.DecodeError):
        task = unreadable_task(row)
    waits = row["state"] == "ready" and row["due"] > now
    return RunCall(
        id=task.id,
        step=task.command.step,
        kind=task.kind,
        target=task.target,
        state=row["state"],
        outcome=row["outcome"],
        attempt=task.attempt,
        next_try=utc_text(row["due"]) if waits else None,
        message_id=message_id_of(task) if task.kind == "agent" else "",
        remote_task=task.remote_task,
        started_at=utc_text(row["created_at"]),
        finished_at=utc_text(row["finished_at"]),
    )


def _escape_like(text: str) -> str:
    """Escape a text for use in a LIKE pattern, with `!` as the escape character."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
