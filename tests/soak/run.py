"""One soak on one event loop: `python -m tests.soak.run LOOP`. Prints what it found as JSON.

A short run first brings everything to its working size: caches, the pool of threads, the
allocator. What is held then is what must be held at the end.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from accord import Peer, connect, serve
from accord.jsonrpc.runtime.threads import DEFAULT_THREADS
from accord.transports.serve import Server
from tests.soak import calls, connections
from tests.soak.measures import MIB, Held, allow_files, held
from tests.soak.service import client_router, server_router

URLS: Final = ("tcp://127.0.0.1:0", "ws://127.0.0.1:0/rpc", "http://127.0.0.1:0/rpc")
CHILD: Final = (sys.executable, "-m", "tests.soak.service")
ROOT: Final = Path(__file__).parent.parent.parent
SLICES: Final = 10
"""In how many slices the calls are made, with a look at the memory after each."""
HOLDS: Final = 3
"""How many times connections are held: what allocators keep settles with the second time."""
MOST_GROWTH: Final = 8 * MIB
"""How much more memory may be resident at the end: allocators leave holes, and that is not a
leak, while what a million calls leak, a byte each, would be."""
MOST_OBJECTS: Final = 4_000
"""How many more objects there may be: the HTTP server remembers up to 1,024 heads of requests,
each with what was derived from it, and starts over when it has so many."""

LoopName = Literal["asyncio", "uvloop"]


class Size(Struct, frozen=True, kw_only=True):
    """How much is done."""

    calls: int
    come_and_go: int
    hold: int

    def share(self, part: int) -> Size:
        """A part of it; all that are held, as that is what sets the size of things."""
        return Size(calls=self.calls // part, come_and_go=self.come_and_go // part, hold=self.hold)


FULL: Final = Size(calls=1_000_000, come_and_go=10_000, hold=2_000)
QUICK: Final = Size(calls=50_000, come_and_go=1_000, hold=500)


class Report(Struct, frozen=True, kw_only=True):
    """What one soak did and found."""

    loop: str
    size: Size
    seconds: float
    calls: dict[str, int]
    """How many were made, by transport."""
    kinds: dict[str, int]
    before: Held
    after: Held
    child_before: Held
    child_after: Held
    rss: list[int]
    """The memory after each slice of the calls, then after each time connections were held."""

    @property
    def faults(self) -> list[str]:
        """What was left behind; empty when all is well."""
        both = (("", self.before, self.after), ("child: ", self.child_before, self.child_after))
        return [
            fault for name, before, after in both for fault in faults_between(name, before, after)
        ]


def faults_between(
    name: str, before: Held, after: Held, *, most_objects: int = MOST_OBJECTS
) -> list[str]:
    bounds = {"rss": MOST_GROWTH, "objects": most_objects, "tasks": 0, "files": 0, "threads": 0}
    grown = {field: getattr(after, field) - getattr(before, field) for field in bounds}
    return [
        f"{name}{grown[field]:,} more {field} than before, and {most:,} may be"
        for field, most in bounds.items()
        if grown[field] > most
    ]


async def soak(
    loop: str, size: Size, say: Callable[[str], None], *, slices: int = SLICES
) -> Report:
    """Do it all."""
    started = time.monotonic()
    allow_files(2 * size.hold + 2_000)
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(serve(server_router(), url)) for url in URLS]
        child = await stack.enter_async_context(connect(CHILD, client_router(), cwd=ROOT))
        session = Session(servers, child, say)
        say("warming up")
        await session.warm_up(size)
        before, child_before = await session.held()
        made, rss = await session.run(size, slices=slices)
        after, child_after = await session.held()
        _check_settled(servers, child)
    return Report(
        loop=loop,
        size=size,
        seconds=round(time.monotonic() - started, 1),
        calls={scheme: counter.total() for scheme, counter in made.items()},
        kinds=dict(sum(made.values(), Counter())),
        before=before,
        after=after,
        child_before=child_before,
        child_after=child_after,
        rss=rss,
    )


class Session:
    """The servers and the child of one soak."""

    def __init__(self, servers: list[Server], child: Peer, say: Callable[[str], None]) -> None:
        self._servers = servers
        self._urls = [server.url for server in servers]
        self._child = child
        self._say = say
        self._seed = 0

    async def warm_up(self, size: Size) -> None:
        """Do a tenth of it."""
        await self._start_threads()
        await self.run(size.share(10), slices=1)

    async def _start_threads(self) -> None:
        """Have the pools of this process and the child start all their threads."""
        async with connect(self._urls[0]) as peer:
            ends = (peer, self._child) * (2 * DEFAULT_THREADS)
            await asyncio.gather(*(end.call("block", [0.1]) for end in ends))

    async def run(self, size: Size, *, slices: int) -> tuple[dict[str, Counter[str]], list[int]]:
        """Calls, connections that come and go, connections that stay."""
        made: dict[str, Counter[str]] = {}
        rss = []
        for number in range(slices):
            await self._make_calls(size.calls // slices, made)
            await self._settle()
            rss.append(held().rss)
            total = sum(counter.total() for counter in made.values())
            self._say(f"{total:,} calls, {rss[-1] / MIB:.1f} MiB, slice {number + 1} of {slices}")
        await connections.come_and_go(self._urls, size.come_and_go)
        self._say(f"{size.come_and_go:,} connections opened and closed")
        for _ in range(HOLDS):
            await connections.hold(self._urls, size.hold, rounds=20)
            await self._settle()
            rss.append(held().rss)
            self._say(f"{size.hold:,} connections held at once, {rss[-1] / MIB:.1f} MiB left")
        return made, rss

    async def _make_calls(self, count: int, made: dict[str, Counter[str]]) -> None:
        """So many calls, shared by the three servers and the child."""
        self._seed += 1
        each = count // 4
        async with AsyncExitStack() as stack:
            peers = {"stdio": self._child}
            for url in self._urls:
                peer = await stack.enter_async_context(connect(url, client_router()))
                peers[peer.info.scheme] = peer
            jobs = (calls.make_calls(peer, each, seed=self._seed) for peer in peers.values())
            for scheme, counter in zip(peers, await asyncio.gather(*jobs), strict=True):
                made[scheme] = made.get(scheme, Counter()) + counter

    async def _settle(self) -> None:
        """Wait until every connection is gone, and what was given up has ended by itself."""
        async with asyncio.timeout(60):
            while any(map(_is_busy, self._servers)):  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.02)
            while await self._child.call("sleeping"):  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    async def held(self) -> tuple[Held, Held]:
        """What this process and the child hold."""
        await self._settle()
        return held(), await self._child.call("measure", into=Held)


def _is_busy(server: Server) -> bool:
    return server.connections > 0 or server.in_flight > 0


def _check_settled(servers: list[Server], child: Peer) -> None:
    for server in servers:
        assert server.connections == 0
        assert server.in_flight == 0
        assert server.statistics.messages_refused == 0
    assert (child.pending, child.in_flight) == (0, 0)


def loop_factory(name: LoopName) -> Callable[[], asyncio.AbstractEventLoop]:
    if name == "asyncio":
        return asyncio.new_event_loop
    import uvloop

    factory: Any = uvloop.new_event_loop
    return factory  # type: ignore[no-any-return]


def main() -> None:
    name: LoopName = "uvloop" if sys.argv[1] == "uvloop" else "asyncio"
    size = QUICK if "--quick" in sys.argv else FULL
    logging.disable()

    def say(what: str) -> None:
        print(f"{name}: {what}", file=sys.stderr, flush=True)

    with asyncio.Runner(loop_factory=loop_factory(name)) as runner:
        report = runner.run(soak(name, size, say))
    sys.stdout.write(msgspec.json.encode(report).decode() + "\n")


if __name__ == "__main__":
    main()
