"""The state machine of runs: the state of a run is a fold over its history.

    program = compile_program(definition)
    state = fold(program, history)                      # or a stored state, and the events since
    event = receive(program, state, arrival)            # a message arrived: record the event
    decision = decide(program, state, now)              # its consequences, already applied

The caller records the event and `decision.events` in this order, sends `decision.commands` in the
same transaction, and decides again when a message arrives or at `state.next_timer`.

Arriving values that are too large are cut or rejected here. Limits are applied only here and in
`decisions`, not in `fold`, so a stored history keeps its meaning when a limit changes. Requests
that the run's state does not allow are ignored, and counted in `State.ignored`; to report them to
the caller, call `check_request` first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from msgspec.structs import replace

from accord.workflows.core.decisions import Decision, decide
from accord.workflows.core.errors import MAX_SIGNAL_IDS, MAX_SIGNALS, RefusedError
from accord.workflows.core.events import (
    ApprovalGiven,
    Arrival,
    CancelRequested,
    Event,
    PauseRequested,
    ResumeRequested,
    RetryRequested,
    SignalReceived,
    TaskAsked,
    TaskFailed,
    TaskSucceeded,
)
from accord.workflows.core.outputs import size_problem
from accord.workflows.core.program import Program, asks_approval, compile_program, find_active
from accord.workflows.core.retry import retry_problem
from accord.workflows.core.state import Failure, State
from accord.workflows.core.transitions import apply

_MAX_ERROR_TEXT: Final = 4_000
"""The maximum length of codes, messages and reasons, in characters."""


def admit(event: Arrival) -> Arrival:
    """Limit the sizes in an arriving event, and return the event to record.

    A success with too large an output becomes a failure. Raise RefusedError for too large a signal.
    """
    match event:
        case TaskSucceeded():
            return _succeeded(event)
        case TaskFailed():
            return replace(event, error=_cut(event.error))
        case TaskAsked():
            _, problem = size_problem("prompt", event.prompt)
            return event if problem is None else replace(event, prompt=None)
        case SignalReceived():
            size, problem = size_problem("payload", event.payload)
            if problem is not None:
                raise RefusedError(problem.message)
            return replace(event, size=size)
        case ApprovalGiven():
            return replace(event, reason=event.reason[:_MAX_ERROR_TEXT])
        case CancelRequested():
            return replace(
                event, by=event.by[:_MAX_ERROR_TEXT], reason=event.reason[:_MAX_ERROR_TEXT]
            )
        case _:
            return event


def _succeeded(event: TaskSucceeded) -> TaskSucceeded | TaskFailed:
    size, problem = size_problem("output", event.output, event.data, event.artifacts)
    if problem is None:
        return replace(event, size=size)
    return TaskFailed(at=event.at, task=event.task, error=problem, attempts=event.attempts)


def _cut(error: Failure) -> Failure:
    _, problem = size_problem("error", error.details)
    details = None if problem is not None else error.details
    return replace(
        error,
        code=error.code[:_MAX_ERROR_TEXT],
        message=error.message[:_MAX_ERROR_TEXT],
        details=details,
    )


Request: TypeAlias = (
    ApprovalGiven
    | CancelRequested
    | PauseRequested
    | ResumeRequested
    | RetryRequested
    | SignalReceived
)


def check_request(program: Program, state: State, request: Request) -> None:
    """Raise RefusedError, with the reason, if the state of a run does not allow a request."""
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


__all__ = ["Decision", "State", "apply", "compile_program", "decide", "fold", "receive", "take"]


def fold(program: Program, history: Iterable[Event], state: State | None = None) -> State:
    """Return the state after a history, starting from `state` or from a new state."""
    state = State() if state is None else state
    for event in history:
        apply(program, state, event)
    return state


def receive(program: Program, state: State, arrival: Arrival) -> Arrival:
    """Apply an arriving event to `state`, and return the event to record.

    Raise RefusedError for a signal that is too large.
    """
    event = admit(arrival)
    apply(program, state, event)
    return event


def take(program: Program, state: State, arrival: Arrival) -> Arrival | None:
    """Apply an arriving event like `receive`, but return None if the event is ignored.

    An event that is late, a duplicate or meaningless is ignored; it leaves the state unchanged.
    """
    ignored = state.ignored
    event = receive(program, state, arrival)
    if state.ignored == ignored:
        return event
    # An ignored event changes only these two counters.
    state.ignored = ignored
    state.applied -= 1
    return None
