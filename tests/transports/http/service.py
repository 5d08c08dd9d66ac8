"""What the HTTP tests talk to and talk with: a dispatcher of opaque bytes and a raw client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.protocol.channel import ChannelInfo, Limits, ServerLimits
from accord.jsonrpc.protocol.errors import InvalidRequestError
from accord.jsonrpc.protocol.messages import Invalid, InvalidMessageReply, Success
from accord.jsonrpc.protocol.session import Statistics
from accord.jsonrpc.runtime.requests import RequestSource
from accord.transports.http.server import HttpListener, listen_http
from accord.transports.options import Options
from tests.patience import PATIENCE as PATIENCE


class Held:
    """A message whose answer the test gives when it likes."""

    def __init__(self, source: RequestSource) -> None:
        self.answer = source.answer
        self.cancelled = asyncio.Event()

    def cancel(self) -> None:
        self.cancelled.set()


class Service:
    """Echoes; a message that begins with one of six words is treated as the word says."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []
        self.statistics = Statistics()
        self.context = Context("", channel=ChannelInfo(scheme=""))
        """That of the last message."""
        self._held: asyncio.Queue[Held] = asyncio.Queue()

    def handle(self, data: bytes, source: RequestSource) -> bytes | None | Held:
        self.seen.append(data)
        self.context = source.context("method", 1)
        match data[:6]:
            case b"refuse":
                return InvalidMessageReply(data)
            case b"ignore":
                return None
            case b"wait:-":
                held = Held(source)
                self._held.put_nowait(held)
                return held
            case b"crash!":
                raise RuntimeError("a dispatcher that breaks its promise")
            case b"settle":
                source.settle(Success(1, None))
                source.settle(Invalid(InvalidRequestError(), response=True))
                return None
            case b"expand":
                return b"x" * int(data[6:])
        return data

    async def held(self) -> Held:
        """The next message that waits for its answer."""
        async with asyncio.timeout(PATIENCE):
            return await self._held.get()


class Answer(Struct, frozen=True):
    """A response as a test sees it; the date is taken out of the headers."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def outcome(self) -> tuple[int, bytes]:
        return self.status, self.body


class RawClient:
    """A client that sends whatever it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def send(self, data: bytes) -> None:
        self._writer.write(data)

    async def drain(self) -> None:
        await self._writer.drain()

    async def ask(self, data: bytes) -> Answer:
        self.send(data)
        return await self.answer()

    async def answer(self, *, head_only: bool = False) -> Answer:
        async with asyncio.timeout(PATIENCE):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            start, *lines = head[:-4].split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines)
            length = 0 if head_only else int(headers.get("content-length", "0"))
            body = await self._reader.readexactly(length)
        status = int(start.split()[1])
        assert status == 100 or headers.pop("date").endswith("GMT")
        return Answer(status, headers, body)

    async def some(self, size: int) -> bytes:
        """The next bytes, as many."""
        async with asyncio.timeout(PATIENCE):
            return await self._reader.readexactly(size)

    async def rest(self) -> bytes:
        """All that still comes until the server ends the connection."""
        async with asyncio.timeout(PATIENCE):
            try:
                return await self._reader.read()
            except ConnectionResetError:
                return b""

    def end_input(self) -> None:
        self._writer.write_eof()

    def cut(self) -> None:
        self._writer.transport.abort()

    async def close(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            pass


class Site(Struct, frozen=True):
    """A server under test."""

    listener: HttpListener
    service: Service

    @property
    def port(self) -> int:
        return int(self.listener.url.split(":")[2].split("/")[0])

    @asynccontextmanager
    async def client(self) -> AsyncIterator[RawClient]:
        client = RawClient(*await asyncio.open_connection("127.0.0.1", self.port))
        try:
            yield client
        finally:
            await client.close()

    async def until_connections(self, count: int) -> None:
        """Wait until so many connections are open."""
        async with asyncio.timeout(PATIENCE):
            while self.listener.connections != count:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.002)


@asynccontextmanager
async def serving(
    *,
    limits: Limits | None = None,
    server_limits: ServerLimits | None = None,
    url: str = "http://127.0.0.1:0/rpc",
    **options: Any,
) -> AsyncIterator[Site]:
    service = Service()
    settings = Options(
        limits=limits or Limits(), server_limits=server_limits or ServerLimits(), **options
    )
    listener = await listen_http(url, service, settings)
    try:
        yield Site(listener, service)
    finally:
        async with asyncio.timeout(PATIENCE):
            await listener.close()
        assert listener.connections == 0


def post(
    body: bytes = b"hello",
    *lines: bytes,
    target: bytes = b"/rpc",
    version: bytes = b"1.1",
    method: bytes = b"POST",
) -> bytes:
    """A request that is let in unless the arguments see to it that it is not."""
    head = [
        b"%b %b HTTP/%b" % (method, target, version),
        b"Host: 127.0.0.1",
        b"Content-Type: application/json",
        b"Content-Length: %d" % len(body),
        *lines,
    ]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    """A request with a chunked body."""
    head = (
        b"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    return head + b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + end
