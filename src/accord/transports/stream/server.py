"""Listen for stream connections."""

from __future__ import annotations

import asyncio
import logging
import socket

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.transports.arrivals import Arrivals, listen
from accord.transports.listener import Accept
from accord.transports.memory_budget import MemoryBudget
from accord.transports.options import Options
from accord.transports.sockets import UnixSocketFile, describe, tune
from accord.transports.stream.address import InetAddress, UnixAddress, parse
from accord.transports.stream.channel import StreamChannel, StreamSettings

log = logging.getLogger("accord.transports")

LINGER_SECONDS = 1.0
"""Time in seconds that a connection closed by this end waits for the client to close too."""


async def listen_stream(url: str, accept: Accept, options: Options) -> StreamListener:
    """Listen on `tcp://host:port`, `tls://host:port` or `unix:///path`; port 0 picks a free one.

    Raises ConnectError.
    """
    return await listen(parse(url), options, lambda at: StreamListener(at, accept, options))


class StreamListener:
    """A listener for TCP, TLS or Unix sockets; the owner of their channels."""

    def __init__(
        self, address: InetAddress | UnixAddress, accept: Accept, options: Options
    ) -> None:
        self.url = str(address)
        self._address = address
        self._accept = accept
        self._options = options
        self._budget = MemoryBudget(options.server_limits.max_buffered_bytes)
        self._settings = StreamSettings(
            framing=options.framing,
            limits=options.limits,
            budget=self._budget,
            serving=True,
            message_seconds=options.server_limits.message_seconds,
            linger_seconds=LINGER_SECONDS,
        )
        self._info = ChannelInfo(scheme=address.scheme)
        self._file = UnixSocketFile(address.path) if isinstance(address, UnixAddress) else None
        self._channels: set[StreamChannel] = set()
        self._arrivals = Arrivals(
            address,
            lambda: StreamChannel(self._info, self._settings, self),
            options,
            has_room=lambda: not self._is_full(),
        )

    @property
    def connections(self) -> int:
        return len(self._channels) + self._arrivals.under_way

    @property
    def buffered_bytes(self) -> int:
        """Bytes held for incomplete messages."""
        return self._budget.held

    async def start(self, sockets: list[socket.socket]) -> None:
        """Start accepting connections; the listener owns the sockets from now on."""
        await self._arrivals.start(sockets)

    async def close(self) -> None:
        await self._arrivals.close()
        if self._file is not None:
            self._file.remove()

    # Callbacks of channels

    def opened(self, channel: StreamChannel, transport: asyncio.Transport) -> None:
        if not self._address.secure and self._is_full():
            channel.abort()
            return
        self._channels.add(channel)
        channel.info = describe(transport, self._address.scheme)
        tune(transport)
        try:
            self._accept(channel)
        except Exception:
            log.exception("a connection to %s could not be accepted", self.url)
            channel.abort()

    def ended(self, channel: StreamChannel) -> None:
        self._channels.discard(channel)

    def _is_full(self) -> bool:
        limit = self._options.server_limits.max_connections
        if self.connections < limit:
            return False
        log.warning("connection refused: %s has %d connections, its limit", self.url, limit)
        return True
