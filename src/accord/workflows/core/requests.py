"""Whether a run can do now what somebody asks of it. The machine ignores and counts what makes no
sense; people are told so before it is recorded."""

from __future__ import annotations

from typing import TypeAlias

from accord.workflows.core.errors import RefusedError
from accord.workflows.core.events import (
    ApprovalGiven,
    CancelRequested,
    PauseRequested,
    ResumeRequested,
    RetryRequested,
    SignalReceived,
)
from accord.workflows.core.limits import MAX_SIGNAL_IDS, MAX_SIGNALS
from accord.workflows.core.program import Program
from accord.workflows.core.retrying import retry_problem
from accord.workflows.core.state import State
from accord.workflows.core.tree import asks_approval, find_active

Request: TypeAlias = (
    ApprovalGiven
    | CancelRequested
    | PauseRequested
    | ResumeRequested
    | RetryRequested
    | SignalReceived
)


def check_request(program: Program, state: State, request: Request) -> None:
    """Raises RefusedError where a run cannot do what is asked of it."""
    problem = _problem(program, state, request)
    if problem is not None:
        raise RefusedError(problem)


def _problem(program: Program, state: State, request: Request) -> str | None:
    if isinstance(request, RetryRequested):
        return retry_problem(program, state, request.step)
    if state.phase == "pending":
        return "the run did not start"
    if state.phase != "running":
        return f"the run is {state.phase} already"
    match request:
        case PauseRequested() if state.paused:
            return "the run is paused already"
        case ResumeRequested() if not state.paused:
            return "the run is not paused"
        case ApprovalGiven():
            return _approval_problem(program, state, request)
        case SignalReceived():
            return _signal_problem(state, request)
        case _:
            return None


def _approval_problem(program: Program, state: State, request: ApprovalGiven) -> str | None:
    step = find_active(state, request.task)
    if step is not None and asks_approval(program.plans[step.name]):
        return None
    return f"nobody is asked to approve {request.task[:80]!r}"


def _signal_problem(state: State, request: SignalReceived) -> str | None:
    if request.id in state.signal_ids:
        return None
    if sum(map(len, state.signals.values())) >= MAX_SIGNALS:
        return f"{MAX_SIGNALS:,} signals wait to be taken, and that is the limit"
    if len(state.signal_ids) >= MAX_SIGNAL_IDS:
        return f"the run got {MAX_SIGNAL_IDS:,} signals, and that is the limit"
    return None
