"""Listening for stream connections."""

from __future__ import annotations

import asyncio
import logging
import socket

from accord.jsonrpc.channel import ChannelInfo
from accord.jsonrpc.errors import TransportError
from accord.transports.arrivals import Arrivals
from accord.transports.listener import Accept
from accord.transports.options import Options
from accord.transports.stream.address import InetAddress, UnixAddress, describe, parse
from accord.transports.stream.channel import StreamChannel, StreamSettings
from accord.transports.stream.sockets import UnixSocketFile, bind_inet, bind_unix, tune

log = logging.getLogger("accord.transports")

LINGER_SECONDS = 1.0
"""How long a connection that this end closes waits for the client to close it too."""


async def listen_stream(url: str, accept: Accept, options: Options) -> StreamListener:
    """Listen on `tcp://host:port`, `tls://host:port` or `unix:///path`; port 0 picks a free one.

    Raises TransportError when that cannot be.
    """
    address = parse(url)
    if address.scheme == "tls" and options.tls is None:
        raise TransportError(
            f"cannot listen on {address}: TLS needs a certificate",
            recoverable=False,
            advice="Give the option `tls` an ssl.SSLContext with the certificate and its key.",
        )
    try:
        return await _listen(address, accept, options)
    except OSError as error:
        raise TransportError(
            f"cannot listen on {address}: {error.strerror or error}",
            advice="Choose another address (port 0 picks a free port), or stop what is using it.",
        ) from error


async def _listen(
    address: InetAddress | UnixAddress, accept: Accept, options: Options
) -> StreamListener:
    if isinstance(address, UnixAddress):
        sockets = [bind_unix(address.path, options.backlog)]
    else:
        sockets = await bind_inet(address.host, address.port, reuse_port=options.reuse_port)
        if address.port == 0:
            address = InetAddress(address.scheme, *sockets[0].getsockname()[:2])
    listener = StreamListener(address, accept, options)
    try:
        await listener.start(sockets)
    except BaseException:
        await listener.close()
        raise
    return listener


class StreamListener:
    """A place where stream connections arrive; implements `Listener` and `Owner`."""

    def __init__(
        self, address: InetAddress | UnixAddress, accept: Accept, options: Options
    ) -> None:
        self.url = str(address)
        self._address = address
        self._accept = accept
        self._options = options
        self._settings = StreamSettings(
            framing=options.framing,
            limits=options.limits,
            serving=True,
            message_seconds=options.server_limits.message_seconds,
            linger_seconds=LINGER_SECONDS,
        )
        self._info = ChannelInfo(scheme=address.scheme)
        self._file = UnixSocketFile(address.path) if isinstance(address, UnixAddress) else None
        self._channels: set[StreamChannel] = set()
        self._arrivals = Arrivals(
            self.url,
            lambda: StreamChannel(self._info, self._settings, self),
            options,
            tls=options.tls if address.scheme == "tls" else None,
            has_room=lambda: not self._is_full(),
        )

    @property
    def connections(self) -> int:
        return len(self._channels) + self._arrivals.under_way

    async def start(self, sockets: list[socket.socket]) -> None:
        """Begin to accept; the sockets belong to the listener from here on."""
        await self._arrivals.start(sockets)

    async def close(self) -> None:
        await self._arrivals.close()
        if self._file is not None:
            self._file.remove()

    # What channels say

    def opened(self, channel: StreamChannel, transport: asyncio.Transport) -> None:
        if self._address.scheme != "tls" and self._is_full():
            channel.abort()
            return
        self._channels.add(channel)
        channel.info = describe(transport, self._address)
        if self._file is None:
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
