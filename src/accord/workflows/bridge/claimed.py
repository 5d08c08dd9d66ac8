"""A task as whoever took it has it. It is theirs as long as its row has their fence."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct, json

from accord.store.store import Row
from accord.transports.urls import shown
from accord.workflows.core.definition import Retry
from accord.workflows.core.events import (
    CallAgent,
    CallMethod,
    CallOperation,
    CallPlugin,
    CallTool,
    decode_command,
    encode_command,
)
from accord.workflows.storage.tasks import FIRST_FENCE, Call, Kind, NewTask, aim, task_id

_CALLS: Final = (CallAgent, CallOperation, CallTool, CallMethod, CallPlugin)


class ClaimedTask(Struct, frozen=True, kw_only=True):
    """One task of a run, to be done now."""

    id: str
    run_id: str
    task: str
    kind: Kind
    target: str
    command: Call
    retry: Retry | None = None
    """What the step says of retries, if it does."""
    size: int = 0
    """Characters of its command."""
    cancelled: bool = False
    """Whether nobody waits for it any more."""
    fence: int = 1
    attempt: int = 1
    attempt_group: int = 1
    remote_task: str = ""
    """What the agent calls the task that it began for it, once that is known."""
    remote_context: str = ""
    continues: bool = False
    """Whether `continuation` is still to be said."""
    continuation: Any = None
    """The input that the agent asked for."""
    continued: int = 0
    """How often it got some."""
    traceparent: str = ""
    correlation_id: str = ""

    @property
    def call_id(self) -> str:
        """What the other side knows the call by: that of the task which made it first, where it is
        repeated because nobody knows what became of it."""
        resumes = self.command.resumes
        return task_id(self.run_id, resumes) if resumes else self.id

    @property
    def shown_target(self) -> str:
        """Whom it asks, as logs, spans and metrics may say it."""
        return shown_target(self.kind, self.target)

    @property
    def deadline(self) -> float | None:
        """When the step is over, done or not."""
        return self.command.deadline


def shown_target(kind: Kind, target: str) -> str:
    """Return what is called without the credentials and the query that its URL may have."""
    return shown(target) if kind in ("tool", "method") else target


def claimed_of(row: Row) -> ClaimedTask:
    """The task in a row that has `COLUMNS`. Raises NewerSchemaError, and msgspec.ValidationError
    for a command that is none."""
    text: str = row["command"]
    command = decode_command(text.encode())
    assert isinstance(command, _CALLS)
    continuation: str | None = row["continuation"]
    return ClaimedTask(
        id=row["id"],
        run_id=row["run_id"],
        task=row["task"],
        kind=row["kind"],
        target=row["target"],
        command=command,
        retry=command.retry,
        size=len(text),
        cancelled=bool(row["cancelled"]),
        fence=row["fence"],
        attempt=row["attempt"],
        attempt_group=row["attempt_group"],
        remote_task=row["remote_task"],
        remote_context=row["remote_context"],
        continues=continuation is not None,
        continuation=None if continuation is None else json.decode(continuation),
        continued=row["continued"],
        traceparent=row["traceparent"],
        correlation_id=row["correlation_id"],
    )


def given_of(task: NewTask) -> ClaimedTask:
    """A task that was recorded just now, as its first owner's."""
    command = task.command
    kind, target = aim(command)
    return ClaimedTask(
        id=task.id,
        run_id=task.run_id,
        task=command.task,
        kind=kind,
        target=target,
        command=command,
        retry=command.retry,
        size=len(encode_command(command)),
        fence=FIRST_FENCE,
        attempt_group=task.attempt_group,
        traceparent=task.traceparent,
        correlation_id=task.correlation_id,
    )


def unreadable(row: Row) -> ClaimedTask:
    """A task whose command cannot be read: enough of it to say so."""
    return ClaimedTask(
        id=row["id"],
        run_id=row["run_id"],
        task=row["task"],
        kind=row["kind"],
        target=row["target"],
        command=CallAgent(
            task=row["task"], step=row["task"].partition("@")[0], agent=row["target"]
        ),
        cancelled=bool(row["cancelled"]),
        fence=row["fence"],
        attempt=row["attempt"],
        attempt_group=row["attempt_group"],
        remote_task=row["remote_task"],
        remote_context=row["remote_context"],
        continues=row["continuation"] is not None,
        continued=row["continued"],
        traceparent=row["traceparent"],
        correlation_id=row["correlation_id"],
    )
