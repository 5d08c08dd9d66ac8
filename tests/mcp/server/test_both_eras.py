"""One server, called as a client of each era calls it, over a connection in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from accord import Peer, RpcError, connect, serve
from accord.mcp import Context, Server, ToolError

INFO = {"io.modelcontextprotocol/serverInfo": {"name": "demo", "version": "1"}}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def demo() -> Server:
    server = Server("demo", version="1")

    @server.tool
    async def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    @server.tool(inline=True)
    def fail(how: str) -> str:
        if how == "told":
            raise ToolError("the disk is full")
        raise OSError("secret")

    @server.tool
    def count(text: str, context: Context) -> dict[str, int]:
        return {"length": len(text)}

    @server.resource("weather://{city}")
    def weather(city: str) -> str:
        return f"rain in {city}"

    @server.prompt
    def greet(name: str, times: int = 1) -> str:
        return f"hello {name} " * times

    return server


@asynccontextmanager
async def called(server: Server) -> AsyncIterator[Peer]:
    async with serve(server.router, "memory://mcp"), connect("memory://mcp") as client:
        yield client


async def shake_hands(client: Peer, version: str = "2025-11-25") -> Any:
    result = await client.call(
        "initialize",
        {
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    )
    await client.notify("notifications/initialized")
    return result


async def test_a_tool_is_called_after_the_handshake() -> None:
    async with called(demo()) as client:
        await shake_hands(client)
        assert await client.call("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}) == {
            "content": [{"type": "text", "text": "3"}],
            "structuredContent": {"result": 3},
        }


async def test_a_tool_is_called_without_any_handshake() -> None:
    async with called(demo()) as client:
        params = {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": MODERN}
        assert await client.call("tools/call", params) == {
            "resultType": "complete",
            "_meta": INFO,
            "content": [{"type": "text", "text": "3"}],
            "structuredContent": 3,
        }


async def test_before_the_handshake_nothing_is_served_but_ping() -> None:
    async with called(demo()) as client:
        assert await client.call("ping") == {}
        with pytest.raises(RpcError) as caught:
            await client.call("tools/list")
    assert caught.value.code == -32005


async def test_a_second_handshake_is_refused() -> None:
    async with called(demo()) as client:
        await shake_hands(client)
        with pytest.raises(RpcError) as caught:
            await shake_hands(client)
    assert caught.value.code == -32005


@pytest.mark.parametrize(
    ("asked", "answered"),
    [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")],
)
async def test_a_handshake_settles_the_version(asked: str, answered: str) -> None:
    async with called(demo()) as client:
        assert (await shake_hands(client, asked))["protocolVersion"] == answered


async def test_a_failing_tool_tells_what_it_means_to_tell_and_nothing_else() -> None:
    async with called(demo()) as client:
        await shake_hands(client)
        told = await client.call("tools/call", {"name": "fail", "arguments": {"how": "told"}})
        hidden = await client.call("tools/call", {"name": "fail", "arguments": {"how": "no"}})
    assert told == {
        "content": [{"type": "text", "text": "the disk is full"}],
        "isError": True,
    }
    assert hidden["isError"] is True
    assert "secret" not in str(hidden)


async def test_wrong_arguments_are_a_result_that_a_model_can_read() -> None:
    async with called(demo()) as client:
        await shake_hands(client)
        result = await client.call("tools/call", {"name": "add", "arguments": {"a": 1}})
    assert result == {
        "content": [{"type": "text", "text": "parameter 'b': expected int, got nothing"}],
        "isError": True,
    }


async def test_a_template_is_read_and_a_prompt_filled_in() -> None:
    async with called(demo()) as client:
        await shake_hands(client)
        read = await client.call("resources/read", {"uri": "weather://rome"})
        prompt = await client.call(
            "prompts/get", {"name": "greet", "arguments": {"name": "Ada", "times": "2"}}
        )
    assert read == {
        "contents": [{"uri": "weather://rome", "mimeType": "text/plain", "text": "rain in rome"}]
    }
    assert prompt == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "hello Ada hello Ada "}}]
    }


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/call", {"name": "nope"}, -32602),
        ("prompts/get", {"name": "nope"}, -32602),
        ("prompts/get", {"name": "greet"}, -32602),
        ("resources/read", {"uri": "no:where"}, -32002),
        ("tools/list", {"cursor": "zz"}, -32602),
        ("server/discover", {}, -32601),
        ("nope", {}, -32601),
    ],
)
async def test_what_is_not_there_has_its_code(
    method: str, params: dict[str, Any], code: int
) -> None:
    async with called(demo()) as client:
        await shake_hands(client)
        with pytest.raises(RpcError) as caught:
            await client.call(method, params)
    assert caught.value.code == code


async def test_an_unknown_stateless_version_is_told_which_are_known() -> None:
    async with called(demo()) as client:
        meta = {**MODERN, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
        with pytest.raises(RpcError) as caught:
            await client.call("tools/list", {"_meta": meta})
    assert caught.value.code == -32022
    assert caught.value.data == {
        "reason": "unsupported_protocol_version",
        "supported": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
        "requested": "2099-01-01",
    }
