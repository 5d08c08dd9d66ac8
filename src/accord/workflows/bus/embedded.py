"""The bus that is nothing but the tables which executors and bridges share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from accord.store.store import Transaction
from accord.workflows.bus.bus import Announcement
from accord.workflows.storage.inbox import Message, deliver
from accord.workflows.storage.tasks import WAKE, NewTask, insert_tasks

_CANCEL: Final = "UPDATE tasks SET cancelled = 1 WHERE id = $1 AND state <> 'done'"


class EmbeddedBus:
    """Implements `Bus`."""

    async def dispatch(self, db: Transaction, tasks: Sequence[NewTask]) -> None:
        await insert_tasks(db, tasks, "ready")
        await db.notify(WAKE)

    async def cancel(self, db: Transaction, task_ids: Sequence[str]) -> None:
        await db.execute_many(_CANCEL, [(each,) for each in task_ids])
        await db.notify(WAKE)

    async def answer(self, db: Transaction, messages: Sequence[Message]) -> None:
        await deliver(db, messages)

    async def announce(self, db: Transaction, decisions: Sequence[Announcement]) -> None:
        """Who watches reads the history."""

    async def start(self) -> None:
        """Nothing runs: a wake is all there is."""

    async def close(self) -> None:
        pass
