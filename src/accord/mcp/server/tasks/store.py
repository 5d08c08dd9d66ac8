"""Task records, the store that keeps them, and the settings of tasks.

The store here is in memory; several processes share another one (`accord.mcp.server.cluster`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from accord.jsonrpc.protocol.errors import RpcError
from accord.mcp.protocol.tasks import TRANSITIONS, TaskError, TaskStatus, is_over


class TaskAnswer(Struct, frozen=True, omit_defaults=True):
    """The answer to a question: a result, or an error in place of one."""

    result: Raw | UnsetType = UNSET
    error: TaskError | UnsetType = UNSET


class TaskRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One task as an encodable value, readable by other processes."""

    id: str
    owner: str
    """The owner, who may see it."""
    created: float
    """Seconds since 1970."""
    updated: float
    ttl_ms: int
    poll_ms: int
    status: TaskStatus = "working"
    message: str = ""
    questions: dict[str, Raw] = {}
    """Open questions by key: requests without ids."""
    answers: dict[str, TaskAnswer] = {}
    """Answers by key, for the process that runs the task."""
    result: Raw | UnsetType = UNSET
    """The result that the request would have had."""
    error: TaskError | None = None

    @property
    def expires(self) -> float:
        return self.created + self.ttl_ms / 1000

    @property
    def is_over(self) -> bool:
        return is_over(self.status)

    def asking(self, questions: dict[str, Raw], now: float) -> TaskRecord | None:
        """Return the record with these questions open; None if it is over."""
        if self.is_over:
            return None
        return replace(
            self, status="input_required", questions={**self.questions, **questions}, updated=now
        )

    def answered(self, answers: dict[str, TaskAnswer], now: float) -> TaskRecord | None:
        """Return the record with answers to its open questions.

        None if none of them is open.
        """
        new = {key: answer for key, answer in answers.items() if key in self.questions}
        if self.is_over or not new:
            return None
        return replace(self._without(set(new), now), answers={**self.answers, **new}, updated=now)

    def withdrawn(self, keys: set[str], now: float) -> TaskRecord | None:
        """Return the record without these questions.

        None if it is over or has none of them.
        """
        if self.is_over or not keys & self.questions.keys():
            return None
        return self._without(keys, now)

    def _without(self, keys: set[str], now: float) -> TaskRecord:
        left = {key: it for key, it in self.questions.items() if key not in keys}
        status: TaskStatus = "input_required" if left else "working"
        return replace(self, status=status, questions=left, updated=now)

    def ended(
        self,
        status: TaskStatus,
        now: float,
        *,
        message: str = "",
        result: Raw | UnsetType = UNSET,
        error: TaskError | None = None,
    ) -> TaskRecord | None:
        """Return the record at its end; None if it has ended already.

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
    """Return an error in the form that a task keeps."""
    return TaskError(error.code, error.message, UNSET if error.data is None else error.data)


Change: TypeAlias = Callable[[TaskRecord], TaskRecord | None]
"""Makes a new record of an old one; None keeps the old one. May be called more than once."""
Hear: TypeAlias = Callable[[TaskRecord], None]


class TaskStore(Protocol):
    """A store of task records with change notifications to all processes."""

    async def add(self, record: TaskRecord, *, most: int, most_of_owner: int) -> bool:
        """Store a new task, unless a limit is reached.

        `most` limits all tasks, `most_of_owner` those of its owner. When this returns, every
        process can read it.
        """

    async def get(self, id: str) -> TaskRecord | None:
        """Return the record of a task; None for an unknown or removed one."""

    async def change(self, id: str, change: Change) -> TaskRecord | None:
        """Replace a record by the result of `change`, atomically.

        Returns the new record; None if there is no record, or `change` returned None.
        """

    async def remove(self, id: str) -> None:
        """Remove a task."""

    async def of_owner(self, owner: str) -> list[TaskRecord]:
        """Return the tasks of an owner, oldest first."""

    def observe(self, hear: Hear) -> None:
        """Call `hear` on the event loop with every changed record, of any process."""


class MemoryTaskStore:
    """The tasks of one process."""

    def __init__(self) -> None:
        self._records: dict[str, TaskRecord] = {}
        self._owned: dict[str, dict[str, None]] = {}
        self._observers: list[Hear] = []

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

    async def change(self, id: str, change: Change) -> TaskRecord | None:
        record = self._records.get(id)
        changed = None if record is None else change(record)
        if changed is not None:
            self._records[id] = changed
            for hear in self._observers:
                hear(changed)
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

    def observe(self, hear: Hear) -> None:
        self._observers.append(hear)


LEGACY_TASK_CAPABILITY: Final[dict[str, Any]] = {
    "list": {},
    "cancel": {},
    "requests": {"tools": {"call": {}}},
}
"""The task capability of a server of 2025-11-25 with tools that may run as tasks."""


class TaskSettings(Struct, frozen=True, kw_only=True):
    """Retention, limits and storage of tasks."""

    ttl_ms: int = 3_600_000
    """Retention of a task from its creation, unless the client asks for another."""
    max_ttl_ms: int = 86_400_000
    """Maximum retention that a client can ask for."""
    poll_ms: int = 1_000
    """Recommended polling interval of clients."""
    max_tasks: int = 10_000
    """Limit of tasks, running or done."""
    max_tasks_per_owner: int = 1_000
    """Limit of tasks per principal, or per session without a principal."""
    store: TaskStore | None = None
    """The store; by default the memory of this process."""


MIN_TTL_MS = 1_000
"""Minimum retention that a client can ask for: a result must remain long enough to be fetched."""
