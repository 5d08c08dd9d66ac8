"""What an application is busy with: a task for each, that nobody has to keep an eye on."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class Underway:
    """Tasks that have not ended. Belongs to one event loop."""

    __slots__ = ("_tasks",)

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do `work` beside everything else."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self, drain: float) -> None:
        """Wait so many seconds for all of it, and cancel what has not ended then."""
        if self._tasks and drain > 0:
            await asyncio.wait(self._tasks, timeout=drain)
        for task in tuple(self._tasks):
            task.cancel()
