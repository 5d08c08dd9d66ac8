"""How a client finds out which era a server is of, over connections that go both ways."""

from __future__ import annotations

from typing import Any

import pytest

from accord import ConnectError, RpcError
from accord.mcp import Client
from accord.mcp.client.client import Mode
from tests.mcp.client.demo import demo
from tests.mcp.client.scripted import Scripted, legacy, modern, never, refuse, watched_server

INFO = {"name": "old", "version": "1"}


@pytest.mark.req("M-03", "M-15")
@pytest.mark.parametrize("code", [-32601, -32602, -32600, -32000, 0])
async def test_any_other_error_means_a_handshake(code: int) -> None:
    server = legacy({"server/discover": refuse(code)})
    async with Client(server) as client:
        assert client.protocol_version == "2025-11-25"
    assert server.methods()[:3] == ["server/discover", "initialize", "notifications/initialized"]


async def test_an_unknown_method_means_a_handshake() -> None:
    async with Client(legacy({})) as client:
        assert client.protocol_version == "2025-11-25"


async def test_silence_means_a_handshake() -> None:
    server = legacy({"server/discover": never})
    async with Client(server, probe_seconds=0.05) as client:
        assert client.protocol_version == "2025-11-25"
    assert "notifications/cancelled" not in server.methods()


async def test_a_server_that_is_slow_to_start_is_not_taken_for_an_old_one() -> None:
    import asyncio

    greeted = asyncio.Event()
    discovered = {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {},
        "ttlMs": 0,
        "cacheScope": "public",
    }

    async def discover(params: dict[str, Any]) -> Any:
        await greeted.wait()
        return discovered

    async def initialize(params: dict[str, Any]) -> Any:
        greeted.set()
        await never(params)

    server = Scripted({"server/discover": discover, "initialize": initialize})
    async with Client(server, probe_seconds=0.05) as client:
        assert client.protocol_version == "2026-07-28"


async def test_an_error_of_the_stateless_era_is_no_reason_for_a_handshake() -> None:
    server = legacy({"server/discover": refuse(-32021, "elicitation is needed")})
    with pytest.raises(RpcError, match="elicitation is needed"):
        async with Client(server):
            pass
    assert server.methods() == ["server/discover"]


async def test_a_stateless_server_of_other_versions_that_also_shakes_hands() -> None:
    supported = {"supported": ["2027-01-01", "2025-11-25"], "requested": "2026-07-28"}
    server = legacy({"server/discover": refuse(-32022, data=supported)})
    async with Client(server) as client:
        assert client.protocol_version == "2025-11-25"


async def test_a_version_that_the_server_offers_is_asked_for_again() -> None:
    answers = iter([True, False])
    found = {"supportedVersions": ["2026-07-28"], "capabilities": {}}

    def discover(params: dict[str, Any]) -> Any:
        if next(answers):
            raise RpcError("no", code=-32022, data={"supported": ["2026-07-28"]})
        return found

    server = Scripted({"server/discover": discover})
    async with Client(server) as client:
        assert client.protocol_version == "2026-07-28"
    assert server.methods() == ["server/discover"] * 2


@pytest.mark.parametrize("data", [None, [], {"supported": 5}, {"supported": ["1999-01-01"]}])
async def test_no_version_in_common(data: Any) -> None:
    server = Scripted({"server/discover": refuse(-32022, data=data)})
    with pytest.raises(RpcError):
        async with Client(server):
            pass
    with pytest.raises(ConnectError, match="does not speak version 2026-07-28"):
        async with Client(server, mode="modern"):
            pass


async def test_a_handshake_version_that_nobody_knows_is_refused() -> None:
    offer = {"protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": INFO}
    server = Scripted({"initialize": lambda params: offer})
    with pytest.raises(ConnectError, match="'1999-01-01'"):
        async with Client(server, mode="legacy"):
            pass


async def test_an_older_version_that_the_server_offers_is_taken() -> None:
    offer = {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": INFO}
    server = Scripted(
        {"initialize": lambda params: offer, "notifications/initialized": lambda params: None}
    )
    async with Client(server, mode="legacy") as client:
        assert client.protocol_version == "2024-11-05"


async def test_every_stateless_request_says_who_asks() -> None:
    server = modern(
        {"tools/list": lambda params: {"tools": [], "ttlMs": 0, "cacheScope": "public"}}
    )
    async with Client(server, name="me", version="2", elicitation=lambda form: None) as client:
        await client.list_tools()
    assert server.heard[-1][1] == {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "me", "version": "2"},
            "io.modelcontextprotocol/clientCapabilities": {
                "elicitation": {"form": {}, "url": {}},
                "extensions": {"io.modelcontextprotocol/tasks": {}},
            },
        }
    }


@pytest.mark.req("M-04")
async def test_a_handshake_says_what_the_client_can_do() -> None:
    server = legacy({})
    async with Client(
        server,
        mode="legacy",
        name="me",
        version="2",
        sampling=lambda asked: "yes",
        sampling_tools=True,
        roots=["file:///tmp"],
    ):
        pass
    assert server.heard[0][1] == {
        "protocolVersion": "2025-11-25",
        "capabilities": {"roots": {}, "sampling": {"tools": {}}},
        "clientInfo": {"name": "me", "version": "2"},
    }


@pytest.mark.req("M-01")
@pytest.mark.parametrize(
    "version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
)
async def test_every_message_is_as_the_schema_of_its_version_says(version: str) -> None:
    server = demo()
    async with watched_server(server, version) as (url, traffic):
        async with Client(
            url,
            protocol_version=version,
            sampling=lambda asked: "yes",
            elicitation=lambda asked: None,
            roots=["file:///tmp"],
            logging=lambda message: None,
        ) as client:
            await client.set_log_level("debug")
            await client.list_tools()
            await client.call_tool("count", {"text": "abc"}, progress=lambda told: None)
            await client.list_resources()
            await client.list_resource_templates()
            await client.read_resource("demo://motd")
            await client.list_prompts()
            await client.get_prompt("greet", {"name": "you"})
            await client.ping()
            await client.roots_changed()
            if version > "2024-11-05":
                await client.complete(prompt="greet", argument="name", value="a")
            async with client.listen(tools=True, resources=["demo://motd"]) as changes:
                server.resource_updated("demo://motd")
                await changes.next(5)
            with pytest.raises(TimeoutError):
                await client.call_tool("sleep", timeout=0.01)
            await client.ping()
        assert "CallToolResult" in traffic.checked or not traffic.checked


async def test_modes_are_kept_to() -> None:
    modes: tuple[tuple[Mode, str], ...] = (("legacy", "initialize"), ("modern", "server/discover"))
    for mode, first in modes:
        server = modern({}) if mode == "modern" else legacy({})
        async with Client(server, mode=mode):
            pass
        assert server.methods()[0] == first
