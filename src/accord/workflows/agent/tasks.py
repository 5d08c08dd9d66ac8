"""A run as a task of A2A. Pure: the same run gives the same task."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from accord.a2a.protocol.model import (
    Artifact,
    ArtifactUpdate,
    DataPart,
    Event,
    Message,
    Part,
    StatusUpdate,
    Task,
    TaskState,
    TaskStatus,
    TextPart,
)
from accord.workflows.agent.history import TaskRun, parts_of
from accord.workflows.agent.waits import Wait, waits_of
from accord.workflows.core.state import RunStatus, State

OUTPUT: Final = "output"
_STATES: Final[dict[RunStatus, TaskState]] = {
    "pending": TaskState.SUBMITTED,
    "running": TaskState.WORKING,
    "waiting": TaskState.WORKING,
    "paused": TaskState.WORKING,
    "completed": TaskState.COMPLETED,
    "failed": TaskState.FAILED,
    "cancelled": TaskState.CANCELED,
}
"""A run that waits for somebody needs input; one that waits for a time works."""


def task_of(task_run: TaskRun) -> Task:
    """The task that a run is."""
    run, context_id = task_run.run, task_run.context_id
    row, state = run.row, run.state
    waits = list(waits_of(run)) if state.status == "waiting" else []
    status = TaskStatus(
        state=TaskState.INPUT_REQUIRED if waits else _STATES[state.status],
        message=_said(row.id, context_id, state, waits),
        timestamp=_time(state.finished_at or state.started_at or row.created_at),
    )
    return Task(
        id=row.id,
        context_id=context_id,
        status=status,
        artifacts=(_artifact(state.output),) if state.phase == "completed" else (),
        history=task_run.history,
        metadata={"workflow": f"{row.workflow}@{row.version}"},
    )


def news(before: Task, after: Task) -> list[Event]:
    """What to tell who knows how a task was."""
    told: list[Event] = [
        ArtifactUpdate(
            task_id=after.id, context_id=after.context_id, artifact=each, last_chunk=True
        )
        for each in after.artifacts
        if each not in before.artifacts
    ]
    if (before.status.state, before.status.message) != (after.status.state, after.status.message):
        told.append(
            StatusUpdate(task_id=after.id, context_id=after.context_id, status=after.status)
        )
    return told


def _artifact(output: Any) -> Artifact:
    return Artifact(artifact_id=OUTPUT, name=OUTPUT, parts=parts_of(output))


def _said(run_id: str, context_id: str, state: State, waits: list[Wait]) -> Message | None:
    if waits:
        shown = [
            {"kind": each.kind, "step": each.step}
            | ({} if each.data is None else {"data": each.data})
            for each in waits
        ]
        text = TextPart(text="\n".join(each.text for each in waits))
        return _message(run_id, context_id, (text, DataPart(data={"waits": shown})))
    if state.error is not None:
        return _message(
            run_id, context_id, (TextPart(text=f"{state.error.code}: {state.error.message}"),)
        )
    if state.status == "paused":
        return _message(run_id, context_id, (TextPart(text="the run is paused"),))
    return None


def _message(run_id: str, context_id: str, parts: tuple[Part, ...]) -> Message:
    # Its id follows from what it says, so that the same status is the same message.
    return Message(
        message_id=f"{run_id}/status",
        role="agent",
        parts=parts,
        context_id=context_id,
        task_id=run_id,
    )


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
