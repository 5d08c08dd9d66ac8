"""Child runs: their start, the messages to their parents, and their cancellation."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import NAMESPACE_URL, uuid5

from accord.store.store import ReadTransaction
from accord.workflows.core.events import (
    CancelChild,
    CancelRequested,
    Command,
    RetryRequested,
    RunFinished,
    StartChild,
    TaskFailed,
    TaskSucceeded,
)
from accord.workflows.core.program import Program
from accord.workflows.core.rules import input_problem
from accord.workflows.core.state import Failure, State
from accord.workflows.storage.definitions import Definitions, UnknownWorkflowError
from accord.workflows.storage.inbox import RunMessage
from accord.workflows.storage.loading import RunRow
from accord.workflows.storage.runs import NewRun, run_exists
from accord.workflows.storage.tasks import task_id


def child_id(run_id: str, task: str) -> str:
    """Return the id of the run that a task starts; always the same, so it starts once."""
    return str(uuid5(NAMESPACE_URL, f"accord:{task_id(run_id, task)}"))


class Children:
    """Runs that the runs of one decision start; each workflow is looked up once."""

    def __init__(self, db: ReadTransaction, definitions: Definitions) -> None:
        self._db = db
        self._definitions = definitions
        self._found: dict[tuple[str, int | None], tuple[int, Program] | Failure] = {}

    async def prepare(
        self, parent: RunRow, commands: Iterable[Command], now: float
    ) -> list[NewRun | RunMessage]:
        """Return a new run or a message for each command to start a child, in order.

        A message continues a child that exists, or tells the parent that neither is possible.
        """
        return [
            await self._begin(parent, command, now)
            for command in commands
            if isinstance(command, StartChild)
        ]

    async def _begin(self, parent: RunRow, command: StartChild, now: float) -> NewRun | RunMessage:
        if command.resumes:
            child = child_id(parent.id, command.resumes)
            if await run_exists(self._db, child):
                return _continued(child, command, now)
        return _child(parent, command, await self._startable(command), now)

    async def _startable(self, command: StartChild) -> tuple[int, Program] | Failure:
        key = command.workflow, command.version
        if key not in self._found:
            try:
                self._found[key] = await self._definitions.startable(self._db, *key)
            except UnknownWorkflowError as error:
                self._found[key] = Failure("unknown_workflow", str(error))
        return self._found[key]


def _child(
    parent: RunRow, command: StartChild, found: tuple[int, Program] | Failure, now: float
) -> NewRun | RunMessage:
    if isinstance(found, Failure):
        return _refusal(parent, command, found, now)
    version, program = found
    problem = input_problem(program.definition, command.input)
    if problem is not None:
        return _refusal(parent, command, Failure("invalid_input", problem), now)
    return NewRun(
        id=child_id(parent.id, command.resumes or command.task),
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


def _continued(child: str, command: StartChild, now: float) -> RunMessage:
    """Return the message to a child whose parent's task is retried."""
    event = RetryRequested(at=now, parent_task=command.task)
    return RunMessage(f"{child}/continued/{command.task}", child, event)


def _refusal(parent: RunRow, command: StartChild, error: Failure, now: float) -> RunMessage:
    failed = TaskFailed(at=now, task=command.task, error=error)
    return RunMessage(f"{task_id(parent.id, command.task)}/refused", parent.id, failed)


def cancel_child(run_id: str, command: CancelChild, now: float) -> RunMessage:
    """Return the message that cancels a child."""
    child = child_id(run_id, command.resumes or command.task)
    event = CancelRequested(at=now, reason="the run that started it does not wait for it any more")
    # A child that is continued may be cancelled again while the first message is still unread.
    name = f"cancelled/{command.task}" if command.resumes else "cancelled"
    return RunMessage(f"{child}/{name}", child, event)


def tell_parent(child: RunRow, state: State, end: RunFinished) -> RunMessage | None:
    """Return the message to the parent of a run that ended; None without a parent.

    A retried run ends again, so the number of the event is part of the message's id.
    """
    task = state.parent_task or child.parent_task
    if child.parent_run is None or task is None:
        return None
    event, sequence = _outcome(child, task, end), state.applied
    return RunMessage(f"{child.id}/ended/{sequence}", child.parent_run, event)


def _outcome(child: RunRow, task: str, end: RunFinished) -> TaskSucceeded | TaskFailed:
    if end.status == "completed":
        return TaskSucceeded(at=end.at, task=task, output=end.output)
    error = end.error or Failure(end.status, f"the run was {end.status}")
    details = {"run": child.id, "step": error.step}
    return TaskFailed(at=end.at, task=task, error=Failure(error.code, error.message, "", details))
