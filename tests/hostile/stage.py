"""A server with one well-behaved client, to see that it is served whatever others do."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from accord import Peer, Router, connect, serve
from accord.transports.serve import Server
from tests.hostile.attacker import open_files, until
from tests.patience import PATIENCE

URLS: Final = {
    "tcp": "tcp://127.0.0.1:0",
    "ws": "ws://127.0.0.1:0/rpc",
    "http": "http://127.0.0.1:0/rpc",
}
MIB: Final = 1024 * 1024
LONGEST_WAIT: Final = PATIENCE
"""Seconds that the well-behaved client waits for an answer at most; usually it takes a few
milliseconds, but the machine may be busy."""

every_transport = pytest.mark.parametrize("scheme", URLS)


class Witness:
    """Calls the server all the time, and remembers how that went."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self.served = 0

    async def run(self) -> None:
        while True:
            number = self.served
            assert await self._peer.call("plus_one", [number], timeout=LONGEST_WAIT) == number + 1
            self.served += 1
            await asyncio.sleep(0.002)


def plus_one(number: int) -> int:
    return number + 1


@asynccontextmanager
async def witnessed(peer: Peer) -> AsyncIterator[Witness]:
    """A client that is served while the block runs; raises what went wrong with that."""
    witness = Witness(peer)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(witness.run())
        await until(lambda: witness.served > 0)
        yield witness
        running.cancel()


@asynccontextmanager
async def served(
    scheme: str, router: Router | None = None, *, most_bytes: int = 8 * MIB, **options: Any
) -> AsyncIterator[Server]:
    """A server under attack in the block.

    Afterwards a well-behaved client must have been served all the while, Python must never
    have held `most_bytes` more than before, and nothing may be left: no connection, no
    handler, no task, no socket.
    """
    router = Router() if router is None else router
    router.add(plus_one)
    async with serve(Router(), URLS[scheme]):
        pass  # with its first server a loop opens what it needs for itself
    files = open_files()
    async with (
        serve(router, URLS[scheme], drain=0, **options) as server,
        connect(server.url) as peer,
        witnessed(peer) as witness,
    ):
        with bounded_memory(most_bytes):
            before = witness.served
            yield server
            await until(lambda: witness.served > before + 1)
        await until(lambda: server.in_flight == 0 and server.connections == 1)
    await until(lambda: server.connections == 0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    await until(lambda: open_files() <= files)


class bounded_memory:  # noqa: N801 - reads as what it makes of the block
    """Fails when Python comes to hold `most` more bytes than at the beginning of the block."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._before = 0

    def __enter__(self) -> None:
        gc.collect()
        tracemalloc.start()
        self._before = tracemalloc.get_traced_memory()[0]

    def __exit__(self, exc_type: type[BaseException] | None, *rest: object) -> None:
        peak = tracemalloc.get_traced_memory()[1] - self._before
        tracemalloc.stop()
        if exc_type is None:
            assert peak < self._most, f"{peak:,} bytes were held, over the bound of {self._most:,}"
