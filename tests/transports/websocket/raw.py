"""The other end of a WebSocket, byte by byte: to send what no proper client or server would."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from urllib.parse import urlsplit

from accord.jsonrpc.protocol.channel import Channel
from accord.transports.options import Options
from accord.transports.websocket.channel import WebSocketChannel
from accord.transports.websocket.endpoints import WebSocketListener, listen_websocket
from accord.transports.websocket.frames import Event, FrameReader, Opcode, frame
from accord.transports.websocket.handshake import HeadBuffer, accept_key
from tests.transports.recorder import PATIENCE, Recorder

KEY = b"\x12\x34\x56\x78"
NONCE = "dGhlIHNhbXBsZSBub25jZQ=="
REQUEST = (
    "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    f"Sec-WebSocket-Key: {NONCE}\r\nSec-WebSocket-Version: 13\r\n\r\n"
).encode()
ANSWER = (
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    f"Sec-WebSocket-Accept: {accept_key(NONCE)}\r\n\r\n"
).encode()


def text(data: bytes) -> bytes:
    """A client's text frame."""
    return frame(Opcode.TEXT, data, KEY)


def recording(channel: Channel) -> Recorder:
    return Recorder()


class Raw:
    """A connection whose bytes the test writes itself."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.events: list[Event] = []
        self._frames = FrameReader(masked=False, max_message_bytes=None)

    def write(self, *data: bytes) -> None:
        for piece in data:
            self.writer.write(piece)

    async def next(self, count: int = 1) -> list[Event]:
        """The next `count` events."""
        async with asyncio.timeout(PATIENCE):
            while len(self.events) < count:
                data = await self.reader.read(1 << 16)
                if not data:
                    raise EOFError(f"the other end is gone after {self.events}")
                self.events += self._frames.receive(data)
        events, self.events = self.events[:count], self.events[count:]
        return events

    async def rest(self) -> list[Event]:
        """All events until the other end ends the connection."""
        async with asyncio.timeout(PATIENCE):
            with contextlib.suppress(ConnectionError):
                while data := await self.reader.read(1 << 16):
                    self.events += self._frames.receive(data)
        return self.events

    async def response(self) -> bytes:
        """All bytes until the other end ends the connection."""
        async with asyncio.timeout(PATIENCE):
            return await self.reader.read()


@contextlib.asynccontextmanager
async def raw_connection(url: str) -> AsyncIterator[Raw]:
    """A TCP connection to a server, before any handshake."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        yield Raw(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def raw_client(url: str) -> AsyncIterator[Raw]:
    """A client of a server that listens on `/`, after the handshake."""
    async with raw_connection(url) as raw:
        raw.write(REQUEST)
        assert await raw.reader.readexactly(len(ANSWER)) == ANSWER
        yield raw


class Server:
    """A listener, and what its channels told their receivers."""

    def __init__(self, make_receiver: Callable[[Channel], Recorder]) -> None:
        self.listener: WebSocketListener
        self.channels: list[WebSocketChannel] = []
        self.receivers: list[Recorder] = []
        self._make_receiver = make_receiver
        self._news = asyncio.Event()

    @property
    def url(self) -> str:
        return self.listener.url

    def accept(self, channel: Channel) -> None:
        assert isinstance(channel, WebSocketChannel)
        receiver = self._make_receiver(channel)
        self.channels.append(channel)
        self.receivers.append(receiver)
        channel.start(receiver)
        self._news.set()

    async def accepted(self, count: int = 1) -> tuple[WebSocketChannel, Recorder]:
        """Wait for the connection number `count`."""
        async with asyncio.timeout(PATIENCE):
            while len(self.channels) < count:
                self._news.clear()
                await self._news.wait()
        return self.channels[count - 1], self.receivers[count - 1]

    async def emptied(self) -> None:
        """Wait until the listener counts no connection any more."""
        async with asyncio.timeout(PATIENCE):
            while self.listener.connections:  # noqa: ASYNC110 - a listener tells nobody
                await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def serving(
    make_receiver: Callable[[Channel], Recorder],
    options: Options | None = None,
    url: str = "ws://127.0.0.1:0/",
) -> AsyncIterator[Server]:
    server = Server(make_receiver)
    options = Options() if options is None else options
    server.listener = await listen_websocket(url, server.accept, options)
    try:
        yield server
    finally:
        await server.listener.close()
        for channel in server.channels:
            channel.abort()
        await server.emptied()


@contextlib.asynccontextmanager
async def raw_server(early: bytes = b"") -> AsyncIterator[tuple[str, asyncio.Queue[Raw]]]:
    """A server that shakes hands with any client, and then leaves it to the test.

    `early` is sent together with its part of the handshake.
    """
    arrived: asyncio.Queue[Raw] = asyncio.Queue()

    async def shake_hands(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        found = HeadBuffer(len(head)).receive(head)
        assert found is not None
        (line,) = (line for line in found[0].split(b"\r\n") if b"Sec-WebSocket-Key" in line)
        key = line.decode().split(": ")[1]
        answer = ANSWER.replace(accept_key(NONCE).encode(), accept_key(key).encode())
        writer.write(answer + early)
        arrived.put_nowait(Raw(reader, writer))

    server = await asyncio.start_server(shake_hands, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"ws://127.0.0.1:{port}/", arrived
    finally:
        server.close()
