"""Control of runs: cancel, pause, resume, retry, signal.

The run's executor gets a message. Requests that make no sense for the run's state are refused
before.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta

from accord.operations.context import Effect, OperationContext
from accord.operations.errors import ConflictError, InvalidError
from accord.operations.operation import Rest
from accord.operations.registry import Registry
from accord.workflows.core.errors import RefusedError
from accord.workflows.core.events import (
    CancelRequested,
    PauseRequested,
    ResumeRequested,
    RetryRequested,
    SignalReceived,
)
from accord.workflows.core.machine import Request, check_request
from accord.workflows.core.outputs import size_problem
from accord.workflows.operations.run_views import (
    Run,
    load_run_or_fail,
    request_time,
    require_readable,
    shown_run,
)
from accord.workflows.operations.runs import RunId, StepKey
from accord.workflows.operations.workflows import is_callable
from accord.workflows.storage.inbox import RunMessage, deliver
from accord.workflows.storage.loading import LoadedRun

operations: Final = Registry()

Reason: TypeAlias = Annotated[str, Meta(max_length=2_000)]
SignalName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=500)]
SignalId: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=255, description="A second signal with it is ignored.")
]


@operations.write(
    right="run",
    rest=Rest("POST", "/runs/{run}/cancel", 202),
    tag="runs",
    tool=False,
    open_world=True,
    runs=is_callable,
)
async def cancel_run(work: OperationContext, *, run: RunId, reason: Reason = "") -> Run:
    """Cancel a run; agents that work for it are told."""
    return await send_request(
        work,
        await own_run(work, run),
        CancelRequested(at=request_time(work), by=work.caller.username, reason=reason),
    )


@operations.write(
    right="run",
    rest=Rest("POST", "/runs/{run}/pause", 202),
    tag="runs",
    tool=False,
    open_world=True,
    runs=is_callable,
)
async def pause_run(work: OperationContext, *, run: RunId) -> Run:
    """Let a run start nothing more until it is resumed; what is under way goes on."""
    return await send_request(
        work,
        await own_run(work, run),
        PauseRequested(at=request_time(work), by=work.caller.username),
    )


@operations.write(
    right="run",
    rest=Rest("POST", "/runs/{run}/resume", 202),
    tag="runs",
    tool=False,
    open_world=True,
    runs=is_callable,
)
async def resume_run(work: OperationContext, *, run: RunId) -> Run:
    """Let a run that was paused go on."""
    return await send_request(
        work,
        await own_run(work, run),
        ResumeRequested(at=request_time(work), by=work.caller.username),
    )


@operations.write(
    right="run",
    rest=Rest("POST", "/runs/{run}/retry", 202),
    tag="runs",
    tool=False,
    open_world=True,
    runs=is_callable,
)
async def retry_run(work: OperationContext, *, run: RunId, step: StepKey | None = None) -> Run:
    """Continue a run that failed or was cancelled: what did not complete starts again, what
    completed stays. With `step`, that step and everything after it runs again."""
    return await send_request(
        work,
        await own_run(work, run),
        RetryRequested(at=request_time(work), step=step, by=work.caller.username),
    )


@operations.write(
    right="run",
    rest=Rest("POST", "/runs/{run}/signal", 202),
    tag="runs",
    tool=False,
    open_world=True,
    runs=is_callable,
)
async def signal_run(
    work: OperationContext,
    *,
    run: RunId,
    name: SignalName,
    id: SignalId | None = None,
    payload: Any = None,
) -> Run:
    """Send a run a signal, which it keeps until something waits for it. An agent that asks for
    input is answered by one that is named as its step's key."""
    _, problem = size_problem("payload", payload)
    if problem is not None:
        raise InvalidError("payload", problem.message)
    signal = SignalReceived(
        at=request_time(work), name=name, id=id or work.new_id(), payload=payload
    )
    return await send_request(work, await own_run(work, run), signal, f"signal/{signal.id}")


async def own_run(work: OperationContext, id: str) -> LoadedRun:
    """A run that the caller may command. Raises NotFoundError and ForbiddenError."""
    run = await load_run_or_fail(work, id)
    work.caller.require_own(run.row.starter.user_id, "this run")
    return run


async def send_request(
    work: OperationContext, run: LoadedRun, request: Request, message: str = ""
) -> Run:
    """Have a run do something; the run as it is before it does. Raises ConflictError where it
    cannot."""
    check_allowed(run, request)
    id = f"{run.row.id}/{message or work.new_id()}"
    await deliver(work.db, [RunMessage(id, run.row.id, request)])
    work.reaches("agents")
    what = type(request).__struct_config__.tag
    work.did(
        Effect(
            action="updated",
            kind="run",
            id=run.row.id,
            reference_id=run.row.id,
            before={"state": run.state.status},
            after={"state": run.state.status, "asked": what},
        )
    )
    return await shown_run(work.db, run)


def check_allowed(run: LoadedRun, request: Request) -> None:
    """Raises ConflictError where a run cannot do what is asked of it."""
    if run.unreadable is not None and isinstance(request, CancelRequested):
        return  # it is cancelled as soon as it can be read
    require_readable(run)
    pending = run.state.phase == "pending"
    if pending and isinstance(request, CancelRequested | PauseRequested | SignalReceived):
        return  # it is told after it began
    try:
        check_request(run.program, run.state, request)
    except RefusedError as error:
        raise ConflictError(str(error), state=run.state.status) from None
