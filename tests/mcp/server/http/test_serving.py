"""`server.serve(url)` and `server.run(url)`: any transport, and an end that comes soon."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from accord import connect
from accord.jsonrpc.protocol.channel import Limits
from accord.jsonrpc.protocol.errors import ConnectError, RpcError
from accord.mcp import Context, Server
from accord.mcp.server.serving import MAX_MESSAGE_BYTES, limits_for
from tests.mcp.server.http.service import (
    ACCEPT,
    PATIENCE,
    initialize,
    make_server,
    modern_headers,
    notification,
    request,
    with_meta,
)
from tests.transports.asgi.service import uvicorn_serving

PROGRAM = Path(__file__).with_name("program.py")
CALL = with_meta({"name": "add", "arguments": {"a": 1, "b": 2}})


@pytest.mark.req("M-09")
@pytest.mark.parametrize(
    "url", ["tcp://127.0.0.1:0", "unix:{folder}/mcp", "ws://127.0.0.1:0/mcp", "memory://mcp"]
)
async def test_both_eras_over_connections_that_carry_both_ways(url: str, tmp_path: Path) -> None:
    async with make_server().serve(url.format(folder=tmp_path)) as serving:
        async with await connect(serving.url) as peer:
            answer = await peer.call("tools/call", CALL)
            assert answer["structuredContent"] == 3
        async with await connect(serving.url) as peer:
            await peer.call("initialize", initialize()["params"])
            await peer.notify("notifications/initialized")
            answer = await peer.call("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
            assert answer["structuredContent"] == {"result": 3}


async def test_http_by_url() -> None:
    server = make_server()
    async with server.serve("http://127.0.0.1:0/mcp", drain=5) as serving:
        params = with_meta({"notifications": {"toolsListChanged": True}})
        headers = {**ACCEPT, **modern_headers("subscriptions/listen", params)}
        async with httpx.AsyncClient() as client:
            body = request("subscriptions/listen", params)
            async with client.stream("POST", serving.url, json=body, headers=headers) as stream:
                lines = stream.aiter_lines()
                assert "acknowledged" in await anext(lines)
                await serving.close()
                rest = [line async for line in lines if line]
                assert len(rest) == 1
                assert '"resultType":"complete"' in rest[0]
        await serving.close()
        await serving.wait_closed()


async def test_an_address_that_cannot_be_had() -> None:
    async with make_server().serve("http://127.0.0.1:0/mcp") as serving:
        with pytest.raises(ConnectError):
            await make_server().serve(serving.url)


@pytest.mark.req("M-10")
def test_limits_of_sizes_by_scheme() -> None:
    mebibyte = 1024 * 1024
    assert {scheme: size // mebibyte for scheme, size in MAX_MESSAGE_BYTES.items()} == {
        "stdio": 10, "tcp": 100, "tls": 100, "unix": 100,
        "ws": 50, "wss": 50, "http": 50, "https": 50,
    }  # fmt: skip
    for scheme, size in MAX_MESSAGE_BYTES.items():
        assert limits_for(scheme, None).max_message_bytes == size
    given = Limits(max_message_bytes=None)
    assert limits_for("stdio", given) is given


@pytest.mark.req("M-10")
async def test_a_limit_that_is_given_counts() -> None:
    limits = Limits(max_message_bytes=1_000)
    async with (
        make_server().serve("tcp://127.0.0.1:0", limits=limits) as serving,
        await connect(serving.url) as peer,
    ):
        with pytest.raises(RpcError, match="limit of 1,000"):
            await peer.call("tools/list", with_meta({"padding": "x" * 1_000}))


async def test_web_sockets_of_foreign_pages_are_refused() -> None:
    async with make_server().serve("ws://127.0.0.1:0/mcp") as serving:
        with pytest.raises(ConnectError, match="403"):
            await connect(serving.url, headers={"Origin": "https://evil.example"})


def living(steps: list[str]) -> Server:
    """A server that notes when its lifespan begins and ends."""

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[str]:
        steps.append("begun")
        try:
            yield "value"
        finally:
            steps.append("ended")

    server = Server("living", lifespan=lifespan)

    @server.tool
    async def lives(context: Context) -> str:
        return str(context.lifespan)

    return server


@pytest.mark.parametrize("url", ["tcp://127.0.0.1:0", "http://127.0.0.1:0/mcp"])
async def test_a_lifespan_lasts_as_long_as_the_server_is_served(url: str) -> None:
    steps: list[str] = []
    async with living(steps).serve(url) as serving:
        async with await connect(serving.url, headers=lives_headers()) as peer:
            answer = await peer.call("tools/call", with_meta({"name": "lives"}))
            assert answer["content"][0]["text"] == "value"
        assert steps == ["begun"]
    assert steps == ["begun", "ended"]


def lives_headers() -> dict[str, str]:
    return {**ACCEPT, **modern_headers("tools/call", {"name": "lives"})}


@pytest.mark.parametrize("lifespan", ["on", "off"])
async def test_a_lifespan_begins_also_where_nobody_tells_of_one(lifespan: str) -> None:
    steps: list[str] = []
    app = living(steps).asgi("/mcp")
    async with uvicorn_serving(app, lifespan=lifespan) as port, httpx.AsyncClient() as client:

        async def call() -> str:
            params = with_meta({"name": "lives"})
            answer = await client.post(
                f"http://127.0.0.1:{port}/mcp",
                json=request("tools/call", params),
                headers=lives_headers(),
            )
            return str(answer.json()["result"]["content"][0]["text"])

        assert await asyncio.gather(*[call() for _ in range(5)]) == ["value"] * 5
    assert steps == (["begun", "ended"] if lifespan == "on" else ["begun"])


async def test_a_lifespan_that_fails_lets_no_request_in() -> None:
    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[str]:
        raise RuntimeError("no database")
        yield ""

    server = Server("broken", lifespan=lifespan)
    for url in ("tcp://127.0.0.1:0", "http://127.0.0.1:0/mcp"):
        with pytest.raises(RuntimeError, match="no database"):
            await server.serve(url)
    app = server.asgi("/mcp")
    async with uvicorn_serving(app, lifespan="off") as port, httpx.AsyncClient() as client:
        for _ in range(2):
            answer = await client.post(
                f"http://127.0.0.1:{port}/mcp", json=initialize(), headers=ACCEPT
            )
            assert answer.status_code == 500
            assert "database" not in answer.text


# Processes


class Program:
    """A server in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def ask(self, message: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(msgspec.json.encode(message) + b"\n")
        if "id" not in message:
            return None
        async with asyncio.timeout(PATIENCE):
            return msgspec.json.decode(await self.process.stdout.readline())

    async def exit(self) -> int:
        """Its exit status. What blocks in it would take longer than anybody waits here."""
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()


@asynccontextmanager
async def program(*arguments: str) -> AsyncIterator[Program]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(PROGRAM), *arguments, stdin=pipe, stdout=pipe, stderr=pipe
    )
    try:
        yield Program(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.req("M-09")
@pytest.mark.parametrize("busy", ["", "begun", "block", "listen"])
@pytest.mark.parametrize("ending", ["stdin", "SIGTERM", "SIGINT"])
async def test_a_server_over_stdio_leaves_whatever_runs(busy: str, ending: str) -> None:
    async with program() as running:
        answer = await running.ask(request("tools/call", CALL))
        assert answer["result"]["structuredContent"] == 3
        assert running.process.stdin is not None
        if busy == "listen":
            params = with_meta({"notifications": {"toolsListChanged": True}})
            await running.ask(request("subscriptions/listen", params, id=2))
        elif busy:
            line = msgspec.json.encode(request("tools/call", with_meta({"name": busy}), id=2))
            running.process.stdin.write(line + b"\n")
            await running.ask(request("server/discover", with_meta({}), id=3))
        if ending == "stdin":
            running.process.stdin.close()
        else:
            running.process.send_signal(getattr(signal, ending))
        assert await running.exit() == 0


async def test_a_server_over_http_leaves_on_sigterm() -> None:
    async with program("http://127.0.0.1:0/mcp") as running:
        assert running.process.stderr is not None
        url = (await running.process.stderr.readline()).decode().strip()
        async with httpx.AsyncClient() as client:
            answer = await client.post(url, json=initialize(), headers=ACCEPT)
            headers = {**ACCEPT, "mcp-session-id": answer.headers["mcp-session-id"]}
            await client.post(url, json=notification("notifications/initialized"), headers=headers)
            async with client.stream("GET", url, headers=headers) as stream:
                assert stream.status_code == 200
                running.process.send_signal(signal.SIGTERM)
                assert await running.exit() == 0
