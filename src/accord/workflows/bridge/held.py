"""A task that a worker has: taken, and not ended yet."""

from __future__ import annotations

import asyncio
from typing import Final

from msgspec.structs import replace

from accord.workflows.bridge.claimed import ClaimedTask

OVERHEAD: Final = 2_000
"""What a task takes in memory beside its input, in bytes."""


class Held:
    """One of them. `task` is as its row is, or is about to be."""

    __slots__ = ("cancelled", "ending", "job", "reached", "size", "started", "task", "unwritable")

    def __init__(self, task: ClaimedTask) -> None:
        self.task = task
        self.size = task.size + OVERHEAD
        self.cancelled = task.cancelled
        """Nobody waits for it any more."""
        self.ending = False
        """What became of it is on its way to the database."""
        self.reached = False
        """The other side answered."""
        self.unwritable = False
        """The database refused what became of it."""
        self.started = 0.0
        self.job: asyncio.Task[None] | None = None

    def began(self, remote_task: str, remote_context: str) -> None:
        """The other side works on it, and has all that it was sent."""
        self.task = replace(
            self.task,
            remote_task=remote_task,
            remote_context=remote_context,
            continues=False,
            continuation=None,
        )

    def start_over(self) -> None:
        """Whatever the other side began is over, or forgotten."""
        self.began("", "")

    def stop(self) -> None:
        """Do no more for it."""
        if self.job is not None:
            self.job.cancel()
