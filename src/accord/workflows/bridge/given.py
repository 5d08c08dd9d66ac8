"""Tasks that an executor in the same process gives to a worker while it decides on them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from accord.workflows.bridge.claimed import ClaimedTask, given_of
from accord.workflows.bridge.holding import Holding
from accord.workflows.bridge.targets import Targets
from accord.workflows.storage.tasks import Kind, NewTask, aim


class Given:
    """Implements `Hands`. `is_open` says whether anything may be begun now; `begin` is called with
    the tasks that are recorded."""

    def __init__(
        self,
        owner: str,
        kinds: Collection[Kind],
        holding: Holding,
        targets: Targets,
        *,
        is_open: Callable[[], bool],
        begin: Callable[[list[ClaimedTask]], None],
        now: Callable[[], float],
    ) -> None:
        self.owner = owner
        self._kinds = kinds
        self._holding = holding
        self._targets = targets
        self._is_open = is_open
        self._begin = begin
        self._now = now
        self._coming: set[str] = set()

    def __contains__(self, id: str) -> bool:
        """Whether a task was claimed, and not given yet."""
        return id in self._coming

    def claim(self, tasks: Sequence[NewTask]) -> list[NewTask]:
        if not self._is_open():
            return []
        now = self._now()
        room = self._holding.room - len(self._coming)
        spare: dict[tuple[Kind, str], int] = {}
        claimed: list[NewTask] = []
        for task in tasks:
            key = aim(task.command)
            if len(claimed) >= room or key[0] not in self._kinds:
                continue
            left = spare.get(key)
            if left is None:
                left = self._targets.get(key).spare(now)
            spare[key] = left - 1
            if left > 0:
                claimed.append(task)
        self._coming.update(task.id for task in claimed)
        return claimed

    def give(self, tasks: Sequence[NewTask]) -> None:
        self.drop(tasks)
        if tasks:
            self._begin([given_of(task) for task in tasks])

    def drop(self, tasks: Sequence[NewTask]) -> None:
        self._coming.difference_update(task.id for task in tasks)
