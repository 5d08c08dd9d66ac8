"""Those who work on tasks and decide on runs in the process of a bus, as far as it deals with them
directly: then nobody looks for what arrives, takes it and reads it, and nobody has to be woken. The
tables say the same as if it had gone by them alone, so that others take over when the process is
gone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from accord.store.store import Row, Transaction
from accord.workflows.storage.inbox import Message
from accord.workflows.storage.tasks import Kind, NewTask


class Hands(Protocol):
    """A worker. Tasks that it has room for are its own from the start, where an executor decides on
    them, or as soon as they arrive.

        claim     before the transaction: which tasks are to be recorded as its own
        give      after it: they are recorded, and begin
        drop      or else: it is not known whether they are recorded; where they are, it finds them

    Belongs to the event loop.
    """

    @property
    def owner(self) -> str:
        """The member that it works for."""

    def claim(self, tasks: Sequence[NewTask]) -> list[NewTask]:
        """Those of these tasks that it has room for."""

    def give(self, tasks: Sequence[NewTask]) -> None: ...

    def drop(self, tasks: Sequence[NewTask]) -> None: ...

    # The same for tasks that are there already, and arrive

    def reserve(self, tasks: Sequence[tuple[str, Kind, str]]) -> list[str]:
        """The ids of those that it has room for, of these ids, kinds and targets."""

    async def record(self, db: Transaction, ids: Collection[str]) -> list[Row]:
        """Make tasks its own, if they are still on their way; those that were."""

    def begin(self, ids: Collection[str], rows: Sequence[Row]) -> None:
        """Of these that were reserved, those are recorded as its own."""

    def release(self, ids: Collection[str]) -> None:
        """These were reserved, and it is not known whether they are recorded."""


class Head(Protocol):
    """An executor. Belongs to the event loop."""

    def is_its_own(self, run_id: str) -> bool:
        """Whether it decides on a run, as far as it knows."""

    async def decide_on(self, messages: Sequence[Message]) -> set[str]:
        """Decide on what came of tasks; the ids of those messages that are recorded, with the end
        of their tasks. Others may go to the inbox of their run, or come again."""
