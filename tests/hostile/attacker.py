"""A client that is up to no good: a bare socket, which sends what it likes and reads if it likes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from accord.transports.websocket.frames import FrameReader, Message, Opcode, frame
from tests.patience import PATIENCE as PATIENCE

_RESET: Final = struct.pack("ii", 1, 0)
_UPGRADE: Final = (
    b"GET /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
_RESPONSE: Final = re.compile(rb"HTTP/1\.1 \d+ .*?\r\n\r\n", re.DOTALL)
_LENGTH: Final = re.compile(rb"content-length: (\d+)")


def call(method: str, params: Any = (), id: Any = 1) -> bytes:
    """A request."""
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": id}).encode()


def on_wire(scheme: str, message: bytes) -> bytes:
    """The bytes by which a client of `scheme` sends a message."""
    if scheme == "tcp":
        return message + b"\n"
    if scheme == "ws":
        return frame(Opcode.TEXT, message, b"\x12\x34\x56\x78")
    return (
        b"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(message), message)
    )


class Attacker:
    """One connection of such a client."""

    def __init__(self, scheme: str, connection: socket.socket) -> None:
        self.scheme = scheme
        self._socket = connection
        self._loop = asyncio.get_running_loop()
        self._received = b""
        self._frames = FrameReader(masked=False, max_message_bytes=None)
        self._answers: list[Any] = []

    async def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        await self._loop.sock_sendall(self._socket, data)

    async def say(self, message: bytes) -> None:
        """Send a message as a proper client would."""
        await self.send(on_wire(self.scheme, message))

    async def push(self, data: bytes, most: int, *, quiet: float = 0.25) -> int:
        """Send `data` again and again until `most` bytes are out, or nothing was taken for
        `quiet` seconds, or the connection is gone; how many bytes were taken."""
        sent = 0
        rest = memoryview(data)
        stuck_since: float | None = None
        while sent < most:
            try:
                count = self._socket.send(rest)
            except BlockingIOError:
                now = self._loop.time()
                stuck_since = stuck_since or now
                if now - stuck_since > quiet:
                    break
                await asyncio.sleep(0.01)
                continue
            except OSError:
                break
            stuck_since = None
            sent += count
            rest = rest[count:] or memoryview(data)
            await asyncio.sleep(0)
        return sent

    async def answers(self, count: int) -> list[Any]:
        """The next `count` answers, decoded; over HTTP one for each response."""
        async with asyncio.timeout(PATIENCE):
            while len(self._answers) < count:
                data = await self._loop.sock_recv(self._socket, 1 << 16)
                if not data:
                    raise EOFError(f"the server is gone after {self._answers}")
                self._answers += map(json.loads, self._read(data))
        answers, self._answers = self._answers[:count], self._answers[count:]
        return answers

    async def until_cut(self) -> bytes:
        """All bytes until the server ends the connection."""
        received = self._received
        async with asyncio.timeout(PATIENCE):
            try:
                while data := await self._loop.sock_recv(self._socket, 1 << 16):
                    received += data
            except ConnectionError:
                pass
        return received

    def leave(self) -> None:
        """Go in an orderly way."""
        self._socket.close()

    def reset(self) -> None:
        """Go without a word."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._socket.close()

    async def upgrade(self) -> None:
        """Open a WebSocket."""
        await self.send(_UPGRADE)
        while b"\r\n\r\n" not in self._received:
            data = await self._loop.sock_recv(self._socket, 1 << 16)
            if not data:
                raise EOFError("the server is gone before the WebSocket is open")
            self._received += data
        head, _, self._received = self._received.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 "), head

    def _read(self, data: bytes) -> list[bytes]:
        if self.scheme == "ws":
            events = self._frames.receive(data)
            return [event.data for event in events if isinstance(event, Message)]
        self._received += data
        if self.scheme == "tcp":
            *lines, self._received = self._received.split(b"\n")
            return lines
        bodies = []
        while (head := _RESPONSE.match(self._received)) is not None:
            length = _LENGTH.search(head[0])
            end = head.end() + (int(length[1]) if length else 0)
            if end > len(self._received):
                break
            bodies.append(self._received[head.end() : end] or b"null")
            self._received = self._received[end:]
        return bodies


@asynccontextmanager
async def attacking(url: str, *, small_buffers: bool = False) -> AsyncIterator[Attacker]:
    """An attacker with a connection to `url`, over WebSocket with an open one.

    With `small_buffers` the system itself takes little for a client that does not read.
    """
    attacker = await attack(url, small_buffers=small_buffers)
    try:
        if attacker.scheme == "ws":
            await attacker.upgrade()
        yield attacker
    finally:
        attacker.leave()


async def attack(url: str, *, small_buffers: bool = False) -> Attacker:
    """A connection to `url` over which nothing was said yet."""
    parts = urlsplit(url)
    connection = socket.socket()
    try:
        connection.setblocking(False)
        if small_buffers:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        address = (parts.hostname, parts.port)
        await asyncio.get_running_loop().sock_connect(connection, address)
    except BaseException:
        connection.close()
        raise
    return Attacker(parts.scheme, connection)


def open_files() -> int:
    """How many files and sockets this process has open."""
    return len(os.listdir("/dev/fd"))


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something has become true."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - the server tells nobody when a client is gone
            await asyncio.sleep(0.005)
