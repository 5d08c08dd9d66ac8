"""Two servers on one database are restarted one after the other, and nobody who is connected sees
an error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from accord.jsonrpc.protocol.framing import SseDecoder
from accord.mcp import Client
from tests.app.backup.balancer import Balancer, balancing
from tests.app.desk import Desk
from tests.app.served import PATIENCE, Served, serving
from tests.mcp.interop.commands import python
from tests.store.cluster import Cluster

KEY = {"ACCORD_SECRET_KEY": "k" * 64}
FLAGS = ("--notice-seconds", "3", "--rate-limit", "0", "--lease-seconds", "2")
OFFICIAL = Path(__file__).parent / "peers" / "official.py"
PACE = 0.3
"""Seconds between two calls of a client: they are to be connected, not to load the machine."""

NAPS = {
    "name": "naps",
    "steps": [{"name": f"nap_{number}", "type": "wait", "for": 1} for number in range(8)],
}


class Work:
    """What the clients did; each is a task that goes on until it is told to stop."""

    def __init__(self, url: str, token: str, interpreter: str) -> None:
        """`interpreter` is a Python with the official SDK."""
        self.url = url
        self.token = token
        self._interpreter = interpreter
        self.stop = asyncio.Event()
        self.titles: list[str] = []
        self.calls: dict[str, int] = {}

    async def repeat(self, name: str, call: Callable[[str], Awaitable[Any]]) -> None:
        """Write one thing after the other; whatever goes wrong is raised."""
        while not self.stop.is_set():
            title = f"{name} {self.calls.get(name, 0)}"
            await call(title)
            self.titles.append(title)
            self.calls[name] = self.calls.get(name, 0) + 1
            await asyncio.sleep(PACE)

    async def rest(self) -> None:
        async with self.http() as client:
            desk = Desk(client)
            await self.repeat(
                "rest", lambda title: desk.post("/epics", {"title": title}, expect=201)
            )

    async def rpc(self) -> None:
        async with self.http() as client:

            async def call(title: str) -> None:
                body = {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "create_epic",
                    "params": {"title": title},
                }
                answer = await client.post("/rpc", json=body)
                assert answer.json()["result"]["title"] == title, answer.text

            await self.repeat("rpc", call)

    async def mcp(self) -> None:
        async with Client(f"{self.url}/api/v1/mcp", auth=self.token) as client:
            await self.repeat(
                "mcp", lambda title: client.call_tool("create_epic", {"title": title})
            )

    async def session(self) -> None:
        async with Client(f"{self.url}/api/v1/mcp", mode="legacy", auth=self.token) as client:
            await self.repeat(
                "session", lambda title: client.call_tool("create_epic", {"title": title})
            )

    async def official(self) -> None:
        async with _official(self._interpreter, self.url, self.token) as ask:
            await self.repeat("official", ask)

    def http(self) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=PATIENCE)


@asynccontextmanager
async def _official(
    interpreter: str, url: str, token: str
) -> AsyncIterator[Callable[[str], Awaitable[None]]]:
    process = await asyncio.create_subprocess_exec(
        *(interpreter, str(OFFICIAL), f"{url}/api/v1/mcp", token),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    reading, writing = process.stdout, process.stdin

    async def ask(title: str) -> None:
        writing.write(f"{title}\n".encode())
        line = await reading.readline()
        assert json.loads(line) == ["2025-11-25", title], line

    try:
        yield ask
    finally:
        writing.close()
        await process.wait()


async def _watch(client: httpx.AsyncClient, run: str) -> list[int]:
    """The numbers of a run's events, over as many streams as it takes, as a browser does it."""
    numbers: list[int] = []
    ended = False
    while not ended:
        headers = {"last-event-id": str(numbers[-1])} if numbers else {}
        decoder = SseDecoder()
        with suppress(httpx.TransportError):  # a stream is opened again, whatever ended it
            async with client.stream(
                "GET", f"/api/v1/runs/{run}/events", headers=headers
            ) as answer:
                if answer.status_code == 204:
                    return numbers
                assert answer.status_code == 200
                async for piece in answer.aiter_bytes():
                    for event in decoder.feed(piece):
                        if event.id:
                            numbers.append(int(event.id))
                            ended = event.event == "run_finished"
    return numbers


async def _restart(
    stack: AsyncExitStack, balancer: Balancer, server: Served, begin: Callable[[], Any]
) -> Served:
    """Stop a server as an operator does, and have another in its place."""
    assert await server.stop() == 0
    await balancer.remove(server.url)
    new: Served = await stack.enter_async_context(begin())
    await balancer.add(new.url)
    return new


async def _until_all_called(work: Work, clients: list[asyncio.Task[None]]) -> None:
    """Wait until every client has called once more; raises what went wrong with one."""
    before = dict(work.calls)
    while not all(work.calls.get(name, 0) > before.get(name, 0) for name in CLIENTS):
        for client in clients:
            if client.done():
                client.result()
        await asyncio.sleep(PACE)


CLIENTS = ("rest", "rpc", "mcp", "session", "official")


@pytest.fixture
def interpreter() -> str:
    """A Python with the official SDK, which may have to be installed first."""
    return python("mcp")


async def test_clients_go_on_while_one_server_after_the_other_is_restarted(
    tmp_path: Path, cluster: Cluster, interpreter: str
) -> None:
    database = ("--database", cluster.database())

    def begin(name: str) -> Any:
        return serving(tmp_path / name, *database, *FLAGS, env=KEY)

    async with balancing() as balancer, AsyncExitStack() as stack:
        one = await stack.enter_async_context(begin("one"))
        two = await stack.enter_async_context(begin("two"))
        for each in (one, two):
            await balancer.add(each.url)
        work = Work(balancer.url, one.token, interpreter)
        clients = [asyncio.create_task(getattr(work, name)()) for name in CLIENTS]
        stack.push_async_callback(_cancelled, clients)
        async with work.http() as http, asyncio.timeout(300):
            desk = Desk(http)
            await desk.post("/workflows", NAPS, expect=201)
            runs = [await desk.start("naps") for _ in range(3)]
            watching = asyncio.create_task(_watch(http, runs[0]))
            await _until_all_called(work, clients)
            one = await _restart(stack, balancer, one, lambda: begin("one"))
            await _until_all_called(work, clients)
            two = await _restart(stack, balancer, two, lambda: begin("two"))
            await _until_all_called(work, clients)
            work.stop.set()
            await asyncio.gather(*clients)
            ended = [await desk.ended(run) for run in runs]
            numbers = await watching
            total = (await desk.get("/epics"))["total"]
    assert [run["state"] for run in ended] == ["completed"] * 3
    assert numbers == list(range(1, len(numbers) + 1))
    assert total == len(work.titles) == len(set(work.titles))


async def _cancelled(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
