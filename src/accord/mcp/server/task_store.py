"""Task records and their store, tasks as clients see them, and the settings of tasks.

The store here is in memory; several processes share another one (`accord.mcp.server.cluster`).

When a task is running, its request has already been answered. Therefore its handler reaches the
client through `TaskLink` and `TaskInputChannel`. The handler's questions are part of the task's
record until they are answered.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from msgspec import UNSET, Raw, Struct, UnsetType, to_builtins
from msgspec.structs import replace

from accord.jsonrpc.protocol.errors import RpcError, from_wire, own_error
from accord.mcp.protocol.content import RELATED_TASK, SUBSCRIPTION_ID
from accord.mcp.protocol.messages import InputRequiredResult, Profile, RequestId, failure
from accord.mcp.protocol.tasks import (
    TRANSITIONS,
    CancelledTask,
    CompletedTask,
    DetailedTask,
    FailedTask,
    GetTaskResult,
    InputRequiredTask,
    Task,
    TaskCreated,
    TaskError,
    TaskStatus,
    WorkingTask,
    is_over,
)
from accord.mcp.protocol.versions import Era
from accord.mcp.server.input_requests.ask import (
    Named,
    Question,
    QuestionKeys,
    check_capabilities,
    read_answer,
    request_of,
)
from accord.mcp.server.input_requests.client_features import ElicitUrl
from accord.mcp.server.input_requests.request_state import Once
from accord.mcp.server.session import ClientLink, Incoming


class TaskAnswer(Struct, frozen=True, omit_defaults=True):
    """The answer to a question of a task: a result, or an error in place of a result."""

    result: Raw | UnsetType = UNSET
    error: TaskError | UnsetType = UNSET


class TaskRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The record of one task, encodable so that other processes can read it."""

    id: str
    owner: str
    """The owner of the task; only this owner may see it."""
    created: float
    """Time of creation, in seconds since 1970."""
    updated: float
    ttl_ms: int
    poll_ms: int
    status: TaskStatus = "working"
    message: str = ""
    questions: dict[str, Raw] = {}
    """Open questions by key, each a request without an id."""
    answers: dict[str, TaskAnswer] = {}
    """Clients' answers by key, for the process that runs the task."""
    result: Raw | UnsetType = UNSET
    """The result that the original request would have had."""
    error: TaskError | None = None

    @property
    def expires(self) -> float:
        return self.created + self.ttl_ms / 1000

    @property
    def is_over(self) -> bool:
        return is_over(self.status)

    def asking(self, questions: dict[str, Raw], now: float) -> TaskRecord | None:
        """Return the record with `questions` added; None if the task is over."""
        if self.is_over:
            return None
        return replace(
            self, status="input_required", questions={**self.questions, **questions}, updated=now
        )

    def answered(self, answers: dict[str, TaskAnswer], now: float) -> TaskRecord | None:
        """Return the record with `answers` in place of the questions that they answer.

        Return None if the task is over, or none of these questions is open.
        """
        new = {key: answer for key, answer in answers.items() if key in self.questions}
        if self.is_over or not new:
            return None
        return replace(self._without(set(new), now), answers={**self.answers, **new}, updated=now)

    def withdrawn(self, keys: set[str], now: float) -> TaskRecord | None:
        """Return the record without the questions with these keys.

        Return None if the task is over, or none of these questions is open.
        """
        if self.is_over or not keys & self.questions.keys():
            return None
        return self._without(keys, now)

    def _without(self, keys: set[str], now: float) -> TaskRecord:
        remaining = {key: it for key, it in self.questions.items() if key not in keys}
        status: TaskStatus = "input_required" if remaining else "working"
        return replace(self, status=status, questions=remaining, updated=now)

    def ended(
        self,
        status: TaskStatus,
        now: float,
        *,
        message: str = "",
        result: Raw | UnsetType = UNSET,
        error: TaskError | None = None,
    ) -> TaskRecord | None:
        """Return the record with the final status of its task, and its result or error.

        Return None if the task has already ended.

        2025-11-25, tasks: a cancelled task stays cancelled, whatever the result of the work.
        """
        if status not in TRANSITIONS[self.status]:
            return None
        return replace(
            self,
            status=status,
            message=message,
            questions={},
            answers={},
            result=result,
            error=error,
            updated=now,
        )


def task_error(error: RpcError) -> TaskError:
    """Return an error in the form that is stored in a task record."""
    return TaskError(error.code, error.message, UNSET if error.data is None else error.data)


RecordChange: TypeAlias = Callable[[TaskRecord], TaskRecord | None]
"""A function that returns a new record for an old one, or None to leave the old one unchanged. It
may be called more than once."""
RecordObserver: TypeAlias = Callable[[TaskRecord], None]


