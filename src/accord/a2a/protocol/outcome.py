"""What an answer means for whoever waits for it, and the result that workflows see."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from accord.a2a.protocol.errors import CallError, Code
from accord.a2a.protocol.extraction import Extracted, extract
from accord.a2a.protocol.message import Message
from accord.a2a.protocol.states import INTERRUPTED, TERMINAL, TaskState
from accord.a2a.protocol.task import Answer, Task, Unrecognized

NO_STATE: Final = "the agent did not say what state its task is in: it is taken as completed"

_ENDS: Final = {
    TaskState.FAILED: "the task failed",
    TaskState.REJECTED: "the agent rejected the task",
    TaskState.CANCELED: "the task was cancelled",
}


class Done(Struct, frozen=True):
    """It worked."""

    extracted: Extracted


class Failed(Struct, frozen=True):
    """The agent worked on it and failed, or would not."""

    code: Code
    message: str


class Working(Struct, frozen=True):
    """It goes on: the task is to be asked about again."""

    task_id: str


class Waiting(Struct, frozen=True):
    """It goes on once somebody says something, in a message with these ids."""

    task_id: str
    context_id: str
    state: TaskState
    question: str


Outcome: TypeAlias = Done | Failed | Working | Waiting


def outcome_of(answer: Answer | Unrecognized) -> Outcome:
    """What an answer means."""
    if isinstance(answer, Message | Unrecognized):
        return Done(extract(answer))
    state = answer.status.state
    if state is TaskState.COMPLETED:
        return Done(extract(answer))
    if state in TERMINAL:
        return Failed(f"task_{state.value}", _said(answer) or _ENDS[state])
    if state in INTERRUPTED:
        return Waiting(answer.id, answer.context_id, state, _said(answer))
    if answer.id:
        return Working(answer.id)
    extracted = extract(answer)
    warning = "; ".join(filter(None, (NO_STATE, extracted.warning)))
    return Done(
        Extracted(
            output=extracted.output,
            data=extracted.data,
            files=extracted.files,
            artifacts=extracted.artifacts,
            warning=warning,
        )
    )


def _said(task: Task) -> str:
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


def success(task_id: str, output: Any) -> TaskResult:
    return TaskResult(task_id, "success", output)


def error(task_id: str, failed: Failed | CallError) -> TaskResult:
    return TaskResult(task_id, "error", None, ResultError(failed.code, failed.message))
