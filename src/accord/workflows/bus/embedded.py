"""The bus that is nothing but the tables which executors and bridges share; within one process what
came of a task need not go by them."""

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

    def __init__(self) -> None:
        self._head: Head | None = None

    def join(self, *, hands: Hands | None = None, head: Head | None = None) -> None:
        if head is not None:
            self._head = head

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

    async def offer(self, messages: Sequence[Message]) -> set[str]:
        head = self._head
        if head is None:
            return set()
        own = [each for each in messages if head.is_its_own(each.run_id)]
        return await head.decide_on(own) if own else set()

    async def answer(self, db: Transaction, messages: Sequence[Message]) -> None:
        await deliver(db, messages)

    def tell(self, message: Message, after: Callable[[bool], None]) -> int:
        return 0

    async def start(self) -> None:
        """Nothing runs: a wake is all there is."""

    async def close(self) -> None:
        pass
