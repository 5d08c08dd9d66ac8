"""Somebody at a server who works with workflows: agents are in the test, all else is over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from accord.a2a import Agent
from accord.a2a.server.serving import serve
from accord.jsonrpc.protocol.framing import SseDecoder
from tests.app.served import PATIENCE, Served, accord

ALLOWED = ("--allow-agents", "127.0.0.1")


class Worker(Agent):
    """An agent that does what it is told, and remembers."""

    def __init__(self) -> None:
        super().__init__("worker", description="Works.")
        self.texts: list[str] = []
        self.began = asyncio.Event()
        self.go = asyncio.Event()
        self.stopped = asyncio.Event()
        self.skill(self.work)

    async def work(self, text: str) -> str:
        """Says it in capitals; `hold` waits to be let go, or stopped."""
        self.texts.append(text)
        if text.startswith("hold"):
            self.began.set()
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                self.stopped.set()
                raise
        return text.upper()


@asynccontextmanager
async def working() -> AsyncIterator[tuple[Worker, str]]:
    """An agent, and where it is."""
    agent = Worker()
    async with serve(agent, "http://127.0.0.1:0/", drain=0) as serving:
        yield agent, serving.url


class Desk:
    """Calls one server."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def post(self, path: str, body: Any = None, *, expect: int = 202, **more: Any) -> Any:
        answer = await self.client.post(f"/api/v1{path}", json=body, **more)
        assert answer.status_code == expect, answer.text
        return answer.json()

    async def get(self, path: str) -> Any:
        answer = await self.client.get(f"/api/v1{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def prepare(self, url: str, *workflows: dict[str, Any]) -> None:
        """Register the agent `worker`, and save workflows."""
        await self.post("/agents", {"name": "worker", "url": url}, expect=201)
        for each in workflows:
            await self.post("/workflows", each, expect=201)

    async def start(self, workflow: str, input: Any = None) -> str:
        id: str = (await self.post(f"/workflows/{workflow}/runs", {"input": input}))["id"]
        return id

    async def until(self, id: str, *states: str) -> Any:
        """A run, once it is in one of these states."""
        async with asyncio.timeout(PATIENCE):
            while True:
                run = await self.get(f"/runs/{id}")
                if run["state"] in states:
                    return run
                await asyncio.sleep(0.02)

    async def ended(self, id: str) -> Any:
        return await self.until(id, "completed", "failed", "cancelled")

    async def events(self, id: str, after: str = "") -> list[tuple[str, str]]:
        """The numbers and types of a run's events, until the stream ends."""
        headers = {"last-event-id": after} if after else {}
        decoder = SseDecoder()
        found = []
        async with (
            asyncio.timeout(PATIENCE),
            self.client.stream("GET", f"/api/v1/runs/{id}/events", headers=headers) as answer,
        ):
            assert answer.headers["content-type"] == "text/event-stream"
            async for piece in answer.aiter_bytes():
                found += [(each.id, each.event) for each in decoder.feed(piece)]
        return [each for each in found if each[0]]


@asynccontextmanager
async def at(served: Served, token: str | None = None) -> AsyncIterator[Desk]:
    async with served.client(token) as client:
        yield Desk(client)


async def new_token(served: Served, user: str, *scopes: str, role: str = "user") -> str:
    """The token of a new person."""
    where = ("--data", str(served.data))
    code, _, err = await accord("user", "create", user, "--role", role, *where)
    assert code == 0, err
    flags = [flag for scope in scopes for flag in ("--scope", scope)]
    code, out, err = await accord("token", "create", "--user", user, "--name", "t", *flags, *where)
    assert code == 0, err
    return out.strip()
