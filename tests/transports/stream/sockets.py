"""Real servers and raw clients for the stream tests."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from accord.jsonrpc.protocol.channel import Channel
from accord.transports.options import Options
from accord.transports.stream import StreamChannel
from accord.transports.stream.endpoints import StreamListener, listen_stream
from tests.transports.recorder import PATIENCE, Echo, Recorder

LOCAL = "tcp://127.0.0.1:0"


class Service:
    """A listener, and a recorder for each connection that arrived."""

    def __init__(self, receiver: Callable[[Channel], Recorder]) -> None:
        self.listener: StreamListener
        self.channels: list[StreamChannel] = []
        self.recorders: list[Recorder] = []
        self._receiver = receiver
        self._arrived = asyncio.Event()

    def accept(self, channel: Channel) -> None:
        assert isinstance(channel, StreamChannel)
        recorder = self._receiver(channel)
        self.channels.append(channel)
        self.recorders.append(recorder)
        channel.start(recorder)
        self._arrived.set()

    async def connection(self, number: int = 0) -> tuple[StreamChannel, Recorder]:
        """The connection that arrived as the given one, as soon as it has."""
        async with asyncio.timeout(PATIENCE):
            while len(self.channels) <= number:
                self._arrived.clear()
                await self._arrived.wait()
        return self.channels[number], self.recorders[number]

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.listener.url)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port


@asynccontextmanager
async def serving(
    url: str = LOCAL,
    options: Options | None = None,
    *,
    receiver: Callable[[Channel], Recorder] = Echo,
) -> AsyncIterator[Service]:
    """Serve at `url`; afterwards every connection must end when it is told to."""
    service = Service(receiver)
    service.listener = await listen_stream(url, service.accept, options or Options())
    try:
        yield service
    finally:
        await service.listener.close()
        for channel in service.channels:
            channel.abort()
        for recorder in service.recorders:
            await recorder.ended()
    assert [len(recorder.ends) for recorder in service.recorders] == [1] * len(service.recorders)
    assert service.listener.connections == 0


class RawClient:
    """A socket that knows no messages."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._loop = asyncio.get_running_loop()

    async def send(self, data: bytes) -> None:
        async with asyncio.timeout(PATIENCE):
            await self._loop.sock_sendall(self.socket, data)

    async def read(self, count: int) -> bytes:
        """Exactly `count` bytes, or what there was before the other end closed."""
        data = b""
        async with asyncio.timeout(PATIENCE):
            while len(data) < count:
                part = await self._loop.sock_recv(self.socket, min(count - len(data), 65_536))
                if not part:
                    break
                data += part
        return data

    async def read_to_end(self) -> bytes:
        return await self.read(1 << 62)

    def half_close(self) -> None:
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Close so that the other end gets an error."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()


@asynccontextmanager
async def raw_client(service: Service) -> AsyncIterator[RawClient]:
    """A raw connection to `service`."""
    with socket.socket() as connection:
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, service.address)
        yield RawClient(connection)
