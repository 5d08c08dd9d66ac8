"""Runs that runs start: how they begin, what their parents hear of them, and how they are cancelled
with them."""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

from accord.store.store import Reading
from accord.workflows.core.commands import CancelChild, StartChild
from accord.workflows.core.events import CancelRequested, RunFinished, TaskFailed, TaskSucceeded
from accord.workflows.core.schemas import input_problem
from accord.workflows.core.state import Failure
from accord.workflows.storage.definitions import Definitions
from accord.workflows.storage.errors import UnknownWorkflowError
from accord.workflows.storage.inbox import Message
from accord.workflows.storage.loading import RunRow
from accord.workflows.storage.runs import NewRun
from accord.workflows.storage.tasks import task_id


def child_id(run_id: str, task: str) -> str:
    """The id of the run that a task starts: always the same, so that it is started once."""
    return str(uuid5(NAMESPACE_URL, f"accord:{task_id(run_id, task)}"))


async def prepare_child(
    db: Reading, definitions: Definitions, parent: RunRow, command: StartChild, now: float
) -> NewRun | Message:
    """The run that a command starts; or what its parent hears where that is not possible."""
    try:
        version, program = await definitions.startable(db, command.workflow, command.version)
    except UnknownWorkflowError as error:
        return _refusal(parent, command, Failure("unknown_workflow", str(error)), now)
    problem = input_problem(program.definition, command.input)
    if problem is not None:
        return _refusal(parent, command, Failure("invalid_input", problem), now)
    return NewRun(
        id=child_id(parent.id, command.task),
        workflow=command.workflow,
        version=version,
        input=command.input,
        starter=parent.starter,
        origin="workflow",
        at=now,
        parent_run=parent.id,
        parent_task=command.task,
        depth=command.depth,
        correlation_id=parent.correlation_id,
        traceparent=parent.traceparent,
    )


def _refusal(parent: RunRow, command: StartChild, error: Failure, now: float) -> Message:
    failed = TaskFailed(at=now, task=command.task, error=error)
    return Message(f"{task_id(parent.id, command.task)}/refused", parent.id, failed)


def cancel_child(run_id: str, command: CancelChild, now: float) -> Message:
    """What a child hears when nobody waits for it any more."""
    child = child_id(run_id, command.task)
    event = CancelRequested(at=now, reason="the run that started it does not wait for it any more")
    return Message(f"{child}/cancelled", child, event)


def tell_parent(child: RunRow, end: RunFinished, sequence: int) -> Message | None:
    """What the parent of a run hears when that has ended; None where it has no parent. A run that
    is retried ends again, so that the number of the event is part of the message's id."""
    if child.parent_run is None or child.parent_task is None:
        return None
    event = _outcome(child, child.parent_task, end)
    return Message(f"{child.id}/ended/{sequence}", child.parent_run, event)


def _outcome(child: RunRow, task: str, end: RunFinished) -> TaskSucceeded | TaskFailed:
    if end.status == "completed":
        return TaskSucceeded(at=end.at, task=task, output=end.output)
    error = end.error or Failure(end.status, f"the run was {end.status}")
    details = {"run": child.id, "step": error.step}
    return TaskFailed(at=end.at, task=task, error=Failure(error.code, error.message, "", details))
