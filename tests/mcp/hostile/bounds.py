"""What must hold whatever the other end does: little memory, little time, nothing left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from tests.hostile.attacker import open_files, until
from tests.hostile.stage import MIB, bounded_memory
from tests.patience import PATIENCE

MOST_BYTES: Final = 8 * MIB
"""How much more Python may come to hold while somebody misbehaves."""
LONGEST: Final = PATIENCE
"""Seconds within which everything is over: usually it takes a few tenths, but the machine may
be busy."""


@asynccontextmanager
async def bounded(*, most_bytes: int = MOST_BYTES, seconds: float = LONGEST) -> AsyncIterator[None]:
    """Around a client or a server and who attacks it: nothing of either is left behind."""
    tasks, files = asyncio.all_tasks(), open_files()
    with bounded_memory(most_bytes):
        async with asyncio.timeout(seconds):
            yield
    await until(lambda: asyncio.all_tasks() <= tasks)
    await until(lambda: open_files() <= files)
