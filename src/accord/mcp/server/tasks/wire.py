"""Tasks as clients see them, and the link and input channel of a task's handler.

The request of a task has been answered, so its handler reaches the client another way. Its
questions are part of the task's record until they are answered.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, TypeVar

from msgspec import UNSET, Raw, to_builtins

from accord.jsonrpc.protocol.errors import from_wire, own_error
from accord.mcp.protocol.content import RELATED_TASK, SUBSCRIPTION_ID
from accord.mcp.protocol.messages import InputRequiredResult, Profile, RequestId, failure
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
from accord.mcp.protocol.versions import Era
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.input_requests.ask import (
    Named,
    Question,
    QuestionKeys,
    check_capabilities,
    read_answer,
    request_of,
)
from accord.mcp.server.input_requests.elicitation import ElicitUrl
from accord.mcp.server.input_requests.request_state import Once
from accord.mcp.server.session import ClientLink
from accord.mcp.server.tasks.store import TaskAnswer, TaskRecord, TaskStore


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


T = TypeVar("T")


class TaskLink:
    """The link of a task to its client; implements `ClientLink`."""

    __slots__ = ("_era", "_id", "_link", "principal", "session")

    def __init__(self, link: ClientLink, id: str, era: Era) -> None:
        self._link = link
        self._id = id
        self._era = era
        self.session = link.session
        self.principal = link.principal

    def notify(self, method: str, params: Any) -> None:
        # Tasks extension, status notifications: tasks have neither progress nor messages.
        if self._era is Era.HANDSHAKE:
            self._link.announce(method, related(params, self._id))

    def announce(self, method: str, params: Any) -> None:
        self._link.announce(method, params)

    def at_end(self, callback: Callable[[], None]) -> None:
        self._link.at_end(callback)

    async def ask(self, method: str, params: Any, *, into: type[T], timeout: float | None) -> T:
        raise own_error("internal_error", "the questions of a task wait to be fetched")

    def cancel(self, id: RequestId) -> None:
        self._link.cancel(id)

    def close_stream(self) -> None:
        """Do nothing: the request has been answered."""


class TaskInputChannel:
    """The input channel of one task; implements `InputChannel`."""

    def __init__(
        self, id: str, incoming: Incoming, store: TaskStore, profile: Profile, once: Once
    ) -> None:
        self.once = once
        self.waiting = 0
        self._id = id
        self._incoming = incoming
        self._store = store
        self._profile: Profile = profile
        self._keys = QuestionKeys()
        self._waiting: dict[str, asyncio.Future[TaskAnswer]] = {}

    async def ask(self, questions: Sequence[Named]) -> list[Any]:
        check_capabilities(questions, self._incoming, self._profile)
        placed = [self._place(*each) for each in questions]
        keys = {key for key, _, _ in placed}
        try:
            asked = {key: request for key, _, request in placed}
            await self._store.change(self._id, lambda record: record.asking(asked, time.time()))
            answers = [await self._waiting[key] for key, _, _ in placed]
        except asyncio.CancelledError:
            await self._store.change(self._id, lambda record: record.withdrawn(keys, time.time()))
            raise
        finally:
            for key in keys:
                del self._waiting[key]
        return [
            self._read(key, question, answer)
            for (key, question, _), answer in zip(placed, answers, strict=True)
        ]

    def _place(self, name: str, question: Question[Any]) -> tuple[str, Question[Any], Raw]:
        request = request_of(question, self._incoming.version)
        # Tasks extension, update: no key is used for two questions in the life of a task.
        key = self._keys.key(name, question.label, sha256(request).hexdigest())
        self._waiting[key] = asyncio.get_running_loop().create_future()
        return key, question, Raw(request)

    def _read(self, key: str, question: Question[Any], answer: TaskAnswer) -> Any:
        if answer.error is not UNSET:
            error = answer.error
            data = None if error.data is UNSET else error.data
            raise from_wire(error.code, error.message, data)
        assert answer.result is not UNSET
        return read_answer(question, key, bytes(answer.result), self._incoming.era, self._profile)

    def hear(self, record: TaskRecord) -> None:
        """Take the answers in a changed record."""
        for key, answer in record.answers.items():
            waiting = self._waiting.get(key)
            if waiting is not None and not waiting.done():
                waiting.set_result(answer)

    def refuse(self, questions: Sequence[ElicitUrl]) -> BaseException:
        check_capabilities(
            [("", question) for question in questions], self._incoming, self._profile
        )
        return failure(
            "url_elicitation_required",
            "This request requires more information.",
            era=self._incoming.era,
            profile=self._profile,
            elicitations=[question.params(self._incoming.version) for question in questions],
        )

    async def required(self) -> InputRequiredResult | None:
        return None
