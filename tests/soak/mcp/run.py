"""One soak of MCP on one event loop: `python -m tests.soak.mcp.run LOOP`. Prints what it found
as JSON."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from accord import RpcError
from accord.jsonrpc.runtime.threads import DEFAULT_THREADS
from accord.mcp import Client
from accord.mcp.server.http.endpoint import HTTP_LIMITS, McpEndpoint
from accord.mcp.server.http.endpoint_state import MemoryEvents
from accord.mcp.server.task_store import MemoryTaskStore
from accord.transports.asgi.web import WebAsgi
from accord.transports.http.server import listen_web
from accord.transports.options import Listener, Options
from tests.soak.mcp.kinds import PATIENCE, WEIGHTS, Kind, Mode, Site, Visit
from tests.soak.mcp.service import soaked
from tests.soak.measures import MIB, Held, held
from tests.soak.run import SLICES, LoopName, faults_between, loop_factory
from tests.transports.asgi.service import uvicorn_serving

AT_ONCE: Final = 32
"""How many clients are there at a time."""
STAYING: Final = 8
"""How many clients stay while their server comes and goes."""
PROGRAMS_AT_ONCE: Final = 4
CALLS_BETWEEN: Final = 5
"""How many calls a client that stays makes before the server goes again."""
MODES: Final[tuple[Mode, ...]] = ("modern", "legacy")
PROGRAM: Final = (sys.executable, "-m", "tests.soak.mcp.service")
ROOT: Final = Path(__file__).parent.parent.parent.parent


class McpSize(Struct, frozen=True, kw_only=True):
    """How much is done."""

    visits: int
    restarts: int
    programs: int

    def share(self, part: int) -> McpSize:
        return McpSize(
            visits=self.visits // part,
            restarts=max(2, self.restarts // part),
            programs=max(2, self.programs // part),
        )


FULL: Final = McpSize(visits=10_000, restarts=60, programs=120)
QUICK: Final = McpSize(visits=1_000, restarts=6, programs=12)


class McpReport(Struct, frozen=True, kw_only=True):
    """What one soak did and found."""

    loop: str
    size: McpSize
    seconds: float
    kinds: dict[str, dict[str, int]]
    """How many clients of each kind there were, by era."""
    calls_over_restarts: int
    programs: dict[str, int]
    """How programs over stdio ended."""
    before: Held
    after: Held
    rss: list[int]
    """The memory after each slice of the clients, after the restarts and after the programs."""

    @property
    def faults(self) -> list[str]:
        return faults_between("MCP: ", self.before, self.after)


async def soak(
    loop: str, size: McpSize, say: Callable[[str], None], *, slices: int = SLICES
) -> McpReport:
    """Do it all."""
    started = time.monotonic()
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(Served("own")),
            await stack.enter_async_context(Served("uvicorn")),
        ]
        soaking = Soaking(servers, say)
        say("warming up")
        await soaking.start_threads()
        await soaking.run(size.share(10), slices=1)
        before = await soaking.held()
        found = await soaking.run(size, slices=slices)
        after = await soaking.held()
    return McpReport(
        loop=loop,
        size=size,
        seconds=round(time.monotonic() - started, 1),
        kinds={mode: dict(counter) for mode, counter in found.kinds.items()},
        calls_over_restarts=found.calls,
        programs=dict(found.programs),
        before=before,
        after=after,
        rss=found.rss,
    )


class Found:
    """What was done so far."""

    def __init__(self) -> None:
        self.kinds: dict[Mode, Counter[str]] = {mode: Counter() for mode in MODES}
        self.calls = 0
        self.programs: Counter[str] = Counter()
        self.rss: list[int] = []


class Served:
    """A server over HTTP, carried in one of two ways; knows what of it must be gone."""

    def __init__(self, carrier: str) -> None:
        self._carrier = carrier
        self._stack = AsyncExitStack()
        self._listener: Listener | None = None
        self.server = soaked()
        self._events = MemoryEvents()
        self._endpoint = McpEndpoint(self.server, events=self._events)
        self.url = ""

    async def __aenter__(self) -> Served:
        if self._carrier == "own":
            await self.listen_anew()
        else:
            app = WebAsgi(self._endpoint, path="/mcp", limits=HTTP_LIMITS)
            port = await self._stack.enter_async_context(uvicorn_serving(app))
            self.url = f"http://127.0.0.1:{port}/mcp"
        self._stack.push_async_callback(self._endpoint.close, 0)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()
        if self._listener is not None:
            await self._listener.close()

    async def listen_anew(self) -> None:
        """Forget what our own HTTP server remembers of the heads of requests: it is bounded, and
        would hide what is not."""
        if self._carrier == "own":
            if self._listener is not None:
                await self._listener.close()
            options = Options(limits=HTTP_LIMITS)
            url = "http://127.0.0.1:0/mcp"
            self._listener = await listen_web(url, self._endpoint, options)
            self.url = self._listener.url

    def forget_sessions(self) -> None:
        """Let half an hour go by for the sessions of clients that are gone."""
        self._endpoint.sessions.sweep(self._endpoint.now() + 3_600)

    @property
    def left(self) -> dict[str, int]:
        """What should be nothing when no client is there."""
        store = self.server.core.tasks.store
        assert isinstance(store, MemoryTaskStore)
        return {
            "requests": self._endpoint.in_flight,
            "sessions": len(self._endpoint.sessions),
            "streams": self._endpoint.pulse.streams,
            "listeners": len(self.server.listeners),
            "events": self._events.count,
            "tasks": len(store),
        }


class Soaking:
    """The servers of one soak, and their clients."""

    def __init__(self, servers: list[Served], say: Callable[[str], None]) -> None:
        self._servers = servers
        self._say = say
        self._chance = random.Random(5)

    async def start_threads(self) -> None:
        """Have the pool start all its threads."""
        async with Client(self._servers[0].url) as client:
            calls = (client.call_tool("block", {"seconds": 0.1}) for _ in range(DEFAULT_THREADS))
            await asyncio.gather(*calls)

    async def run(self, size: McpSize, *, slices: int) -> Found:
        found = Found()
        for number in range(slices):
            await self._visits(size.visits // slices, found)
            found.rss.append((await self.held()).rss)
            self._tell(found, f"slice {number + 1} of {slices} of {size.visits:,} clients")
        await restart(size.restarts, found)
        found.rss.append((await self.held()).rss)
        self._tell(found, f"{size.restarts} restarts under {found.calls:,} calls")
        await kill_programs(size.programs, self._chance, found)
        found.rss.append((await self.held()).rss)
        self._tell(found, f"{size.programs} programs, {dict(found.programs)}")
        return found

    async def held(self) -> Held:
        """What this process holds when all clients are gone. Raises TimeoutError, with what is
        left, if something stays."""
        try:
            async with asyncio.timeout(PATIENCE):
                while any(any(it.left.values()) for it in self._servers):
                    for served in self._servers:
                        served.forget_sessions()
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise TimeoutError(f"left behind: {[it.left for it in self._servers]}") from None
        for served in self._servers:
            await served.listen_anew()
        await asyncio.sleep(0.05)  # connections that are closing are closed
        return held()

    async def _visits(self, count: int, found: Found) -> None:
        kinds: list[Kind] = self._chance.choices([*WEIGHTS], [*WEIGHTS.values()], k=count)
        turns = zip(kinds, itertools.cycle(MODES), strict=False)

        async def work(chance: random.Random) -> None:
            for kind, mode in turns:
                served = chance.choice(self._servers)
                await kind(Visit(Site(served.url, served.server), mode, chance))
                found.kinds[mode][kind.__name__] += 1

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(work(random.Random(self._chance.random())))

    def _tell(self, found: Found, what: str) -> None:
        self._say(f"{what}, {found.rss[-1] / MIB:.1f} MiB")


# Servers that come and go


async def restart(times: int, found: Found) -> None:
    """Close a server and serve another one in its place, again and again, under clients that
    stay: all of them are served by each."""
    async with soaked().serve("http://127.0.0.1:0/mcp", drain=0) as serving:
        url = serving.url
        staying = [Staying(url, MODES[number % 2]) for number in range(STAYING)]
        tasks = [asyncio.create_task(each.run()) for each in staying]
        await _all_served(staying)
    for number in range(times):
        server = soaked()
        async with server.serve(url, drain=0):
            await _all_served(staying)
            if number % 2:
                server.resource_updated("note://one")
    for task in tasks:
        task.cancel()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        assert isinstance(ended, asyncio.CancelledError), ended
    found.calls += sum(each.calls for each in staying)


async def _all_served(staying: list[Staying]) -> None:
    goals = [each.calls + CALLS_BETWEEN for each in staying]
    async with asyncio.timeout(PATIENCE):
        for each, goal in zip(staying, goals, strict=True):
            while each.calls < goal:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.005)


class Staying:
    """A client that stays, whatever its server does."""

    def __init__(self, url: str, mode: Mode) -> None:
        self._url = url
        self._mode = mode
        self.calls = 0

    async def run(self) -> None:
        async with (
            Client(self._url, mode=self._mode) as client,
            asyncio.TaskGroup() as group,
        ):
            group.create_task(self._listen(client))
            await self._call(client)

    async def _call(self, client: Client) -> None:
        while True:
            try:
                result = await client.call_tool("add", {"a": self.calls, "b": 1}, into=int)
            except RpcError:  # there is no server at the moment
                await asyncio.sleep(0.01)
                continue
            assert result.structured == self.calls + 1
            self.calls += 1
            await asyncio.sleep(0)

    async def _listen(self, client: Client) -> None:
        while True:
            try:
                async with client.listen(tools=True, resources=["note://one"]) as changes:
                    async for _ in changes:
                        pass
            except RpcError:
                pass
            await asyncio.sleep(0.02)


# Programs that are killed


async def kill_programs(count: int, chance: random.Random, found: Found) -> None:
    """Start programs and talk to them; some are killed meanwhile."""
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            end = ("closed", "killed", "told to go")[number % 3]
            await _talk_to_program(MODES[number % 2], end, chance.random() * 0.05)
            found.programs[end] += 1

    async with asyncio.TaskGroup() as group:
        for _ in range(PROGRAMS_AT_ONCE):
            group.create_task(work())


async def _talk_to_program(mode: Mode, end: str, delay: float) -> None:
    options: dict[str, Any] = {"mode": mode, "elicitation": lambda form: {"value": "Ada"}}
    async with Client(PROGRAM, cwd=ROOT, **options) as client:
        pid = (await client.call_tool("pid", into=int)).structured
        assert (await client.call_tool("ask")).text == "Ada"
        calls = [
            asyncio.ensure_future(client.call_tool("sleep", {"seconds": 5.0})),
            asyncio.ensure_future(client.call_tool("block", {"seconds": 0.2})),
            asyncio.ensure_future(client.call_tool("report", {"steps": 100, "seconds": 0.01})),
        ]
        await asyncio.sleep(delay)
        if end != "closed":
            os.kill(pid, signal.SIGKILL if end == "killed" else signal.SIGTERM)
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert isinstance(results[0], RpcError), results
    await asyncio.gather(*calls, return_exceptions=True)
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return
    raise AssertionError(f"process {pid} is left behind")


def main() -> None:
    name: LoopName = "uvloop" if sys.argv[1] == "uvloop" else "asyncio"
    size = QUICK if "--quick" in sys.argv else FULL
    logging.disable()

    def say(what: str) -> None:
        print(f"MCP, {name}: {what}", file=sys.stderr, flush=True)

    with asyncio.Runner(loop_factory=loop_factory(name)) as runner:
        report = runner.run(soak(name, size, say))
    sys.stdout.write(msgspec.json.encode(report).decode() + "\n")


if __name__ == "__main__":
    main()
