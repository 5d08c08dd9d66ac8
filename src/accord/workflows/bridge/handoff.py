"""Local handoff: an executor or a bus in the same process gives tasks to the worker directly.

Tasks are handed over while they are decided on, or as they arrive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

from accord.store.store import Row, Transaction
from accord.workflows.bridge.in_flight import CallTargets, InFlightTasks, TargetKey
from accord.workflows.bridge.task import ClaimedTask, claimed_task
from accord.workflows.storage.tasks import Kind, NewTask, TaskRows, kind_and_target


class LocalHandoff:
    """The `LocalWorker` of this process.

    `is_open` tells if tasks may begin now; `begin_tasks` and `begin_rows` are called with recorded
    tasks.
    """

    def __init__(
        self,
        owner: str,
        kinds: Collection[Kind],
        in_flight: InFlightTasks,
        targets: CallTargets,
        rows: TaskRows,
        *,
        is_open: Callable[[], bool],
        begin_tasks: Callable[[list[ClaimedTask]], None],
        begin_rows: Callable[[Sequence[Row], Callable[[], None]], None],
        now: Callable[[], float],
    ) -> None:
        self.owner = owner
        self._kinds = kinds
        self._in_flight = in_flight
        self._targets = targets
        self._rows = rows
        self._is_open = is_open
        self._begin_tasks = begin_tasks
        self._begin_rows = begin_rows
        self._now = now
        self._coming: dict[str, TargetKey] = {}
        self._expected: Counter[TargetKey] = Counter()
        """The number of claimed tasks by target."""

    def __contains__(self, id: str) -> bool:
        """Return True if a task was claimed, but not given yet."""
        return id in self._coming

    def claim(self, tasks: Sequence[NewTask]) -> list[NewTask]:
        known = {task.id: task for task in tasks}
        return [
            known[id]
            for id in self.reserve(
                [(id, *kind_and_target(each.command)) for id, each in known.items()]
            )
        ]

    def give(self, tasks: Sequence[NewTask]) -> None:
        self.drop(tasks)
        if tasks:
            self._begin_tasks([claimed_task(task) for task in tasks])

    def drop(self, tasks: Sequence[NewTask]) -> None:
        self.release([task.id for task in tasks])

    def reserve(self, tasks: Sequence[tuple[str, Kind, str]]) -> list[str]:
        if not self._is_open():
            return []
        now = self._now()
        room = self._in_flight.room - len(self._coming)
        spare: dict[TargetKey, int] = {}
        reserved: list[str] = []
        for id, kind, target in tasks:
            key = kind, target
            if len(reserved) >= room or kind not in self._kinds:
                continue
            left = spare.get(key)
            if left is None:
                left = self._targets.get(key).spare(now) - self._expected[key]
            spare[key] = left - 1
            if left > 0 and id not in self._coming:
                reserved.append(id)
                self._coming[id] = key
                self._expected[key] += 1
        return reserved

    async def record(self, db: Transaction, ids: Collection[str]) -> list[Row]:
        return await self._rows.record(db, self.owner, ids)

    def begin(self, ids: Collection[str], rows: Sequence[Row]) -> None:
        begun = {row["id"] for row in rows}
        self.release([id for id in ids if id not in begun])
        if rows:
            self._begin_rows(rows, lambda: self.release(begun))

    def release(self, ids: Collection[str]) -> None:
        for id in ids:
            key = self._coming.pop(id, None)
            if key is not None:
                self._expected[key] -= 1
                if not self._expected[key]:
                    del self._expected[key]
