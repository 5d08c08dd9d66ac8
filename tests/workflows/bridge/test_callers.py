"""Tools of MCP servers and methods of JSON-RPC, called for steps, on both engines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from accord import Router, serve
from accord.mcp import Server
from accord.workflows.core.definition import McpTarget, RpcTarget
from accord.workflows.core.events import CallMethod, CallTool
from tests.a2a.scripted import http
from tests.workflows.bridge.unruly import unruly
from tests.workflows.bridge.yard import SOON, Yard, working


@pytest.fixture
async def yard(migrated_url: str) -> AsyncIterator[Yard]:
    async with working(migrated_url) as made:
        yield made


@pytest.fixture
async def server() -> AsyncIterator[str]:
    """The URL of an MCP server."""
    made = Server("tools")

    @made.tool
    def add(a: int, b: int) -> dict[str, int]:
        return {"sum": a + b}

    @made.tool
    def greet(name: str) -> str:
        return f"Hello, {name}!"

    @made.tool
    def fail() -> str:
        raise ValueError("no such thing")

    async with made.serve("http://127.0.0.1:0/mcp") as serving:
        yield serving.url


def tool(server: str, name: str, input: Any) -> CallTool:
    target = McpTarget(server=server, tool=name)
    return CallTool(task="t", step="t", target=target, input=input, retry=SOON)


def method(url: str, name: str, input: Any) -> CallMethod:
    target = RpcTarget(url=url, method=name)
    return CallMethod(task="t", step="t", target=target, input=input, retry=SOON)


async def told(yard: Yard, command: CallTool | CallMethod) -> Any:
    [id] = await yard.give(command)
    return await yard.told(id)


@pytest.mark.parametrize(
    ("name", "input", "output"),
    [("add", {"a": 1, "b": 2}, {"sum": 3}), ("greet", {"name": "Ann"}, "Hello, Ann!")],
)
async def test_a_tool_gives_its_structured_content_or_its_text(
    yard: Yard, server: str, name: str, input: Any, output: Any
) -> None:
    assert (await told(yard, tool(server, name, input))).output in (output, {"result": output})


async def test_a_tool_that_fails_fails_its_task(yard: Yard, server: str) -> None:
    failed = await told(yard, tool(server, "fail", None))
    assert (failed.error.code, failed.attempts) == ("tool_failed", 1)


async def test_a_tool_that_there_is_not_fails_its_task(yard: Yard, server: str) -> None:
    failed = await told(yard, tool(server, "nothing", {}))
    assert (failed.error.code, failed.attempts) == ("-32602", 1)


@pytest.mark.parametrize("server", ["docs", "stdio:rm -rf", "ws://127.0.0.1:1/", "file:///etc"])
async def test_a_server_is_named_by_a_url_of_http(yard: Yard, server: str) -> None:
    failed = await told(yard, tool(server, "x", {}))
    assert failed.error.code == "unknown_server"


async def test_a_server_that_is_away_is_asked_again(yard: Yard) -> None:
    failed = await told(yard, tool("http://127.0.0.1:1/", "x", {}))
    assert (failed.error.code, failed.attempts) == ("unreachable", 3)


async def test_a_method_is_called(yard: Yard) -> None:
    router = Router()

    @router.method
    def add(a: int, b: int) -> int:
        return a + b

    async with serve(router, "http://127.0.0.1:0/rpc") as serving:
        url = serving.url
        assert (await told(yard, method(url, "add", {"a": 1, "b": 2}))).output == 3


@pytest.mark.parametrize(
    ("input", "code"), [({}, "-32601"), ("text", "params"), (None, "-32601"), ([1], "-32601")]
)
async def test_a_method_that_refuses_fails_its_task(yard: Yard, input: Any, code: str) -> None:
    async with serve(Router(), "http://127.0.0.1:0/rpc") as serving:
        failed = await told(yard, method(serving.url, "nothing", input))
    assert (failed.error.code, failed.attempts) == (code, 1)


async def test_a_method_that_may_have_run_is_called_again_with_the_same_id(yard: Yard) -> None:
    async with unruly(lambda asked, n: http({}, status=500)) as server:
        failed = await told(yard, method(server.url, "x", {"a": 1}))
    assert (failed.error.code, failed.attempts) == ("http_500", 3)
    assert len({asked.json["id"] for asked in server.asked}) == 1
    assert len({asked.headers["idempotency-key"] for asked in server.asked}) == 1
    assert server.asked[0].json["params"] == {"a": 1}


async def test_a_url_that_is_none_is_refused(yard: Yard) -> None:
    failed = await told(yard, method("ws://127.0.0.1:1/", "x", {}))
    assert failed.error.code == "url"
