"""Operations that control runs: cancel, pause, resume, retry, signal, approve.

A request is sent to the run's inbox as a message, unless the run's state does not allow it.

An approval may be decided by any one of the people or roles that its step names. A decision made
with a token needs the scope `approve`, and cannot approve a run that the token's owner started.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta, Struct

from accord.operations.auth.users import username_key
from accord.operations.context import Caller, Effect, OperationContext
from accord.operations.errors import ConflictError, ForbiddenError, InvalidError
from accord.operations.operation import Rest
from accord.operations.pages import Cursor, Limit, Page, cursor_keys, map_page, page_of
from accord.operations.registry import Registry
from accord.store.store import Row
from accord.workflows.bridge.task import is_callable
from accord.workflows.core.errors import RefusedError
from accord.workflows.core.events import (
    ApprovalGiven,
    CancelRequested,
    PauseRequested,
    ResumeRequested,
    RetryRequested,
    SignalReceived,
)
from accord.workflows.core.machine import Request, check_request
from accord.workflows.core.outputs import size_problem
from accord.workflows.operations.run_views import (
    PendingApproval,
    Run,
    load_run_or_fail,
    pending_approvals,
    request_time,
    require_readable,
    shown_run,
    utc_text,
)
from accord.workflows.operations.runs import RunId, StepKey
from accord.workflows.storage.history import LoadedRun
from accord.workflows.storage.messages import RunMessage, deliver
from accord.workflows.storage.runs import OPEN_APPROVALS

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
    completed stays. With `step`, that step and everything after it runs again."""  # noqa: D205 - the text in documents
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
    input is answered by one that is named as its step's key."""  # noqa: D205 - the text in documents
    _, problem = size_problem("payload", payload)
    if problem is not None:
        raise InvalidError("payload", problem.message)
    signal = SignalReceived(
        at=request_time(work), name=name, id=id or work.new_id(), payload=payload
    )
    return await send_request(work, await own_run(work, run), signal, f"signal/{signal.id}")


async def own_run(work: OperationContext, id: str) -> LoadedRun:
    """Return a run that the caller may control.

    Raise NotFoundError if it does not exist, ForbiddenError if the caller may not control it.
    """
    run = await load_run_or_fail(work, id)
    work.caller.require_own(run.row.starter.user_id, "this run")
    return run


async def send_request(
    work: OperationContext, run: LoadedRun, request: Request, message: str = ""
) -> Run:
    """Send a request to a run, and return the run as it was before the request.

    Raise ConflictError if the state of the run does not allow the request.
    """
    check_allowed(run, request)
    id = f"{run.row.id}/{message or work.new_id()}"
    await deliver(work.db, [RunMessage(id, run.row.id, request)])
    work.reaches("agents")
    tag = type(request).__struct_config__.tag
    work.record(
        Effect(
            action="updated",
            kind="run",
            id=run.row.id,
            reference_id=run.row.id,
            before={"state": run.state.status},
            after={"state": run.state.status, "asked": tag},
        )
    )
    return await shown_run(work.db, run)


def check_allowed(run: LoadedRun, request: Request) -> None:
    """Raise ConflictError, with the reason, if the state of a run does not allow a request."""
    if run.unreadable is not None and isinstance(request, CancelRequested):
        return  # the executor cancels it as soon as it can be read
    require_readable(run)
    pending = run.state.phase == "pending"
    if pending and isinstance(request, CancelRequested | PauseRequested | SignalReceived):
        return  # the executor handles the request after the start
    try:
        check_request(run.program, run.state, request)
    except RefusedError as error:
        raise ConflictError(str(error), state=run.state.status) from None


ApprovalStep: TypeAlias = Annotated[
    str,
    Meta(min_length=1, max_length=500, description="Needed where the run waits for several."),
]

_FIRST_APPROVAL: Final = (0.0, "", "")
_APPROVALS_READ_AT_ONCE: Final = 500


class WaitingApproval(Struct, kw_only=True):
    """A decision that a run waits for, and the caller may take."""

    run_id: str
    step: str
    key: str
    by: list[str]
    workflow: str
    workflow_version: int
    started_by: str
    since: str
    deadline: str | None
    message: str
    """What there is to decide, as the definition says it."""
    data: Any
    """What to look at for that."""


