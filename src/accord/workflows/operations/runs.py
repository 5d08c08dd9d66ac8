"""Runs: how they are started, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta, Struct

from accord.operations.errors import ConflictError, InvalidError
from accord.operations.operation import Rest
from accord.operations.pages import Cursor, Limit, Page, keys_of, page_of, shown_page
from accord.operations.registry import Registry
from accord.operations.work import Effect, Work
from accord.store.store import Row
from accord.workflows.core.limits import MAX_CHAIN
from accord.workflows.core.rules import input_problem
from accord.workflows.core.state import RunStatus
from accord.workflows.operations.moments import now_of, text_of
from accord.workflows.operations.run_views import (
    Run,
    RunEvent,
    RunSummary,
    Step,
    loaded,
    require_run,
    shown_event,
    shown_run,
    shown_steps,
)
from accord.workflows.operations.saving import is_callable
from accord.workflows.operations.workflows import WorkflowName, find_workflow
from accord.workflows.starter import starter_of, trace_of
from accord.workflows.storage.definitions import Definitions
from accord.workflows.storage.history import read_recorded
from accord.workflows.storage.loading import Loaded, begun_run
from accord.workflows.storage.runs import (
    NewRun,
    Origin,
    chain_after,
    count_rows,
    create_run,
    list_rows,
)
from accord.workflows.watching import LAST_PLACE, RunWatch

operations: Final = Registry()

RunId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
Wait: TypeAlias = Annotated[
    float, Meta(ge=0, le=60, description="Seconds to wait for its end before answering.")
]
Place: TypeAlias = Annotated[int, Meta(ge=0, le=LAST_PLACE)]

NEWEST: Final = (1e12, "")
"""Above the keys of every run."""
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


async def _wait_for_end(work: Work, arguments: Mapping[str, Any], result: Any) -> Any:
    """The run once it has ended, or as it is after the time that the caller gives it."""
    seconds = arguments.get("wait", 0)
    if not seconds:
        return result
    id = result["id"] if isinstance(result, dict) else result.id
    await work.service(RunWatch).wait(id, seconds)
    run = await shown_run(work.db, await loaded(work, id))
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
async def run_workflow(work: Work, *, name: WorkflowName, input: Any = None, wait: Wait = 0) -> Run:
    """Start a run of a workflow. get_run tells what became of it."""
    return await shown_run(work.db, await start_run(work, work.new_id(), name, input))


async def start_run(work: Work, id: str, name: str, input: Any) -> Loaded:
    """Start a run as the caller. Raises NotFoundError, ConflictError and InvalidError."""
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
        at=now_of(work),
        correlation_id=caller.correlation_id,
        traceparent=trace_of(caller),
    )
    await create_run(work.db, run)
    work.reaches("agents")
    work.did(
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
async def get_run(work: Work, *, id: RunId) -> Run:
    """Get a run: its state, output, error, steps, and what it waits for."""
    return await shown_run(work.db, await loaded(work, id))


@operations.read(rest=Rest("GET", "/runs"), tag="runs", tool=False, snapshot=True)
async def list_runs(
    work: Work,
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
    given = {column: value for column, value in filters.items() if value is not None}
    total = await count_rows(work.db, given)
    before = NEWEST if cursor is None else keys_of(cursor, tuple[float, str])
    rows = await list_rows(work.db, given, before, limit + 1)
    page = page_of(rows, limit=limit, total=total, key=lambda row: (row["created_at"], row["id"]))
    return shown_page(page, _listed)


@operations.read(rest=Rest("GET", "/runs/{id}/steps"), tag="runs", tool=False, snapshot=True)
async def list_run_steps(
    work: Work, *, id: RunId, limit: Limit = 100, cursor: Cursor | None = None
) -> Page[Step]:
    """List the steps of a run, in the order in which they are written."""
    run = await loaded(work, id)
    [start] = [0] if cursor is None else keys_of(cursor, tuple[int])
    steps = list(islice(shown_steps(run.program, run.state), start, None)) if start >= 0 else []
    return page_of(
        steps[: limit + 1], limit=limit, total=start + len(steps), key=lambda step: (start + limit,)
    )


@operations.read(rest=Rest("GET", "/runs/{id}/history"), tag="runs", tool=False, snapshot=True)
async def get_run_history(
    work: Work, *, id: RunId, after: Place = 0, last: bool = False, limit: Limit = 100
) -> RunHistory:
    """What happened in a run, in order, from the event after number `after` on; with `last` only
    the end of it."""
    await require_run(work, id)
    events = await read_recorded(work.db, id, after)
    shown = events[-limit:] if last else events[:limit]
    return RunHistory(
        items=[shown_event(*each) for each in shown],
        has_more=not last and len(events) > limit,
    )


async def _chain(work: Work) -> int:
    """How many runs led to a new one. Raises ConflictError where that goes on and on."""
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
        created_at=text_of(row["created_at"]),
        finished_at=text_of(row["finished_at"]),
    )
