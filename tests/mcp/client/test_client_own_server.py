"""Client and server of ours, end to end over HTTP: both eras, and HTTP+SSE."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import Struct

from accord.mcp import Client, Context, Server
from accord.mcp.client.client import Mode
from accord.mcp.client.subscriptions import Change
from accord.mcp.protocol.messages import ProgressParams
from accord.mcp.server.http import McpEndpoint
from accord.transports.http.server import listen_web
from accord.transports.options import Options
from tests.mcp.client.demo import demo
from tests.patience import PATIENCE

MODES: tuple[Mode, ...] = ("modern", "legacy")


class Name(Struct):
    name: str
    age: int = 7


@asynccontextmanager
async def served(server: Server, **options: Any) -> AsyncIterator[str]:
    endpoint = McpEndpoint(server, **options)
    listener = await listen_web("http://127.0.0.1:0/mcp", endpoint, Options())
    try:
        yield listener.url
    finally:
        await endpoint.close(0)
        await listener.close()


def asking() -> Server:
    server = demo()
    ended = asyncio.Event()

    @server.tool
    async def ask(context: Context) -> str:
        answer = await context.elicit("Who?", Name)
        sampled = await context.sample("hi", max_tokens=5)
        roots = await context.roots()
        assert answer.action == "accept"
        return f"{answer.content} {sampled.model} {len(roots)}"

    @server.tool
    async def hang() -> str:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()
        return ""

    server.ended = ended  # type: ignore[attr-defined]
    return server


@pytest.mark.req("M-01", "M-09", "M-15")
@pytest.mark.parametrize("mode", ["auto", *MODES])
async def test_everything_works_over_http(mode: Mode) -> None:
    told: list[ProgressParams] = []
    async with served(demo()) as url, Client(url, mode=mode) as client:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        assert (await client.call_tool("add", {"a": 1, "b": 2}, into=int)).structured == 3
        assert len(await client.list_tools()) == 5
        assert (await client.call_tool("work", {"steps": 3}, progress=told.append)).text == "done"
        assert (await client.read_resource("weather://oslo")).contents[0].text == "rain in oslo"
        assert len((await client.get_prompt("greet", {"name": "you"})).messages) == 1
        await client.ping()
    assert [each.progress for each in told] == [1, 2, 3]


@pytest.mark.req("M-06")
@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_asks_the_user_the_model_and_for_roots(mode: Mode) -> None:
    async with (
        served(asking()) as url,
        Client(
            url,
            mode=mode,
            elicitation=lambda form: {"name": "anna"},
            sampling=lambda asked: "hello",
            roots=["file:///a"],
        ) as client,
    ):
        result = await client.call_tool("ask")
    assert result.text == "Name(name='anna', age=7) unknown 1"


@pytest.mark.parametrize("mode", MODES)
async def test_changes_are_heard_over_http(mode: Mode) -> None:
    server = demo()
    async with (
        served(server) as url,
        Client(url, mode=mode) as client,
        client.listen(tools=True, resources=["demo://motd"]) as changes,
    ):
        server.resource_updated("demo://motd")
        assert await changes.next(5) == Change("resource", "demo://motd")
        server.add_tool(lambda: None, name="new")
        assert await changes.next(5) == Change("tools")


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_that_is_given_up_ends_on_the_server(mode: Mode) -> None:
    server = asking()
    async with served(server) as url, Client(url, mode=mode) as client:
        with pytest.raises(TimeoutError):
            await client.call_tool("hang", timeout=0.2)
        async with asyncio.timeout(PATIENCE):
            await server.ended.wait()  # type: ignore[attr-defined]


async def test_the_older_transport_is_found() -> None:
    async with served(demo(), old_sse=True) as url, Client(f"{url}/sse") as client:
        assert (await client.call_tool("add", {"a": 1, "b": 2})).text == "3"
        assert client.protocol_version == "2025-11-25"


@pytest.mark.req("M-07")
@pytest.mark.parametrize("mode", MODES)
async def test_tools_run_as_tasks(mode: Mode) -> None:
    server = demo()

    @server.tool(task="optional")
    async def job(context: Context) -> str:
        answer = await context.elicit("Who?", Name)
        assert answer.action == "accept"
        return answer.content.name

    async with (
        served(server) as url,
        Client(url, mode=mode, elicitation=lambda form: {"name": "anna"}) as client,
    ):
        task = await client.call_tool("job", task=True)
        assert (await task.result(timeout=20)).text == "anna"
        assert task.status == "completed"