class TaskStore(Protocol):
    """A store of task records, which notifies all processes of changes."""

    async def add(self, record: TaskRecord, *, most: int, most_of_owner: int) -> bool:
        """Store a new task; return False if a limit is reached.

        `most` limits the number of all tasks, `most_of_owner` that of the owner's tasks. When this
        returns, every process can read the record.
        """

    async def get(self, id: str) -> TaskRecord | None:
        """Return the record of a task; None for an unknown or removed task."""

    async def change(self, id: str, change: RecordChange) -> TaskRecord | None:
        """Replace the record of a task by the result of `change`, atomically.

        Return the new record; None if there is no record, or `change` returned None.
        """

    async def remove(self, id: str) -> None:
        """Remove the record of a task; do nothing if there is none."""

    async def of_owner(self, owner: str) -> list[TaskRecord]:
        """Return the records of an owner's tasks, oldest first."""

    def observe(self, hear: RecordObserver) -> None:
        """Register `hear`, called on the event loop with every record that any process changes."""


class MemoryTaskStore:
    """A store of the tasks of one process, in memory."""

    def __init__(self) -> None:
        self._records: dict[str, TaskRecord] = {}
        self._owned: dict[str, dict[str, None]] = {}
        self._observers: list[RecordObserver] = []

    def __len__(self) -> int:
        return len(self._records)

    async def add(self, record: TaskRecord, *, most: int, most_of_owner: int) -> bool:
        owned = self._owned.get(record.owner, {})
        if len(self._records) >= most or len(owned) >= most_of_owner:
            return False
        self._records[record.id] = record
        self._owned.setdefault(record.owner, owned)[record.id] = None
        return True

    async def get(self, id: str) -> TaskRecord | None:
        return self._records.get(id)

    async def change(self, id: str, change: RecordChange) -> TaskRecord | None:
        record = self._records.get(id)
        changed = None if record is None else change(record)
        if changed is not None:
            self._records[id] = changed
            for observer in self._observers:
                observer(changed)
        return changed

    async def remove(self, id: str) -> None:
        record = self._records.pop(id, None)
        if record is not None:
            owned = self._owned[record.owner]
            del owned[id]
            if not owned:
                del self._owned[record.owner]

    async def of_owner(self, owner: str) -> list[TaskRecord]:
        return [self._records[id] for id in self._owned.get(owner, ())]

    def observe(self, hear: RecordObserver) -> None:
        self._observers.append(hear)


LEGACY_TASK_CAPABILITY: Final[dict[str, Any]] = {
    "list": {},
    "cancel": {},
    "requests": {"tools": {"call": {}}},
}
"""The task capability, in 2025-11-25, of a server with tools that may run as tasks."""


class TaskSettings(Struct, frozen=True, kw_only=True):
    """Retention, limits and storage of tasks."""

    ttl_ms: int = 3_600_000
    """Retention of a task from its creation, unless the client requests another."""
    max_ttl_ms: int = 86_400_000
    """Maximum retention that a client can request."""
    poll_ms: int = 1_000
    """Recommended polling interval of clients."""
    max_tasks: int = 10_000
    """Limit of all tasks, running or done."""
    max_tasks_per_owner: int = 1_000
    """Limit of tasks per principal, or per session without a principal."""
    store: TaskStore | None = None
    """The store of task records; by default in the memory of this process."""


MIN_TTL_MS = 1_000
"""Minimum retention that a client can request: a result must remain long enough to be fetched."""


def task(record: TaskRecord) -> Task:
    """Return a task record as a `Task` of protocol version 2025-11-25."""
    return Task(**_members(record))


def task_result(record: TaskRecord) -> GetTaskResult:
    """Return a task record as the result of `tasks/get` in 2025-11-25."""
    return GetTaskResult(**_members(record))


def created(record: TaskRecord) -> TaskCreated:
    """Return the result of a call that became a task, for version 2026-07-28."""
    return TaskCreated(status=record.status, **_extension_members(record))


def detailed(record: TaskRecord, meta: dict[str, Any] | None = None) -> DetailedTask:
    """Return a task record as a task of protocol version 2026-07-28.

    It has the questions, the result or the error of the task.
    """
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


def notification_params(record: TaskRecord, subscription: Any) -> DetailedTask:
    """Return the params of the notification that a task changed, in 2026-07-28."""
    return detailed(record, {SUBSCRIPTION_ID: subscription})


def related(params: Any, id: str) -> dict[str, Any]:
    """Return the params of a message with the id of the task that it belongs to.

    2025-11-25, tasks, related messages.
    """
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
    """Return a time, in seconds since 1970, as ISO 8601 in UTC."""
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


T = TypeVar("T")


class TaskLink:
    """The link from a task to its client; implements `ClientLink`."""

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
        """Do nothing: the request has already been answered."""


class TaskInputChannel:
    """The channel through which a task asks its client; implements `InputChannel`."""

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
            requests = {key: request for key, _, request in placed}
            await self._store.change(self._id, lambda record: record.asking(requests, time.time()))
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
        """Pass the answers in this task's changed record to the questions that wait."""
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
