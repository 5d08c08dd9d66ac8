"""Where tasks are kept: in memory here; behind the same face for several processes elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from accord.mcp.server.tasks.record import TaskRecord

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
