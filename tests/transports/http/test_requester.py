"""Requests whose responses are read while they arrive, from servers that do as they are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from accord import ConnectError, ConnectionLostError, TransportError
from accord.jsonrpc.protocol.errors import FramingError
from accord.transports.http.requester import MAX_BUFFERED, Requester
from accord.transports.options import Options
from accord.transports.urls import WebAddress, parse_web_address
from tests.patience import PATIENCE

Serve = Callable[[bytes, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def served(serve: Serve) -> AsyncIterator[tuple[WebAddress, list[bytes]]]:
    """The address of a server that is handed the head of every request, and all those heads."""
    heads: list[bytes] = []
    writers = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        try:
            while True:
                heads.append(await reader.readuntil(b"\r\n\r\n"))
                await serve(heads[-1], reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield parse_web_address(f"http://127.0.0.1:{port}/here?q=1"), heads
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)


def says(data: bytes, *, close: bool = False) -> Serve:
    async def serve(
        head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(data)
        await writer.drain()
        if close:
            writer.close()
            raise ConnectionError

    return serve


@asynccontextmanager
async def requester() -> AsyncIterator[Requester]:
    made = Requester(Options())
    try:
        yield made
    finally:
        made.close()
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("data", "body"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", b"hello"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", b""),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
            b"hello",
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n", b""),
    ],
)
async def test_a_response_is_read_and_its_connection_used_again(data: bytes, body: bytes) -> None:
    async with served(says(data)) as (address, heads), requester() as client:
        for _ in range(3):
            response = await client.request("POST", address, {"X-A": "1"}, b"{}")
            assert await response.read(None) == body
            response.close()
    assert heads[0] == (
        f"POST /here?q=1 HTTP/1.1\r\nhost: {address.authority}\r\nuser-agent: accord\r\n"
        "x-a: 1\r\ncontent-length: 2\r\n\r\n".encode()
    )


async def test_a_body_that_ends_with_the_connection() -> None:
    data = b"HTTP/1.1 200 OK\r\nContent-Type: Text/Plain; x=y\r\n\r\nhello"
    async with served(says(data, close=True)) as (address, _), requester() as client:
        response = await client.request("GET", address, {})
        assert (response.status, response.content_type) == (200, "text/plain")
        assert await response.read(None) == b"hello"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", ConnectionLostError),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe", ConnectionLostError),
        (b"hello\r\n\r\n", FramingError),
        (b"HTTP/1.1 101 Switch\r\n\r\n", FramingError),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", FramingError),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000, FramingError),
    ],
)
async def test_what_breaks_off_or_is_no_http_is_an_error(
    data: bytes, error: type[TransportError]
) -> None:
    async with served(says(data, close=True)) as (address, _), requester() as client:
        with pytest.raises(error):
            await fetch(client, address)


async def fetch(client: Requester, address: WebAddress) -> bytes:
    response = await client.request("GET", address, {})
    return await response.read(None)


async def test_a_body_over_the_limit_is_refused() -> None:
    data = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n" + b"x" * 100
    async with served(says(data)) as (address, _), requester() as client:
        response = await client.request("GET", address, {})
        with pytest.raises(TransportError, match="over the limit of 99 bytes"):
            await response.read(99)


async def test_a_reader_that_lags_pauses_the_connection() -> None:
    size = 64 * 1024
    sent = 0

    async def serve(
        head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        nonlocal sent
        writer.transport.set_write_buffer_limits(high=size)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (1000 * size))
        for _ in range(1000):
            writer.write(b"x" * size)
            sent += size
            await writer.drain()

    async with served(serve) as (address, _), requester() as client:
        response = await client.request("GET", address, {})
        await asyncio.sleep(0.2)
        assert MAX_BUFFERED < sent < 500 * size
        assert len(await response.read(None)) == 1000 * size


async def test_closing_early_ends_the_connection() -> None:
    ended = asyncio.Event()

    async def serve(
        head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx")
        assert await reader.read() == b""
        ended.set()

    async with served(serve) as (address, _), requester() as client:
        response = await client.request("GET", address, {})
        response.close()
        async with asyncio.timeout(PATIENCE):
            await ended.wait()
        with pytest.raises(ConnectionLostError):
            await response.receive()


async def test_a_request_that_is_cancelled_ends_its_connection() -> None:
    ended, asked = asyncio.Event(), asyncio.Event()

    async def serve(
        head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        asked.set()
        await reader.read()
        ended.set()

    async with served(serve) as (address, _), requester() as client:
        task = asyncio.create_task(client.request("GET", address, {}))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(PATIENCE):
            await ended.wait()


async def test_headers_that_cannot_be_sent_are_refused() -> None:
    async with requester() as client:
        for headers in ({"a b": "c"}, {"a": "b\r\nc: d"}, {"Content-Length": "5"}):
            with pytest.raises(TransportError):
                await client.request("GET", parse_web_address("http://127.0.0.1:1/"), headers)


async def test_nothing_is_sent_after_closing() -> None:
    async with requester() as client:
        client.close()
        with pytest.raises(ConnectError):
            await client.request("GET", parse_web_address("http://127.0.0.1:1/"), {})


async def test_what_was_looked_up_is_what_is_connected_to() -> None:
    looked: list[str] = []

    async def resolve(address: WebAddress) -> list[str]:
        looked.append(address.host)
        return ["127.0.0.2", "127.0.0.1"]  # nobody listens at the first

    data = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
    async with served(says(data)) as (address, _):
        named = WebAddress(address.scheme, "nowhere.example", address.port)
        client = Requester(Options(resolve=resolve))
        assert await fetch(client, named) == b"hello"
        client.close()
    assert looked == ["nowhere.example"]
