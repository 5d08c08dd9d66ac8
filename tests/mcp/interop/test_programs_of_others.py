"""Programs of others that people put before a server: Inspector's command line, mcp-remote, and
FastMCP's command line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accord.mcp import Client
from accord.mcp.client.client import Mode
from accord.mcp.protocol.messages import ProgressParams
from tests.interop.programs import environment, serving
from tests.mcp.interop.commands import OURS, PATIENCE, output, python
from tests.mcp.interop.server import TOKEN

ADD = ("--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=1", "b=2")
WEATHER = ("--method", "resources/read", "--uri", "weather://oslo")
GREETING = ("--method", "prompts/get", "--prompt-name", "greet", "--prompt-args", "name=you")
TOOLS = ("--method", "tools/list", "--strict")
"""With `--strict` it looks for what clients would not understand in schemas."""


class Inspector:
    """Inspector's command line with one server."""

    def __init__(self, node: str, packages: Path, home: Path, *server: str) -> None:
        self._packages = packages
        self._home = home
        program = packages / ".bin" / "mcp-inspector"
        self._command = [node, str(program), "--cli", *server]

    def __call__(self, *request: str) -> Any:
        return output(*self._command, *request, packages=self._packages, home=self._home)


@pytest.mark.req("M-09")
@pytest.mark.parametrize("reached", ["http", "http modern", "sse", "stdio"])
def test_inspector_uses_our_server(
    ours: str, packages: Path, node: str, tmp_path: Path, reached: str
) -> None:
    servers = {
        "http": [ours, "--transport", "http"],
        "http modern": [ours, "--transport", "http", "--protocol-era", "modern"],
        "sse": [f"{ours}/sse", "--transport", "sse"],
        "stdio": [*OURS, "stdio"],
    }
    inspect = Inspector(node, packages, tmp_path, *servers[reached])
    assert inspect(*ADD)["structuredContent"] == {"total": 3}
    assert [tool["name"] for tool in inspect(*TOOLS)["tools"]][:2] == ["add", "work"]
    assert inspect(*WEATHER)["contents"][0]["text"] == "rain in oslo"
    assert inspect(*GREETING)["messages"][0]["content"]["text"] == "hello you"


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    """The URL of our server where it wants a token."""
    with serving([*OURS, "token"]) as url:
        yield url


@pytest.mark.parametrize("era", [[], ["--protocol-era", "modern"]])
def test_inspector_shows_its_token(
    guarded: str, packages: Path, node: str, tmp_path: Path, era: list[str]
) -> None:
    reached = [guarded, "--transport", "http", *era]
    shown = ["--header", f"Authorization: Bearer {TOKEN}"]
    inspect = Inspector(node, packages, tmp_path, *reached, *shown)
    assert inspect(*ADD)["structuredContent"] == {"total": 3}
    with pytest.raises(AssertionError, match="auth_required"):
        Inspector(node, packages, tmp_path, *reached)(*ADD)


@pytest.fixture
def fastmcp() -> str:
    """The command line of FastMCP."""
    return os.fspath(Path(python("fastmcp")).parent / "fastmcp")


def test_the_command_line_of_fastmcp_shows_its_token(
    guarded: str, fastmcp: str, tmp_path: Path
) -> None:
    call = [fastmcp, "call", guarded, "add", "a=1", "b=2", "--json"]
    assert output(*call, "--auth", TOKEN, home=tmp_path)["structured_content"] == {"total": 3}


@pytest.mark.req("M-09")
@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_mcp_remote_carries_both_eras(
    ours: str, packages: Path, node: str, tmp_path: Path, mode: Mode, version: str
) -> None:
    told: list[ProgressParams] = []
    async with Client(
        [node, str(packages / ".bin" / "mcp-remote"), ours],
        mode=mode,
        elicitation=lambda form: {"name": "anna"},
        sampling=lambda asked: "a tale",
        roots=["file:///work"],
        timeout=PATIENCE,
        probe_seconds=PATIENCE,
        stderr="discard",
        env=environment(packages) | {"MCP_REMOTE_CONFIG_DIR": str(tmp_path)},
    ) as client:
        assert client.protocol_version == version
        added = await client.call_tool("add", {"a": 1, "b": 2}, into=dict[str, int])
        assert added.structured == {"total": 3}
        await client.call_tool("work", {"steps": 2}, progress=told.append)
        assert (await client.call_tool("ask")).text == "hello anna"
        assert (await client.call_tool("tell")).text == "a tale"
        assert (await client.call_tool("where")).text == "file:///work"
        read = await client.read_resource("weather://oslo")
        assert read.contents[0].text == "rain in oslo"
    assert [each.progress for each in told] == [1, 2]


@pytest.mark.req("M-09")
def test_the_command_line_of_fastmcp_calls_our_server(
    ours: str, fastmcp: str, tmp_path: Path
) -> None:
    result = output(fastmcp, "call", ours, "add", "a=1", "b=2", "--json", home=tmp_path)
    assert result["structured_content"] == {"total": 3}
