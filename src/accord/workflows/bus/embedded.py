"""The bus that is nothing but the tables which executors and bridges share."""

from __future__ import annotations

from collections.abc import Sequence

from accord.store.store import Transaction
from accord.workflows.bus.bus import Announcement
from accord.workflows.storage.inbox import Message, deliver
from accord.workflows.storage.task_changes import cancel_tasks
from accord.workflows.storage.tasks import WAKE, NewTask, insert_tasks


class EmbeddedBus:
    """Implements `Bus`."""

    async def dispatch(self, db: Transaction, tasks: Sequence[NewTask]) -> None:
        await insert_tasks(db, tasks, "ready")
        await db.notify(WAKE)

    async def cancel(self, db: Transaction, task_ids: Sequence[str]) -> None:
        await cancel_tasks(db, task_ids)

    async def answer(self, db: Transaction, messages: Sequence[Message]) -> None:
        await deliver(db, messages)

    async def announce(self, db: Transaction, decisions: Sequence[Announcement]) -> None:
        """Who watches reads the history."""

    async def start(self) -> None:
        """Nothing runs: a wake is all there is."""

    async def close(self) -> None:
        pass
