"""Tasks as clients see them, in each form."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec import UNSET, to_builtins

from accord.mcp.protocol.meta import RELATED_TASK, SUBSCRIPTION_ID
from accord.mcp.protocol.tasks import (
    CancelledTask,
    CompletedTask,
    DetailedTask,
    FailedTask,
    InputRequiredTask,
    Task,
    TaskCreated,
    TaskError,
    TaskResult,
    WorkingTask,
)
from accord.mcp.server.tasks.record import TaskRecord


def task(record: TaskRecord) -> Task:
    """Return a task of 2025-11-25."""
    return Task(**_members(record))


def task_result(record: TaskRecord) -> TaskResult:
    """Return the result of `tasks/get` in 2025-11-25."""
    return TaskResult(**_members(record))


def created(record: TaskRecord) -> TaskCreated:
    """Return the result of a call that became a task in 2026-07-28."""
    return TaskCreated(status=record.status, **_extension_members(record))


def detailed(record: TaskRecord, meta: dict[str, Any] | None = None) -> DetailedTask:
    """Return a task with all details, in 2026-07-28."""
    members = _extension_members(record)
    if meta is not None:
        members["meta"] = meta
    match record.status:
        case "working":
            return WorkingTask(**members)
        case "input_required":
            return InputRequiredTask(**members, input_requests=record.questions)
        case "completed":
            assert record.result is not UNSET
            return CompletedTask(**members, result=record.result)
        case "failed":
            error = record.error or TaskError(-32603, "Internal error")
            return FailedTask(**members, error=error)
        case "cancelled":
            return CancelledTask(**members)


def heard(record: TaskRecord, subscription: Any) -> DetailedTask:
    """Return the params of a task notification to a subscription of 2026-07-28."""
    return detailed(record, {SUBSCRIPTION_ID: subscription})


def related(params: Any, id: str) -> dict[str, Any]:
    """Return params with their task (2025-11-25, tasks, related messages)."""
    members: dict[str, Any] = {} if params is None else to_builtins(params)
    meta = {**members.get("_meta", {}), RELATED_TASK: {"taskId": id}}
    return {**members, "_meta": meta}


def _members(record: TaskRecord) -> dict[str, Any]:
    return {
        "task_id": record.id,
        "status": record.status,
        "status_message": record.message,
        "created_at": _time(record.created),
        "last_updated_at": _time(record.updated),
        "ttl": record.ttl_ms,
        "poll_interval": record.poll_ms,
    }


def _extension_members(record: TaskRecord) -> dict[str, Any]:
    return {
        "task_id": record.id,
        "status_message": record.message,
        "created_at": _time(record.created),
        "last_updated_at": _time(record.updated),
        "ttl_ms": record.ttl_ms,
        "poll_interval_ms": record.poll_ms,
    }


def _time(seconds: float) -> str:
    """Return a time in ISO 8601, in UTC."""
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
