"""Calling servers that others wrote: the official SDK and FastMCP, each in an environment of its
own, over stdio, Streamable HTTP and HTTP+SSE, in both eras."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from accord.jsonrpc.protocol.errors import RpcError
from accord.mcp import Client
from accord.mcp.client.client import Mode
from accord.mcp.client.http_transports import HttpWire
from accord.mcp.protocol.messages import ProgressParams
from accord.transports.http.requester import Requester
from accord.transports.options import Options
from accord.transports.urls import parse_web_address
from tests.mcp.interop.commands import python
from tests.patience import PATIENCE as PATIENCE

PEERS = Path(__file__).parent / "peers"

KINDS = [
    ("official", "stdio", "auto", "2026-07-28"),
    ("official", "stdio", "legacy", "2025-11-25"),
    ("official", "http", "auto", "2026-07-28"),
    ("official", "http", "legacy", "2025-11-25"),
    ("official", "sse", "auto", "2025-11-25"),
    ("fast", "stdio", "auto", "2026-07-28"),
    ("fast", "stdio", "legacy", "2025-11-25"),
    ("fast", "http", "auto", "2026-07-28"),
    ("fast", "http", "legacy", "2025-11-25"),
]
_PACKAGES = {"official": "mcp", "fast": "fastmcp"}


@pytest.fixture(autouse=True, scope="module")
def installed() -> None:
    """Both packages are there before a test's time runs."""
    for package in _PACKAGES.values():
        python(package)


@contextmanager
def running(peer: str, transport: str) -> Iterator[Any]:
    """What a client is given to reach the server."""
    command = [python(_PACKAGES[peer]), str(PEERS / f"{peer}.py"), transport]
    if transport == "stdio":
        yield command
        return
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


@pytest.mark.req("M-15")
@pytest.mark.parametrize(("peer", "transport", "mode", "version"), KINDS)
async def test_servers_of_others_are_called(
    peer: str, transport: str, mode: Mode, version: str
) -> None:
    told: list[ProgressParams] = []
    with running(peer, transport) as target:
        async with Client(
            target,
            mode=mode,
            stderr="discard",
            timeout=PATIENCE,
            elicitation=lambda form: {"name": "anna"},
        ) as client:
            assert client.protocol_version == version
            assert client.server is not None
            assert client.server.name == peer
            names = [tool.name for tool in await client.list_tools()]
            assert names == ["add", "work", "sleep", "fail", "ask"]
            result = await client.call_tool("add", {"a": 1, "b": 2}, into=dict[str, int])
            assert result.structured == {"total": 3}
            worked = await client.call_tool("work", {"steps": 2}, progress=told.append)
            assert worked.text == "done"
            assert (await client.call_tool("fail")).is_error
            read = await client.read_resource("weather://oslo")
            assert read.contents[0].text == "rain in oslo"
            assert len((await client.get_prompt("greet", {"name": "you"})).messages) == 1
            await client.ping()
            with pytest.raises(TimeoutError):
                await client.call_tool("sleep", timeout=0.2)
            await asks(client, mode)
    assert [each.progress for each in told] == [1, 2]


async def asks(client: Client, mode: Mode) -> None:
    """Asking inside a call needs a handshake with these servers' simple interface."""
    if client.protocol_version >= "2026":
        with pytest.raises((RpcError, AssertionError)):
            assert not (await client.call_tool("ask")).is_error
    else:
        assert (await client.call_tool("ask")).text == "accept: anna"


async def test_a_session_that_the_official_server_has_lost_is_begun_anew() -> None:
    with running("official", "http") as url:
        async with Client(url, mode="legacy") as client:
            await client.call_tool("add", {"a": 1, "b": 2})
            wire = client.conversation.wire
            assert isinstance(wire, HttpWire)
            await end_session(url, wire.session)
            results = await asyncio.gather(
                *(client.call_tool("add", {"a": n, "b": 2}) for n in range(5))
            )
    assert [result.structured["total"] for result in results] == [2, 3, 4, 5, 6]


async def end_session(url: str, session: str) -> None:
    """Have the server forget a session, as it does when it is restarted."""
    requester = Requester(Options())
    response = await requester.request(
        "DELETE", parse_web_address(url), {"mcp-session-id": session}
    )
    assert response.status == 200
    response.close()
    requester.close()
