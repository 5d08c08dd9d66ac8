"""Tasks as they are given out: what a run wants done outside of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from accord.store.store import Transaction
from accord.workflows.core.commands import (
    CallAgent,
    CallMethod,
    CallOperation,
    CallTool,
    encode_command,
)
from accord.workflows.storage.rows import Insertion

Kind: TypeAlias = Literal["agent", "operation", "tool", "method"]
Call: TypeAlias = CallAgent | CallOperation | CallTool | CallMethod
First: TypeAlias = Literal["published", "ready"]

WAKE: Final = "tasks_ready"
"""The channel on which bridges hear that there is something to do, or to stop doing."""

_INSERTION: Final = Insertion(
    "tasks",
    {
        "id": "text",
        "run_id": "text",
        "task": "text",
        "kind": "text",
        "target": "text",
        "command": "text",
        "state": "text",
        "traceparent": "text",
        "correlation_id": "text",
        "created_at": "double precision",
    },
    "ON CONFLICT (id) DO NOTHING",
)


class NewTask(Struct, frozen=True, kw_only=True):
    """A task of a run."""

    run_id: str
    command: Call
    at: float
    traceparent: str = ""
    correlation_id: str = ""

    @property
    def id(self) -> str:
        return task_id(self.run_id, self.command.task)


def task_id(run_id: str, task: str) -> str:
    """What everybody calls a task, agents included."""
    return f"{run_id}/{task}"


async def insert_tasks(db: Transaction, tasks: Iterable[NewTask], state: First) -> None:
    """Add tasks. One that is there already stays as it is: a tombstone of one that was cancelled
    before it arrived too."""
    rows = [_row(each, state) for each in tasks]
    if rows:
        await _INSERTION.run(db, rows)


def _row(task: NewTask, state: First) -> tuple[object, ...]:
    command = task.command
    kind, target = aim(command)
    return (
        task.id, task.run_id, command.task, kind, target, encode_command(command).decode(), state,
        task.traceparent, task.correlation_id, task.at,
    )  # fmt: skip


def aim(command: Call) -> tuple[Kind, str]:
    """What a call is of, and whom it asks."""
    match command:
        case CallAgent():
            return "agent", command.agent
        case CallOperation():
            return "operation", command.operation
        case CallTool():
            return "tool", command.target.server
        case CallMethod():
            return "method", command.target.url
