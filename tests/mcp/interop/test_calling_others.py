"""Our client calls servers of both TypeScript SDKs, in both eras. Those that are written in
Python are called in tests/mcp/client/test_client_official.py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from accord.mcp import Client, TextContent
from accord.mcp.client.client import Mode
from accord.mcp.protocol.messages import ProgressParams
from tests.interop.programs import environment, serving
from tests.mcp.interop.commands import PATIENCE, PEERS

MODERN, LEGACY = "2026-07-28", "2025-11-25"
ALONE = "did not declare the required capability"
"""TypeScript 2 keeps no sessions over HTTP: it cannot ask clients of the handshake era."""

SERVERS: list[tuple[str, str, Mode, str, str]] = [
    ("1", "stdio", "auto", LEGACY, "hello anna"),
    ("1", "http", "legacy", LEGACY, "hello anna"),
    ("2", "stdio", "legacy", LEGACY, "hello anna"),
    ("2", "http", "auto", MODERN, "hello anna"),
    ("2", "http", "legacy", LEGACY, ALONE),
]
"""The major version of the SDK, how it is reached, what is spoken, and what asking gives: all pairs
of the first three, and what differs."""
REPETITIONS: list[tuple[str, str, Mode, str, str]] = [
    ("1", "stdio", "legacy", LEGACY, "hello anna"),
    ("1", "http", "auto", LEGACY, "hello anna"),
    ("2", "stdio", "auto", MODERN, "hello anna"),
]
"""All other combinations."""


@contextmanager
def running(node: str, packages: Path, major: str, transport: str) -> Iterator[Any]:
    """What a client is given to reach the server."""
    command = [node, str(PEERS / "typescript_server.js"), major, transport]
    if transport == "stdio":
        yield command
        return
    with serving(command, packages=packages) as url:
        yield url


@pytest.mark.req("M-15")
@pytest.mark.parametrize(
    ("major", "transport", "mode", "version", "asked"),
    [*SERVERS, *(pytest.param(*each, marks=pytest.mark.matrix) for each in REPETITIONS)],
)
async def test_servers_of_typescript_are_called(
    node: str, packages: Path, major: str, transport: str, mode: Mode, version: str, asked: str
) -> None:
    told: list[ProgressParams] = []
    options: dict[str, Any] = {"env": environment(packages)} if transport == "stdio" else {}
    with running(node, packages, major, transport) as target:
        async with Client(
            target,
            mode=mode,
            elicitation=lambda form: {"name": "anna"},
            timeout=PATIENCE,
            **options,
        ) as client:
            assert client.protocol_version == version
            assert client.server is not None
            assert client.server.name == "typescript"
            assert [it.name for it in await client.list_tools()] == ["add", "work", "fail", "ask"]
            added = await client.call_tool("add", {"a": 1, "b": 2}, into=dict[str, int])
            assert added.structured == {"total": 3}
            worked = await client.call_tool("work", {"steps": 2}, progress=told.append)
            assert worked.text == "done"
            assert (await client.call_tool("fail")).is_error
            assert asked in (await client.call_tool("ask")).text
            read = await client.read_resource("weather://oslo")
            assert read.contents[0].text == "rain in oslo"
            greeting = (await client.get_prompt("greet", {"name": "you"})).messages[0]
            assert greeting.content == TextContent(text="hello you")
    assert [each.progress for each in told] == [1, 2]
