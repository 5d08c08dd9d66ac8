"""Tasks: calls that continue after their answer, in two forms.

In 2025-11-25 a request asks for a task and `tasks/result` waits for its end. In 2026-07-28 tasks
are an extension: the server decides, and `tasks/get` returns everything. A task has the same states
in both. This module has a section of types for each form.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType, field

from accord.mcp.protocol.messages import Params, Result

EXTENSION: Final = "io.modelcontextprotocol/tasks"
"""The name of the tasks extension (2026-07-28) in the capabilities of clients and servers."""

TaskStatus: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]

TRANSITIONS: Final[dict[TaskStatus, frozenset[TaskStatus]]] = {
    "working": frozenset(("input_required", "completed", "failed", "cancelled")),
    "input_required": frozenset(("working", "completed", "failed", "cancelled")),
    "completed": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
}
"""For each status of a task, the statuses that may follow it (2025-11-25, tasks, lifecycle; tasks
extension, task status)."""


def is_over(status: TaskStatus) -> bool:
    """Return whether a status is terminal."""
    return not TRANSITIONS[status]


class TaskParams(Params, frozen=True, kw_only=True, rename="camel"):
    """Params of `tasks/get`, `tasks/cancel` and, in 2025-11-25, `tasks/result`."""

    task_id: str


class UpdateTaskParams(TaskParams, frozen=True, kw_only=True, rename="camel"):
    """Params of `tasks/update`, 2026-07-28, with answers by the key of their question."""

    input_responses: dict[str, Raw]


# 2025-11-25


class Task(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    task_id: str
    status: TaskStatus
    created_at: str
    """The time of creation, in ISO 8601."""
    last_updated_at: str
    ttl: int | None
    """Milliseconds from creation until the task is removed; None for never."""
    poll_interval: int | UnsetType = UNSET
    """The suggested interval between two polls, in milliseconds."""
    status_message: str = ""


class CreateTaskResult(Result, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The result of a request that asked to run as a task."""

    task: Task


class GetTaskResult(Result, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Result of `tasks/get` and `tasks/cancel` in 2025-11-25: the members of a task.

    Also the params of `notifications/tasks/status`.
    """

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
    """The member of `_meta` with the task that a message belongs to."""

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
    """The result of a call that the server runs as a task, in 2026-07-28."""

    status: TaskStatus
    # From a factory, so that the encoder does not omit it as a default.
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
    """All open questions by key; a key is never reused during the life of a task."""


class CompletedTask(_ExtensionTask, frozen=True, kw_only=True, tag_field="status", tag="completed"):
    result: Raw
    """The result that the request would have had without a task."""


class TaskError(Struct, frozen=True, omit_defaults=True):
    """The error that the request would have had if it had not run as a task."""

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
"""A task of any status in 2026-07-28: the result of `tasks/get`, and the params of
`notifications/tasks`."""
