"""Tasks: calls that go on after their answer, in the two forms that they have.

In 2025-11-25 a request asks for a task and `tasks/result` waits for its end. In 2026-07-28
tasks are an extension: the server decides, and `tasks/get` has everything that there is. A
task has the same states in both. Types that only one form has say so; `Task…` of the first
form have a task in them, and variants by status belong to the second.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType, field

from accord.mcp.protocol.params import Params
from accord.mcp.protocol.results import Result

EXTENSION: Final = "io.modelcontextprotocol/tasks"
"""The extension of 2026-07-28, a member of `extensions` of both ends' capabilities."""

TaskStatus: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]

TRANSITIONS: Final[dict[TaskStatus, frozenset[TaskStatus]]] = {
    "working": frozenset(("input_required", "completed", "failed", "cancelled")),
    "input_required": frozenset(("working", "completed", "failed", "cancelled")),
    "completed": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
}
"""What each status may become (2025-11-25, tasks, lifecycle; tasks extension, task status)."""


def is_over(status: TaskStatus) -> bool:
    """Whether a task with this status never changes again."""
    return not TRANSITIONS[status]


class TaskParams(Params, frozen=True, kw_only=True, rename="camel"):
    """`tasks/get` and `tasks/cancel` in both forms, `tasks/result` in the first."""

    task_id: str


class UpdateTaskParams(TaskParams, frozen=True, kw_only=True, rename="camel"):
    """`tasks/update`, 2026-07-28: answers by the keys of their questions."""

    input_responses: dict[str, Raw]


# 2025-11-25


class Task(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    task_id: str
    status: TaskStatus
    created_at: str
    """ISO 8601."""
    last_updated_at: str
    ttl: int | None
    """Milliseconds from creation on that the task is kept for; None for ever."""
    poll_interval: int | UnsetType = UNSET
    """Milliseconds."""
    status_message: str = ""


class CreateTaskResult(Result, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The answer to a request that asked for a task."""

    task: Task


class TaskResult(Result, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What `tasks/get` and `tasks/cancel` give, and `notifications/tasks/status` tells: the
    members of a task."""

    task_id: str
    status: TaskStatus
    created_at: str
    last_updated_at: str
    ttl: int | None
    poll_interval: int | UnsetType = UNSET
    status_message: str = ""


class ListTasksResult(Result, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    tasks: list[Task]
    next_cursor: str | UnsetType = UNSET


class RelatedTask(Struct, frozen=True, rename="camel"):
    """The member of `_meta` that tells which task a message belongs to."""

    task_id: str


# 2026-07-28


class _ExtensionTask(Result, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    task_id: str
    created_at: str
    last_updated_at: str
    ttl_ms: int | None
    poll_interval_ms: int | UnsetType = UNSET
    status_message: str = ""


def _task() -> str:
    return "task"


class TaskCreated(_ExtensionTask, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The answer to a call that became a task."""

    status: TaskStatus
    # made by a function, so that it is not left out as what is assumed
    result_type: str = field(default_factory=_task)


class WorkingTask(_ExtensionTask, frozen=True, kw_only=True, tag_field="status", tag="working"):
    pass


class InputRequiredTask(
    _ExtensionTask,
    frozen=True,
    kw_only=True,
    rename="camel",
    tag_field="status",
    tag="input_required",
):
    input_requests: dict[str, Raw]
    """All questions that are open; no key is used for two in the life of a task."""


class CompletedTask(_ExtensionTask, frozen=True, kw_only=True, tag_field="status", tag="completed"):
    result: Raw
    """What the request would have been answered with."""


class TaskError(Struct, frozen=True, omit_defaults=True):
    """The error that the request would have been answered with."""

    code: int
    message: str
    data: Any = UNSET


class FailedTask(_ExtensionTask, frozen=True, kw_only=True, tag_field="status", tag="failed"):
    error: TaskError


class CancelledTask(_ExtensionTask, frozen=True, kw_only=True, tag_field="status", tag="cancelled"):
    pass


DetailedTask: TypeAlias = (
    WorkingTask | InputRequiredTask | CompletedTask | FailedTask | CancelledTask
)
"""What `tasks/get` gives and `notifications/tasks` tells."""
