"""What carries tasks to bridges and results to executors.

Everything is handed over inside of the transaction that it follows from, so that it is there if and
only if that is; how it travels then is the bus's affair. What arrives may arrive twice, and in
another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from accord.store.store import Transaction
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
    async def dispatch(self, db: Transaction, tasks: Sequence[NewTask]) -> None:
        """Have tasks done by a bridge."""

    async def cancel(self, db: Transaction, task_ids: Sequence[str]) -> None:
        """Tell bridges that nobody waits for these any more, also before they have them."""

    async def answer(self, db: Transaction, messages: Sequence[Message]) -> None:
        """Tell executors what came of tasks."""

    async def announce(self, db: Transaction, decisions: Sequence[Announcement]) -> None:
        """Tell the world what happened."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...
