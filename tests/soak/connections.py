"""Connections that come and go, and many that stay."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Final

from accord import Peer, connect
from tests.soak.service import client_router

AT_ONCE: Final = 64
"""How many connections are being made at a time."""


async def come_and_go(urls: Sequence[str], count: int) -> None:
    """Open and close so many connections, with one call on each."""
    router = client_router()
    turns = itertools.islice(itertools.cycle(urls), count)

    async def work() -> None:
        for url in turns:
            async with connect(url, router) as peer:
                assert await peer.call("add", [20, 22]) == 42

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())


async def hold(urls: Sequence[str], count: int, *, rounds: int) -> None:
    """Keep so many connections open at once, with traffic on every tenth."""
    router = client_router()
    turns = itertools.islice(itertools.cycle(urls), count)
    async with AsyncExitStack() as stack:

        async def work() -> list[Peer]:
            mine = (connect(url, router, pool_size=1) for url in turns)
            return [await stack.enter_async_context(each) for each in mine]

        opened = await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        peers = list(itertools.chain.from_iterable(opened))
        assert len(peers) == count
        for number in range(rounds):
            sums = await asyncio.gather(*(peer.call("add", [number, 1]) for peer in peers[::10]))
            assert set(sums) == {number + 1}
        await asyncio.gather(*(peer.close() for peer in peers))
