"""Decisions that runs wait for. One of the people or roles that the step names is enough. A token
decides only where its scope `approve` was given on purpose, and never approves a run that its owner
started."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta, Struct

from accord.operations.auth.users import username_key
from accord.operations.context import Caller, OperationContext
from accord.operations.errors import ConflictError, ForbiddenError, InvalidError
from accord.operations.operation import Rest
from accord.operations.pages import Cursor, Limit, Page, cursor_keys, page_of, shown_page
from accord.operations.registry import Registry
from accord.store.store import Row
from accord.workflows.core.events import ApprovalGiven
from accord.workflows.operations.run_control import Reason, send_request
from accord.workflows.operations.run_views import (
    PendingApproval,
    Run,
    load_run_or_fail,
    pending_approvals,
    request_time,
    require_readable,
    utc_text,
)
from accord.workflows.operations.runs import RunId
from accord.workflows.operations.workflows import is_callable
from accord.workflows.storage.loading import LoadedRun
from accord.workflows.storage.runs import OPEN_APPROVALS

operations: Final = Registry()

ApprovalStep: TypeAlias = Annotated[
    str,
    Meta(min_length=1, max_length=500, description="Needed where the run waits for several."),
]

_FIRST: Final = (0.0, "", "")
_AT_ONCE: Final = 500


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
    that its owner started."""
    found = await load_run_or_fail(work, run)
    require_readable(found)
    wanted = _wanted(found, step)
    if not may_decide(work.caller, wanted.by):
        raise ForbiddenError(
            f"{wanted.key} is decided by {' or '.join(wanted.by)}", required=wanted.by
        )
    own = work.caller.user_id == found.row.starter.user_id
    if approved and own and work.caller.via == "token":
        raise ForbiddenError(
            "you started this run, and nobody approves with a token what they started: "
            "sign in and approve it there, or ask somebody else"
        )
    decision = ApprovalGiven(
        at=request_time(work),
        task=found.state.steps[wanted.key].task,
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
    place = _FIRST if cursor is None else cursor_keys(cursor, tuple[float, str, str])
    mine = [row async for row in _open(work)]
    behind = [row for row in mine if _key(row) > place]
    page = page_of(behind[: limit + 1], limit=limit, total=len(mine), key=_key)
    return shown_page(page, _waiting)


def may_decide(caller: Caller, by: Iterable[str]) -> bool:
    """Return True if a user is among these people and roles."""
    names = {username_key(each) for each in by}
    return not names.isdisjoint((username_key(caller.username), username_key(caller.role)))


def _wanted(run: LoadedRun, step: str | None) -> PendingApproval:
    """The decision that is meant. Raises ConflictError where the run waits for none, and
    InvalidError, which names those that it waits for."""
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


async def _open(work: OperationContext) -> AsyncIterator[Row]:
    """Return the approvals that wait for the caller."""
    place = _FIRST
    while True:
        rows = await work.db.fetch(OPEN_APPROVALS, *place, _AT_ONCE)
        for row in rows:
            if may_decide(work.caller, _approvers(row)):
                yield row
        if len(rows) < _AT_ONCE:
            return
        place = _key(rows[-1])


def _key(row: Row) -> tuple[float, str, str]:
    return row["created_at"], row["run_id"], row["task"]


def _approvers(row: Row) -> list[str]:
    return msgspec.json.decode(row["approvers"], type=list[str])


class _ApprovalPrompt(Struct, frozen=True):
    message: str = ""
    data: Any = None


def _waiting(row: Row) -> WaitingApproval:
    # Those that an earlier release opened have none.
    shown = (
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
        message=shown.message,
        data=shown.data,
    )
