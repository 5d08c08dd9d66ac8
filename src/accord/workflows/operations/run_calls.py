"""What the steps of runs call: which agent or operation, how often it was tried, what the other
side calls it. And one step with all that is known of it."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from accord.operations.errors import NotFoundError
from accord.operations.operation import Rest
from accord.operations.pages import Cursor, Limit, Page, keys_of, page_of, shown_page
from accord.operations.registry import Registry
from accord.operations.work import Work
from accord.store.store import Row
from accord.workflows.bridge.claimed import claimed_of, unreadable
from accord.workflows.bridge.message_ids import message_id_of
from accord.workflows.core.errors import NewerSchemaError
from accord.workflows.core.events import StepStarted
from accord.workflows.operations.commands import StepKey
from accord.workflows.operations.moments import now_of, text_of
from accord.workflows.operations.run_views import (
    ChildRun,
    Step,
    loaded,
    require_readable,
    require_run,
    run_children,
    shown_steps,
)
from accord.workflows.operations.runs import RunId
from accord.workflows.storage.history import read_history
from accord.workflows.storage.task_rows import (
    CALLS_OF_STEP,
    COUNT_CALLS,
    COUNT_OPEN_CALLS,
    LIST_CALLS,
    LIST_OPEN_CALLS,
)
from accord.workflows.storage.tasks import Kind

operations: Final = Registry()

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
    work: Work,
    *,
    id: RunId,
    open: bool = False,
    limit: Limit = 100,
    cursor: Cursor | None = None,
) -> Page[RunCall]:
    """List what the steps of a run called, the oldest first; with `open` what is under way."""
    await require_run(work, id)
    after = _FIRST if cursor is None else keys_of(cursor, tuple[float, str])
    rows = await work.db.fetch(LIST_OPEN_CALLS if open else LIST_CALLS, id, *after, limit + 1)
    [count] = await work.db.fetch(COUNT_OPEN_CALLS if open else COUNT_CALLS, id)
    page = page_of(
        rows, limit=limit, total=count["total"], key=lambda row: (row["created_at"], row["id"])
    )
    now = now_of(work)
    return shown_page(page, lambda row: _call(row, now))


@operations.read(rest=Rest("GET", "/runs/{id}/steps/{step}"), tag="runs", tool=False, snapshot=True)
async def get_run_step(work: Work, *, id: RunId, step: StepKey) -> RunStep:
    """Get one step of a run, with its input and what it called."""
    run = await loaded(work, id)
    require_readable(run)
    found = next((each for each in shown_steps(run.program, run.state) if each.key == step), None)
    if found is None:
        raise NotFoundError(f"the run has no step {step!r}")
    started = await _started(work, id, step)
    calls = await work.db.fetch(CALLS_OF_STEP, id, step, f"{_escaped(step)}@%")
    now = now_of(work)
    return RunStep(
        **asdict(found),
        input=None if started is None else started.input,
        choice=None if started is None else started.choice,
        deadline=text_of(run.state.deadlines.get(step)),
        wakes_at=text_of(run.state.wakes.get(step)),
        calls=[_call(row, now) for row in calls],
        children=[
            each for each in await run_children(work.db, run) if each.step.partition("@")[0] == step
        ],
    )


async def _started(work: Work, id: str, step: str) -> StepStarted | None:
    """How a step began, the last time it did."""
    found = None
    for _, event in await read_history(work.db, id):
        if isinstance(event, StepStarted) and event.key == step:
            found = event
    return found


def _call(row: Row, now: float) -> RunCall:
    try:
        task = claimed_of(row)
    except (NewerSchemaError, msgspec.DecodeError):
        task = unreadable(row)
    waits = row["state"] == "ready" and row["due"] > now
    return RunCall(
        id=task.id,
        step=task.command.step,
        kind=task.kind,
        target=task.target,
        state=row["state"],
        outcome=row["outcome"],
        attempt=task.attempt,
        next_try=text_of(row["due"]) if waits else None,
        message_id=message_id_of(task) if task.kind == "agent" else "",
        remote_task=task.remote_task,
        started_at=text_of(row["created_at"]),
        finished_at=text_of(row["finished_at"]),
    )


def _escaped(text: str) -> str:
    """A text as LIKE takes it for itself."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
