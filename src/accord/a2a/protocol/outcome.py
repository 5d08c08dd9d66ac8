"""Outcomes of agents' answers, the results that workflows see, and polling intervals. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from accord.a2a.protocol.calls import ReceivedAnswer
from accord.a2a.protocol.errors import CallError, Code
from accord.a2a.protocol.extraction import Extracted, extract, has_output
from accord.a2a.protocol.model import (
    INTERRUPTED,
    TERMINAL,
    Answer,
    Message,
    Task,
    TaskState,
    Unrecognized,
)

NO_STATE: Final = "the agent did not say what state its task is in: it is taken as completed"
UNKNOWN_STATE: Final = (
    "the state of the task is not known: as it has output it is taken as completed"
)

_ENDS: Final = {
    TaskState.FAILED: "the task failed",
    TaskState.REJECTED: "the agent rejected the task",
    TaskState.CANCELED: "the task was cancelled",
}


class DoneOutcome(Struct, frozen=True):
    """The task is completed."""

    extracted: Extracted


class FailedOutcome(Struct, frozen=True):
    """The task failed, or the agent rejected it."""

    code: Code
    message: str


class WorkingOutcome(Struct, frozen=True):
    """The task is in progress: poll it again."""

    task_id: str


class UnclearOutcome(Struct, frozen=True):
    """The task has output, in an unknown state: poll it a few more times.

    If the state stays unknown, or the task cannot be polled, the output is taken as final.
    """

    task_id: str
    done: DoneOutcome


class WaitingOutcome(Struct, frozen=True):
    """The task waits for a message of the client.

    That message must contain `task_id` and `context_id`.
    """

    task_id: str
    context_id: str
    state: TaskState
    question: str


Outcome: TypeAlias = DoneOutcome | FailedOutcome | WorkingOutcome | UnclearOutcome | WaitingOutcome

MAX_UNCLEAR: Final = 5
"""Polls of a task in an unknown state before its output is taken as final."""


def outcome_of(received: ReceivedAnswer | Answer | Unrecognized) -> Outcome:
    """Return the outcome of an answer.

    While the state means progress or failure, or is unknown, output does not make a task a success.
    """
    if not isinstance(received, ReceivedAnswer):
        received = ReceivedAnswer(answer=received, result=b"", state=TaskState.UNKNOWN.value)
    answer = received.answer
    if isinstance(answer, Message | Unrecognized):
        return _done(received)
    state = answer.status.state
    if state is TaskState.COMPLETED:
        return _done(received)
    if state in TERMINAL:
        return FailedOutcome(f"task_{state.value}", _message_text(answer) or _ENDS[state])
    if state in INTERRUPTED:
        return WaitingOutcome(answer.id, answer.context_id, state, _message_text(answer))
    if state is TaskState.UNKNOWN:
        return _without_state(received, answer)
    return WorkingOutcome(answer.id) if answer.id else _lost(received)


def _without_state(received: ReceivedAnswer, task: Task) -> Outcome:
    if not received.state and (has_output(task) or not task.id):
        return _done(received, NO_STATE)
    if not has_output(task):
        return WorkingOutcome(task.id) if task.id else _lost(received)
    done = _done(received, UNKNOWN_STATE)
    return UnclearOutcome(task.id, done) if task.id else done


def _lost(received: ReceivedAnswer) -> FailedOutcome:
    """Return the failure for an unfinished task that has no id to poll it by."""
    state = f"in the state {received.state!r}" if received.state else "not over"
    return FailedOutcome(
        "malformed_answer", f"the agent's task is {state}, and has no id to follow it by"
    )


def _done(received: ReceivedAnswer, *warnings: str) -> DoneOutcome:
    extracted = extract(received.answer, result=received.result or None)
    if not received.warnings and not warnings:
        return DoneOutcome(extracted)
    all_warnings = (*received.warnings, *warnings, extracted.warning)
    return DoneOutcome(replace(extracted, warning="; ".join(filter(None, all_warnings))))


def _message_text(task: Task) -> str:
    return "" if task.status.message is None else task.status.message.text


class ResultError(Struct, frozen=True):
    code: Code
    message: str


class TaskResult(Struct, frozen=True):
    """The result of a task, as workflows see it."""

    task_id: str
    status: Literal["success", "error"]
    output: Any = None
    error: ResultError | None = None


def success_result(task_id: str, output: Any) -> TaskResult:
    return TaskResult(task_id, "success", output)


def error_result(task_id: str, failed: FailedOutcome | CallError) -> TaskResult:
    return TaskResult(task_id, "error", None, ResultError(failed.code, failed.message))


FIRST_POLL_SECONDS: Final = 0.5
POLL_GROWTH: Final = 1.5
MAX_POLL_SECONDS: Final = 30.0


def poll_intervals(
    first: float = FIRST_POLL_SECONDS, growth: float = POLL_GROWTH, most: float = MAX_POLL_SECONDS
) -> Iterator[float]:
    """Yield the seconds to wait before each poll, growing up to `most`, without end."""
    while True:
        yield min(first, most)
        first = min(first * growth, most)