@operations.write(
    right="approve",
    rest=Rest("POST", "/runs/{run}/approve", 202),
    tag="approvals",
    tool=False,
    open_world=True,
    runs=is_callable,
)
async def approve_run(
    work: OperationContext,
    *,
    run: RunId,
    step: ApprovalStep | None = None,
    approved: bool = True,
    reason: Reason = "",
) -> Run:
    """Approve what a run waits for, or with `approved: false` refuse it. No token approves a run
    that its owner started."""  # noqa: D205 - the text in documents
    found = await load_run_or_fail(work, run)
    require_readable(found)
    approval = _find_approval(found, step)
    if not may_decide(work.caller, approval.by):
        raise ForbiddenError(
            f"{approval.key} is decided by {' or '.join(approval.by)}", required=approval.by
        )
    own = work.caller.user_id == found.row.starter.user_id
    if approved and own and work.caller.via == "token":
        raise ForbiddenError(
            "you started this run, and nobody approves with a token what they started: "
            "sign in and approve it there, or ask somebody else"
        )
    decision = ApprovalGiven(
        at=request_time(work),
        task=found.state.steps[approval.key].task,
        approved=approved,
        by=work.caller.username,
        reason=reason,
    )
    return await send_request(work, found, decision)


@operations.read(rest=Rest("GET", "/approvals"), tag="approvals", tool=False, snapshot=True)
async def list_approvals(
    work: OperationContext, *, limit: Limit = 20, cursor: Cursor | None = None
) -> Page[WaitingApproval]:
    """List the decisions that wait for you, the oldest first."""
    place = _FIRST_APPROVAL if cursor is None else cursor_keys(cursor, tuple[float, str, str])
    mine = [row async for row in _open_approvals(work)]
    later = [row for row in mine if _approval_key(row) > place]
    page = page_of(later[: limit + 1], limit=limit, total=len(mine), key=_approval_key)
    return map_page(page, _waiting_approval)


def may_decide(caller: Caller, by: Iterable[str]) -> bool:
    """Return True if the caller's name or role is in the list `by`."""
    names = {username_key(each) for each in by}
    return not names.isdisjoint((username_key(caller.username), username_key(caller.role)))


def _find_approval(run: LoadedRun, step: str | None) -> PendingApproval:
    """Return a run's open approval for a step; None means the only one.

    Raise ConflictError if the run has no open approval, InvalidError with the open ones if `step`
    does not match exactly one.
    """
    waiting = list(pending_approvals(run.program, run.state))
    named = [each for each in waiting if step is None or step in (each.key, each.step)]
    if len(named) == 1:
        return named[0]
    if not waiting:
        raise ConflictError(
            f"the run is {run.state.status}, and waits for nobody's decision",
            state=run.state.status,
        )
    keys = [each.key for each in waiting]
    raise InvalidError("step", f"name one of those that wait: {', '.join(keys)}", valid=keys)


async def _open_approvals(work: OperationContext) -> AsyncIterator[Row]:
    """Yield the rows of open approvals on which the caller may decide, the oldest first."""
    place = _FIRST_APPROVAL
    while True:
        rows = await work.db.fetch(OPEN_APPROVALS, *place, _APPROVALS_READ_AT_ONCE)
        for row in rows:
            if may_decide(work.caller, _approvers(row)):
                yield row
        if len(rows) < _APPROVALS_READ_AT_ONCE:
            return
        place = _approval_key(rows[-1])


def _approval_key(row: Row) -> tuple[float, str, str]:
    return row["created_at"], row["run_id"], row["task"]


def _approvers(row: Row) -> list[str]:
    return msgspec.json.decode(row["approvers"], type=list[str])


class _ApprovalPrompt(Struct, frozen=True):
    message: str = ""
    data: Any = None


def _waiting_approval(row: Row) -> WaitingApproval:
    # Approvals that an earlier release opened have no prompt.
    prompt = (
        _ApprovalPrompt()
        if row["shown"] is None
        else msgspec.json.decode(row["shown"], type=_ApprovalPrompt)
    )
    return WaitingApproval(
        run_id=row["run_id"],
        step=row["step"],
        key=row["task"].partition("@")[0],
        by=_approvers(row),
        workflow=row["workflow"],
        workflow_version=row["version"],
        started_by=row["username"],
        since=utc_text(row["created_at"]),
        deadline=utc_text(row["deadline"]),
        message=prompt.message,
        data=prompt.data,
    )
