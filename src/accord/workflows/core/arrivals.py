"""What arrives from outside, made fit for a history: measured, and cut to what a run keeps. Limits
stand here and in `decisions`, so that a history means the same when they change."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from accord.workflows.core.errors import RefusedError
from accord.workflows.core.events import (
    ApprovalGiven,
    Arrival,
    CancelRequested,
    SignalReceived,
    TaskAsked,
    TaskFailed,
    TaskSucceeded,
)
from accord.workflows.core.sizes import size_problem
from accord.workflows.core.state import Failure

_LONGEST: Final = 4_000
"""Characters of codes, messages and reasons."""


def admit(event: Arrival) -> Arrival:
    """What is recorded of an arrival: an output that is too large is a failure of its task.

    Raises RefusedError for a signal that is too large.
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
            return replace(event, reason=event.reason[:_LONGEST])
        case CancelRequested():
            return replace(event, by=event.by[:_LONGEST], reason=event.reason[:_LONGEST])
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
        error, code=error.code[:_LONGEST], message=error.message[:_LONGEST], details=details
    )
