"""HTTP+SSE of 2024-11-05, with servers that do as they are told."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from accord import TransportError
from accord.mcp import Client
from tests.mcp.client.scripted import text
from tests.mcp.client.web import INITIALIZED, Handle, Request, Stream, web


def old(endpoint: str, *, first: str = "endpoint", answer: Any = None) -> Handle:
    """A server whose stream is at /mcp, and which takes messages at `endpoint`."""
    streams: list[Stream] = []

    async def handle(request: Request) -> None:
        if request.method == "GET":
            streams.append(await request.stream())
            await streams[0].raw(f"event: {first}\ndata: {endpoint}\n\n".encode())
        elif request.target == "/mcp":
            await request.reply(405)
        elif request.rpc == "broken":
            await request.reply(500)
        else:
            await request.reply(202)
            results = {"initialize": INITIALIZED, "tools/call": text("done"), **(answer or {})}
            if request.rpc in results:
                result = results[request.rpc]
                if result is None:
                    streams[0].cut()
                    return
                message = {"jsonrpc": "2.0", "id": request.message["id"], "result": result}
                await streams[0].raw(f"event: message\ndata: {json.dumps(message)}\n\n".encode())

    return handle


async def test_messages_are_posted_and_answers_come_on_the_stream() -> None:
    async with web(old("/messages?session=1")) as server, Client(server.url) as client:
        assert (await client.call_tool("x")).text == "done"
    assert [(request.method, request.target, request.rpc) for request in server.requests] == [
        ("POST", "/mcp", "server/discover"),
        ("POST", "/mcp", "initialize"),
        ("GET", "/mcp", "GET"),
        ("POST", "/messages?session=1", "initialize"),
        ("POST", "/messages?session=1", "notifications/initialized"),
        ("POST", "/messages?session=1", "tools/call"),
    ]


@pytest.mark.parametrize(
    ("endpoint", "first"),
    [
        ("http://example.org/messages", "endpoint"),
        ("https://127.0.0.1/messages", "endpoint"),
        ("/messages", "message"),
        ("//user@host:x/", "endpoint"),
    ],
)
async def test_an_endpoint_elsewhere_or_none_at_all_is_refused(endpoint: str, first: str) -> None:
    async with web(old(endpoint, first=first)) as server:
        with pytest.raises(TransportError) as error:
            async with Client(server.url, headers={"authorization": "secret"}):
                pass
    assert error.value.data["status"] == 405  # what the first attempt was answered
    assert [request.method for request in server.requests] == ["POST", "POST", "GET"]


async def test_a_stream_that_breaks_loses_what_is_under_way() -> None:
    handle = old("/messages", answer={"tools/call": None})
    async with web(handle) as server, Client(server.url) as client:
        with pytest.raises(TransportError):
            await client.call_tool("x", timeout=5)


async def test_closing_leaves_no_task_behind() -> None:
    handle = old("/messages", answer={"tools/call": {"not": "an answer"}})
    async with web(handle) as server:
        before = asyncio.all_tasks()
        async with Client(server.url):
            pass
        await asyncio.sleep(0)
        ours = {each for each in asyncio.all_tasks() - before if "Web.serve" not in repr(each)}
        assert ours == set()
