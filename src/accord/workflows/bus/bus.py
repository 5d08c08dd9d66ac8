"""What carries tasks to bridges and results to executors.

Everything is handed over inside of the transaction that it follows from, so that it is there if and
only if that is; how it travels then is the bus's affair. What arrives may arrive twice, and in
another order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from accord.store.store import Transaction
from accord.workflows.bus.hands import Hands, Head
from accord.workflows.storage.inbox import Message
from accord.workflows.storage.tasks import NewTask


class Announcement(Struct, frozen=True):
    """What one decision added to the history of a run, for whoever watches from outside."""

    run_id: str
    sequence: int
    """Of the first of its events."""
    events: str
    """JSON: a list."""
    at: float
    correlation_id: str = ""
    traceparent: str = ""


class Bus(Protocol):
    def join(self, *, hands: Hands | None = None, head: Head | None = None) -> None:
        """A worker or an executor of this process, to whom the bus may give what arrives."""

    def lend(self, hands: Hands) -> Hands:
        """What an executor is to use to give tasks to the worker of its own process."""

    async def dispatch(
        self,
        db: Transaction,
        tasks: Sequence[NewTask],
        decisions: Sequence[Announcement] = (),
        *,
        given: Sequence[NewTask] = (),
    ) -> None:
        """Have tasks done by a bridge, and tell the world what happened; tasks that are `given` to
        somebody already are told only."""

    async def cancel(self, db: Transaction, task_ids: Sequence[str]) -> None:
        """Tell bridges that nobody waits for these any more, also before they have them."""

    async def offer(self, messages: Sequence[Message]) -> set[str]:
        """Have the executor of this process decide on successes, where it is its affair: the ids of
        those messages that are recorded, with the end of their tasks. Others are answered, or told,
        as if they had not been offered."""

    async def answer(self, db: Transaction, messages: Sequence[Message]) -> None:
        """Tell executors what came of tasks."""

    def tell(self, message: Message, after: Callable[[bool], None]) -> int:
        """Tell executors of a success without a transaction, where the bus can: how many characters
        that are, or 0 where it cannot. `after` is told whether it is on its way for good. Who tells
        keeps it until it is recorded, which is when the row of the task says that it is done."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...
