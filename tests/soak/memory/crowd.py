"""The crowd, somebody who asks all the while whether the server is well, and the memory it holds."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from tests.hostile.attacker import Attacker, attack

MIB: Final = 1024 * 1024
PIECE: Final = b"x" * 65_536
HOLD_SECONDS: Final = 1.0
"""How long the crowd stays once everybody has sent all that was taken."""


class Story(Struct, frozen=True):
    """What one of the crowd sends: a beginning, and then so many bytes that end nothing."""

    beginning: bytes
    size: int


class Target(Struct, frozen=True):
    """Something to be attacked."""

    name: str
    url: str
    pid: int
    stories: Sequence[Story]
    ask: Callable[[], Awaitable[None]]
    """Raises when the server is not well."""


class Outcome(Struct, frozen=True):
    """What the attack cost."""

    name: str
    sent: int
    """Bytes that the server's side took."""
    growth: int
    """Most bytes of resident memory beyond those before."""
    asked: int
    """How often somebody asked, and was answered."""
    slowest: float
    """Seconds that the slowest of these answers took."""


async def attacked(target: Target, connections: int) -> Outcome:
    """Attack, and see what it costs. Raises what `ask` raises."""
    for _ in range(20):
        await target.ask()
    before = peak = rss(target.pid)
    times: list[float] = []

    async def watch() -> None:
        nonlocal peak
        while True:
            peak = max(peak, rss(target.pid))
            await asyncio.sleep(0.01)

    async def keep_asking() -> None:
        while True:
            began = time.perf_counter()
            async with asyncio.timeout(30):
                await target.ask()
            times.append(time.perf_counter() - began)
            await asyncio.sleep(0.05)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(watch()), group.create_task(keep_asking())]
        sent = await _crowd(target, connections)
        for task in tasks:
            task.cancel()
    return Outcome(target.name, sent, peak - before, len(times), max(times))


async def _crowd(target: Target, connections: int) -> int:
    async with AsyncExitStack() as stack:
        everybody = [await stack.enter_async_context(_joined(target)) for _ in range(connections)]
        stories = [target.stories[each % len(target.stories)] for each in range(connections)]
        sending = (_send(one, story) for one, story in zip(everybody, stories, strict=True))
        sent = await asyncio.gather(*sending)
        await asyncio.sleep(HOLD_SECONDS)
    return sum(sent)


@asynccontextmanager
async def _joined(target: Target) -> AsyncIterator[Attacker]:
    one = await attack(target.url)
    try:
        if one.scheme == "ws":
            await one.upgrade()
        yield one
    finally:
        one.leave()


async def _send(one: Attacker, story: Story) -> int:
    """Send until all is sent, or the server ends the connection."""
    sent = 0
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(60):
            await one.send(story.beginning)
            while sent < story.size:
                piece = PIECE[: story.size - sent]
                await one.send(piece)
                sent += len(piece)
    return sent


def rss(pid: int) -> int:
    """How many bytes of a process are resident."""
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize()
