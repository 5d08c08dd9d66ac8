"""Tasks as they are given out: what a run wants done outside of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from accord.store.store import Engine, Reading, Transaction
from accord.workflows.core.events import (
    CallAgent,
    CallMethod,
    CallOperation,
    CallPlugin,
    CallTool,
    Command,
    encode_command,
)
from accord.workflows.storage.lists import IN_TEXTS, as_parameter
from accord.workflows.storage.rows import Insertion

Kind: TypeAlias = Literal["agent", "operation", "tool", "method", "plugin"]
Call: TypeAlias = CallAgent | CallOperation | CallTool | CallMethod | CallPlugin
First: TypeAlias = Literal["published", "ready"]

FIRST_FENCE: Final = 1
"""Of a task that somebody has from the beginning."""
FIRST_GROUP: Final = 1
"""The attempt group of a call that is made for the first time."""

WAKE: Final = "tasks_ready"
"""The channel on which bridges hear that there is something to do, or to stop doing."""

COLUMNS: Final = """
id, run_id, task, kind, target, command, cancelled, fence, attempt, attempt_group, remote_task,
remote_context, continuation, continued, traceparent, correlation_id
"""

_GROUP: Final = {
    engine: f"SELECT max(attempt_group) AS attempt_group FROM tasks WHERE id {many.format('$1')}"
    for engine, many in IN_TEXTS.items()
}
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
        "owner": "text",
        "fence": "integer",
        "attempt_group": "integer",
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
    attempt_group: int = FIRST_GROUP
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
    await _INSERTION.run(db, [_row(each, state, None, 0) for each in tasks])


async def insert_owned(db: Transaction, tasks: Iterable[NewTask], owner: str) -> None:
    """The same, as tasks that somebody has."""
    await _INSERTION.run(db, [_row(each, "running", owner, FIRST_FENCE) for each in tasks])


def _row(
    task: NewTask, state: First | Literal["running"], owner: str | None, fence: int
) -> tuple[object, ...]:
    command = task.command
    kind, target = aim(command)
    return (
        task.id, task.run_id, command.task, kind, target, encode_command(command).decode(), state,
        owner, fence, task.attempt_group, task.traceparent, task.correlation_id, task.at,
    )  # fmt: skip


async def attempt_groups(
    db: Reading, engine: Engine, run_id: str, commands: Iterable[Command]
) -> dict[str, int]:
    """By task: the attempt group in which the call was made last that a command repeats."""
    groups: dict[str, int] = {}
    for command in commands:
        if isinstance(command, Call) and command.resumes:
            ids = [task_id(run_id, name) for name in _rounds(command)]
            [row] = await db.fetch(_GROUP[engine], as_parameter(ids))
            groups[command.task] = row["attempt_group"] or FIRST_GROUP
    return groups


def _rounds(command: Call) -> Iterator[str]:
    """The tasks that may have made the call which a command repeats: one for each retry."""
    first, last = (int(name.partition("@")[2] or 1) for name in (command.resumes, command.task))
    for number in range(first, last):
        yield command.step if number == 1 else f"{command.step}@{number}"


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
        case CallPlugin():
            return "plugin", command.plugin
