"""The bus that is nothing but the tables which executors and bridges share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from accord.store.store import Transaction
from accord.workflows.bus.bus import Announcement
from accord.workflows.bus.hands import Hands, Head
from accord.workflows.storage.inbox import Message, deliver
from accord.workflows.storage.task_changes import cancel_tasks
from accord.workflows.storage.tasks import WAKE, NewTask, insert_tasks


class EmbeddedBus:
    """Implements `Bus`."""

    def join(self, *, hands: Hands | None = None, head: Head | None = None) -> None:
        """Nothing arrives but by the tables."""

    def lend(self, hands: Hands) -> Hands:
        return hands

    async def dispatch(
        self,
        db: Transaction,
        tasks: Sequence[NewTask],
        decisions: Sequence[Announcement] = (),
        *,
        given: Sequence[NewTask] = (),
    ) -> None:
        """Who watches reads the history."""
        if tasks:
            await insert_tasks(db, tasks, "ready")
            await db.notify(WAKE)

    async def cancel(self, db: Transaction, task_ids: Sequence[str]) -> None:
        await cancel_tasks(db, task_ids)

    async def answer(self, db: Transaction, messages: Sequence[Message]) -> None:
        await deliver(db, messages)

    def tell(self, message: Message, after: Callable[[bool], None]) -> int:
        return 0

    async def start(self) -> None:
        """Nothing runs: a wake is all there is."""

    async def close(self) -> None:
        pass
