"""What tools give, compared with what they promise; and how calls end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from accord import ConnectionClosedError, RpcError
from accord.jsonrpc.protocol.errors import InvalidResultError
from accord.mcp import Client
from accord.mcp.client.client import Mode
from tests.mcp.client.demo import demo
from tests.mcp.client.scripted import Scripted, complete, modern, text
from tests.patience import PATIENCE

MODES: tuple[Mode, ...] = ("modern", "legacy")
PROMISE = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def giving(result: dict[str, Any], promise: Any = PROMISE) -> Scripted:
    tool = {"name": "x", "inputSchema": {"type": "object"}, "outputSchema": promise}
    return modern(
        {
            "tools/list": lambda params: complete(tools=[tool], ttlMs=0, cacheScope="public"),
            "tools/call": lambda params: complete(**result),
        }
    )


async def test_what_is_as_promised_is_taken() -> None:
    async with Client(giving(text("1", structuredContent={"n": 1}))) as client:
        await client.list_tools()
        assert (await client.call_tool("x")).structured == {"n": 1}


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (text("1", structuredContent={"n": "1"}), "the value.n is not of type integer"),
        (text("1", structuredContent={}), "the value lacks 'n'"),
        (text("1"), "no structured content"),
    ],
)
async def test_what_is_not_as_promised_is_refused(result: Any, problem: str) -> None:
    async with Client(giving(result)) as client:
        assert (await client.call_tool("x")).text == "1"  # nothing was promised yet
        await client.list_tools()
        with pytest.raises(InvalidResultError, match=problem):
            await client.call_tool("x")


async def test_a_promise_that_is_too_complex_is_not_kept() -> None:
    promise = {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}
    async with Client(giving(text("1", structuredContent={}), promise)) as client:
        await client.list_tools()
        with pytest.raises(InvalidResultError, match="too much work"):
            await client.call_tool("x")


async def test_a_failure_need_not_be_as_promised() -> None:
    async with Client(giving(text("broken", isError=True))) as client:
        await client.list_tools()
        assert (await client.call_tool("x")).is_error


async def test_a_result_without_structured_content_has_none() -> None:
    async with Client(modern({"tools/call": lambda params: complete(**text("a"))})) as client:
        result = await client.call_tool("x")
        assert result.structured is None
        assert not result.has_structured


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_that_is_given_up_is_cancelled_on_the_server(mode: Mode) -> None:
    server = demo()
    ended = asyncio.Event()

    @server.tool
    async def hang() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    async with Client(server, mode=mode) as client:
        with pytest.raises(TimeoutError):
            await client.call_tool("hang", timeout=0.05)
        async with asyncio.timeout(PATIENCE):
            await ended.wait()


@pytest.mark.parametrize("mode", MODES)
async def test_closing_ends_what_is_under_way_and_leaves_no_task(mode: Mode) -> None:
    before = asyncio.all_tasks()
    async with Client(demo(), mode=mode) as client:
        call = asyncio.create_task(client.call_tool("sleep"))
        await client.ping()
    with pytest.raises(ConnectionClosedError):
        await call
    assert asyncio.all_tasks() - before == set()
    with pytest.raises(ConnectionClosedError, match="not connected"):
        await client.ping()


@pytest.mark.parametrize("mode", MODES)
async def test_many_calls_run_at_once(mode: Mode) -> None:
    async with Client(demo(), mode=mode) as client:
        results = await asyncio.gather(
            *(client.call_tool("add", {"a": n, "b": 1}, into=int) for n in range(200))
        )
    assert [result.structured for result in results] == list(range(1, 201))


async def test_metadata_of_the_application_is_sent_with_a_call() -> None:
    server = modern({"tools/call": lambda params: complete(**text("a"), _meta={"x/y": 2})})
    async with Client(server) as client:
        result = await client.call_tool("x", meta={"a/b": 1})
    assert result.meta == {"x/y": 2}
    meta = server.heard[-1][1]["_meta"]
    assert meta["a/b"] == 1
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"


async def test_progress_that_does_not_grow_is_not_told() -> None:
    told = []

    async def call(params: dict[str, Any]) -> Any:
        token = params["_meta"]["progressToken"]
        for progress in (1, 1, 0, 2):
            await server.peer.notify(
                "notifications/progress", {"progressToken": token, "progress": progress}
            )
        await server.peer.notify("notifications/progress", {"progressToken": "other"})
        await server.peer.notify("notifications/progress", {"progressToken": 99, "progress": 5})
        return complete(**text("done"))

    server = modern({"tools/call": call})
    async with Client(server, progress=lambda each: told.append(each.progress)) as client:
        await client.call_tool("x")
    assert told == [1, 2]


async def test_an_error_of_the_server_is_raised_as_it_is() -> None:
    def refuse(params: dict[str, Any]) -> Any:
        raise RpcError("later", code=-32010, data={"retryAfter": 3})

    async with Client(modern({"tools/call": refuse})) as client:
        with pytest.raises(RpcError) as error:
            await client.call_tool("x")
    assert (error.value.code, error.value.message, error.value.data, error.value.remote) == (
        *(-32010, "later", {"retryAfter": 3}, True),
    )
