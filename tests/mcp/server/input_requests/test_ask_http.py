"""Questions and tasks over HTTP, asked of our own client in both eras."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from accord import RpcError
from accord.mcp import Client, Server
from accord.mcp.client.client import Mode
from accord.mcp.protocol.input_requests import (
    CreateMessage,
    ElicitForm,
    ElicitResult,
    ElicitUrlParams,
)
from tests.mcp.server.input_requests.test_ask import demo as asking_demo
from tests.mcp.server.task_demo import Demo

MODES = pytest.mark.parametrize("mode", ["legacy", "modern"])


def elicit(asked: ElicitForm | ElicitUrlParams) -> ElicitResult:
    if asked.message == "What?":
        return ElicitResult(action="accept", content={"name": "cup"})
    return ElicitResult(action="accept", content={"value": asked.message[0]})


def sample(asked: CreateMessage) -> str:
    return "Because."


@asynccontextmanager
async def over_http(server: Server, mode: Mode) -> AsyncIterator[Client]:
    async with (
        server.serve("http://127.0.0.1:0/mcp") as serving,
        Client(
            serving.url, mode=mode, elicitation=elicit, sampling=sample, roots=["file:///a"]
        ) as client,
    ):
        yield client


@MODES
async def test_tools_ask_over_http(mode: Mode) -> None:
    expected = {
        "greet": "Hello Y",
        "order": "Order(name='cup', count=1, size=<Size.SMALL: 's'>)",
        "think": "Because.",
        "twice": "FS",
        "named": "N: Because.",
        "gathered": "N 1",
        "plain": "Hello N",
    }
    async with over_http(asking_demo(), mode) as client:
        found = {name: (await client.call_tool(name)).text for name in expected}
        prompt = await client.get_prompt("prompt")
        read = await client.read_resource("demo://who")
    assert found == expected
    assert getattr(prompt.messages[0].content, "text", "") == "I am N"
    assert read.contents[0].text == "N"


@MODES
async def test_many_clients_are_asked_at_once(mode: Mode) -> None:
    server = asking_demo()
    async with server.serve("http://127.0.0.1:0/mcp") as serving:

        async def one(number: int) -> str:
            def answer(asked: Any) -> ElicitResult:
                return ElicitResult(action="accept", content={"value": str(number)})

            async with Client(serving.url, mode=mode, elicitation=answer) as client:
                return (await client.call_tool("twice")).text

        assert await asyncio.gather(*map(one, range(20))) == [f"{n}{n}" for n in range(20)]


@MODES
async def test_tasks_run_ask_and_end_over_http(mode: Mode) -> None:
    demo = Demo(poll_ms=20)
    async with over_http(demo.server, mode) as client:
        asking = await client.call_tool("ask", task=True)
        assert (await asking.result()).text == "Hello N"
        waiting = await client.call_tool("wait", task=True)
        assert await waiting.refresh() == "working"
        demo.release.set()
        assert (await waiting.result()).text == "done"
        two = await client.call_tool("ask_two", task=True)
        assert (await two.result()).text == "AB"
        first = await client.call_tool("ask_first", task=True)
        assert (await first.result()).text == "N C"


@MODES
async def test_tasks_are_cancelled_over_http(mode: Mode) -> None:
    demo = Demo(poll_ms=20)
    async with over_http(demo.server, mode) as client:
        task = await client.call_tool("wait", task=True)
        await demo.begun.wait()
        await task.cancel()
        await demo.stopped.wait()
        assert await task.refresh() == "cancelled"
        with pytest.raises(RpcError):
            await task.result()
    assert demo.server.core.tasks.running == 0


@MODES
async def test_tasks_end_when_the_server_over_http_does(mode: Mode) -> None:
    demo = Demo()
    async with over_http(demo.server, mode) as client:
        await client.call_tool("wait", task=True)
        await demo.begun.wait()
    await demo.stopped.wait()
    await asyncio.sleep(0)
    assert demo.server.core.tasks.running == 0
