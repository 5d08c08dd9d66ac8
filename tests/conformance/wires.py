"""Bytes to and from the specification's server over every transport.

But for memory, no line of Accord's own clients is used: sockets, pipes, `http.client`, and the
WebSocket client of the `websockets` package.
"""

from __future__ import annotations

import asyncio
import http.client
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import connect as connect_websocket

from accord import Peer, serve
from accord.transports.memory import memory_pair
from accord.transports.options import Framing
from tests.conformance.service import router
from tests.patience import PATIENCE as PATIENCE
from tests.transports.recorder import Recorder

SERVICE = Path(__file__).with_name("service.py")
PROBE = '{"jsonrpc": "2.0", "method": "subtract", "params": [1, 1], "id": "probe"}'
PROBE_ANSWER = '{"jsonrpc":"2.0","id":"probe","result":0}'

Exchange = Callable[[str], Awaitable[list[str]]]
"""Sends a message and gives all that comes back for it."""


class Tls:
    """The contexts of both ends."""

    def __init__(self, server: ssl.SSLContext, client: ssl.SSLContext) -> None:
        self.server = server
        self.client = client


def _probed(send: Callable[[str], Any], receive: Callable[[], Awaitable[str]]) -> Exchange:
    """Nothing that comes back can be told only by what comes next: ask for something known."""

    async def exchange(message: str) -> list[str]:
        for text in (message, PROBE):
            sending = send(text)
            if asyncio.iscoroutine(sending):
                await sending
        answers: list[str] = []
        async with asyncio.timeout(PATIENCE):
            while (answer := await receive()) != PROBE_ANSWER:
                answers.append(answer)
        return answers

    return exchange


@asynccontextmanager
async def memory() -> AsyncIterator[Exchange]:
    ours, theirs = memory_pair()
    recorder = Recorder()
    peer = Peer(theirs, router)
    ours.start(recorder)

    async def receive() -> str:
        await recorder.received(1)
        return recorder.messages.pop(0).decode()

    yield _probed(lambda text: ours.send(text.encode()), receive)
    await peer.close()


def _framed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, framing: str) -> Exchange:
    def send(text: str) -> None:
        data = text.encode()
        if framing == "newline":
            writer.write(data + b"\n")
        else:
            writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))

    async def receive() -> str:
        if framing == "newline":
            return (await reader.readuntil(b"\n")).decode().removesuffix("\n")
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        return (await reader.readexactly(int(head.split(":")[1]))).decode()

    return _probed(send, receive)


@asynccontextmanager
async def inet(framing: Framing, tls: Tls | None = None) -> AsyncIterator[Exchange]:
    scheme = "tcp" if tls is None else "tls"
    options: dict[str, Any] = {"framing": framing, "tls": tls.server if tls else None}
    async with serve(router, f"{scheme}://127.0.0.1:0", **options) as server:
        parts = urlsplit(server.url)
        reader, writer = await asyncio.open_connection(
            parts.hostname, parts.port, ssl=tls.client if tls else None
        )
        yield _framed(reader, writer, framing)
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def unix(path: Path, framing: Framing) -> AsyncIterator[Exchange]:
    async with serve(router, f"unix://{path}", framing=framing):
        reader, writer = await asyncio.open_unix_connection(path)
        yield _framed(reader, writer, framing)
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def stdio(framing: str) -> AsyncIterator[Exchange]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(SERVICE), framing, stdin=pipe, stdout=pipe
    )
    assert process.stdin is not None
    assert process.stdout is not None
    yield _framed(process.stdout, process.stdin, framing)
    process.stdin.close()
    async with asyncio.timeout(PATIENCE):
        assert await process.wait() == 0


@asynccontextmanager
async def websocket(tls: Tls | None = None) -> AsyncIterator[Exchange]:
    scheme = "ws" if tls is None else "wss"
    serving = serve(router, f"{scheme}://127.0.0.1:0/rpc", tls=tls.server if tls else None)
    trusted = None if tls is None else tls.client
    async with serving as server, connect_websocket(server.url, ssl=trusted) as client:

        async def receive() -> str:
            answer = await client.recv()
            assert isinstance(answer, str)
            return answer

        yield _probed(client.send, receive)


@asynccontextmanager
async def web(tls: Tls | None = None) -> AsyncIterator[Exchange]:
    scheme = "http" if tls is None else "https"
    async with serve(
        router, f"{scheme}://127.0.0.1:0/rpc", tls=tls.server if tls else None
    ) as server:
        host = urlsplit(server.url).netloc
        connection = (
            http.client.HTTPConnection(host, timeout=PATIENCE)
            if tls is None
            else http.client.HTTPSConnection(host, timeout=PATIENCE, context=tls.client)
        )

        def post(message: str) -> list[str]:
            connection.request("POST", "/rpc", message, {"Content-Type": "application/json"})
            response = connection.getresponse()
            body = response.read().decode()
            assert (response.status == 204) == (body == "")
            return [body] if body else []

        yield lambda message: asyncio.to_thread(post, message)
        connection.close()
