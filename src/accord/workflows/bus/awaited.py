"""Tasks that an executor gives to the worker of its own process, by the broker: they are recorded
as the worker's own, and begin when their messages arrive. So nobody has to take them then; and as
they are its own, they begin without a message, too, if that takes long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Final

from accord.store.store import Row, Transaction
from accord.workflows.bus.hands import Hands
from accord.workflows.core.events import CallOperation
from accord.workflows.storage.tasks import Kind, NewTask

PATIENCE: Final = 5.0
"""Seconds after which a task begins without its message."""


class Awaited:
    """Implements `Hands`. `is_read_here` says whether all messages of tasks arrive in this
    process; operations have none. Belongs to the event loop."""

    def __init__(self, hands: Hands, is_read_here: Callable[[], bool]) -> None:
        self._hands = hands
        self._is_read_here = is_read_here
        self._awaited: dict[str, NewTask] = {}
        self._unsent: set[str] = set()

    @property
    def owner(self) -> str:
        return self._hands.owner

    def claim(self, tasks: Sequence[NewTask]) -> list[NewTask]:
        is_read_here = self._is_read_here()
        return self._hands.claim([each for each in tasks if is_read_here or _is_local(each)])

    def leave_out(self, task: NewTask) -> None:
        """There will be no message for this one."""
        self._unsent.add(task.id)

    def give(self, tasks: Sequence[NewTask]) -> None:
        now = [each for each in tasks if _is_local(each) or each.id in self._unsent]
        self._unsent.difference_update(each.id for each in now)
        self._hands.give(now)
        begun = {each.id for each in now}
        awaited = {each.id: each for each in tasks if each.id not in begun}
        if awaited:
            self._awaited |= awaited
            asyncio.get_running_loop().call_later(PATIENCE, self.arrive, list(awaited))

    def drop(self, tasks: Sequence[NewTask]) -> None:
        self._unsent.difference_update(each.id for each in tasks)
        self._hands.drop(tasks)

    def arrive(self, ids: Collection[str]) -> set[str]:
        """Messages of tasks have arrived: which of these begin with it."""
        begun = {id: self._awaited.pop(id) for id in set(ids) if id in self._awaited}
        self._hands.give(list(begun.values()))
        return set(begun)

    # Tasks that nobody waits for here are the worker's affair

    def reserve(self, tasks: Sequence[tuple[str, Kind, str]]) -> list[str]:
        return self._hands.reserve(tasks)

    async def record(self, db: Transaction, ids: Collection[str]) -> list[Row]:
        return await self._hands.record(db, ids)

    def begin(self, ids: Collection[str], rows: Sequence[Row]) -> None:
        self._hands.begin(ids, rows)

    def release(self, ids: Collection[str]) -> None:
        self._hands.release(ids)


def _is_local(task: NewTask) -> bool:
    return isinstance(task.command, CallOperation)
