"""Sessions that are lost, and what happens while new ones are begun."""

from __future__ import annotations

import asyncio

import pytest

from accord import TransportError
from accord.mcp import Client
from tests.mcp.client.scripted import text
from tests.mcp.client.web import INITIALIZED, Request, sessions, web


class Forgetful:
    """A server that knows one session, and forgets it when it is told to."""

    def __init__(self) -> None:
        self.known = ""
        self.begun = 0
        self.fails = False
        self.begins = asyncio.Event()
        self.begins.set()
        self.subscribed: list[str] = []
        self.handle = sessions(
            {
                "initialize": self._initialize,
                "tools/call": self._call,
                "resources/subscribe": self._subscribe,
                "resources/unsubscribe": self._subscribe,
            }
        )

    async def _initialize(self, request: Request) -> None:
        assert "mcp-session-id" not in request.headers
        await self.begins.wait()
        if self.fails:
            await request.reply(503)
            return
        self.begun += 1
        self.known = f"s{self.begun}"
        await request.result(INITIALIZED, mcp_session_id=self.known)

    async def _call(self, request: Request) -> None:
        if self._knows(request):
            await request.result(text(self.known))
        else:
            await request.reply(404)

    async def _subscribe(self, request: Request) -> None:
        if self._knows(request):
            self.subscribed.append(self.known)
            await request.result({})
        else:
            await request.reply(404)

    def _knows(self, request: Request) -> bool:
        assert "mcp-session-id" in request.headers, "a request without a session"
        return request.headers["mcp-session-id"] == self.known


async def test_a_session_that_could_not_be_begun_anew_is_begun_by_the_next_call() -> None:
    forgetful = Forgetful()
    async with web(forgetful.handle) as server, Client(server.url, mode="legacy") as client:
        forgetful.known, forgetful.fails = "", True
        for _ in range(3):
            with pytest.raises(TransportError):
                await client.call_tool("x")
        forgetful.fails = False
        assert (await client.call_tool("x")).text == "s2"
    assert forgetful.begun == 2


async def test_calls_wait_while_a_session_is_begun_anew() -> None:
    forgetful = Forgetful()
    async with web(forgetful.handle) as server, Client(server.url, mode="legacy") as client:
        forgetful.known = ""
        forgetful.begins.clear()
        first = asyncio.create_task(client.call_tool("x"))
        await server.until(lambda: server.rpcs().count("initialize") == 2)
        others = [asyncio.create_task(client.call_tool("x")) for _ in range(5)]
        await asyncio.sleep(0.05)
        forgetful.begins.set()
        results = await asyncio.gather(first, *others)
        assert [each.text for each in results] == ["s2"] * 6
    assert forgetful.begun == 2


async def test_a_new_session_that_is_gone_at_once_is_followed_by_another() -> None:
    forgetful = Forgetful()
    async with (
        web(forgetful.handle) as server,
        Client(server.url, mode="legacy") as client,
        client.listen(resources=["note://one"]),
    ):
        forgetful.known = ""
        forgetful.begins.clear()
        call = asyncio.create_task(client.call_tool("x"))
        await server.until(lambda: server.rpcs().count("initialize") == 2)
        forgetful.begins.set()
        await server.until(lambda: server.rpcs().count("notifications/initialized") == 2)
        forgetful.known = "another"  # while what was subscribed to is subscribed to again
        with pytest.raises(TransportError):
            await call
        assert (await client.call_tool("x")).text == "s3"
    assert forgetful.subscribed == ["s1", "s3", "s3"]
