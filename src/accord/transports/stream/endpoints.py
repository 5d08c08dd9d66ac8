"""Connect to a stream server, and listen for stream connections: TCP, TLS, Unix sockets."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.options import Accept, MemoryBudget, Options
from accord.transports.sockets import Arrivals, UnixSocketFile, describe, listen, tune
from accord.transports.stream.channel import StreamChannel, StreamSettings
from accord.transports.urls import InetAddress, UnixAddress, parse_stream_address


async def open_stream(url: str, options: Options) -> StreamChannel:
    """Connect to `tcp://host:port`, `tls://host:port` or `unix:///path`.

    Raises ConnectError if that fails.
    """
    address = parse_stream_address(url)
    settings = StreamSettings(framing=options.framing, limits=options.limits)
    channel = StreamChannel(ChannelInfo(scheme=address.scheme), settings)
    try:
        async with asyncio.timeout(options.connect_seconds):
            transport = await _connect(channel, address, options)
    except (OSError, ValueError) as error:
        raise connect_error(address, error, options) from error
    channel.info = describe(transport, address.scheme)
    tune(transport)
    return channel


async def _connect(
    channel: StreamChannel, address: InetAddress | UnixAddress, options: Options
) -> asyncio.BaseTransport:
    loop = asyncio.get_running_loop()
    if isinstance(address, UnixAddress):
        transport, _ = await loop.create_unix_connection(lambda: channel, address.path)
        return transport
    context = (options.tls or ssl.create_default_context()) if address.secure else None
    transport, _ = await loop.create_connection(
        lambda: channel, address.host, address.port, ssl=context
    )
    return transport


def connect_error(address: object, error: OSError | ValueError, options: Options) -> ConnectError:
    """Return the error to raise when connecting to `address` failed."""
    match error:
        case TimeoutError():
            return ConnectError(f"no connection to {address} within {options.connect_seconds:g} s")
        case ssl.SSLCertVerificationError():
            return ConnectError(
                f"the certificate of {address} is not trusted: {error.verify_message}",
                recoverable=False,
                advice="Give the option `tls` an ssl.SSLContext that trusts the certificate.",
            )
        case ssl.SSLError():
            return ConnectError(
                f"no TLS connection to {address}: {error.reason or error}",
                recoverable=False,
                advice="Check that the server speaks TLS on this port.",
            )
        case socket.gaierror() | UnicodeError():
            return ConnectError(
                f"the host of {address} is unknown: {error.args[-1]}",
                advice="Check the host name, and that names can be resolved.",
            )
        case FileNotFoundError():
            return ConnectError(f"there is no socket {address}")
        case OSError():
            # asyncio replaces the system's text by its own.
            why = os.strerror(error.errno) if error.errno else str(error)
            return ConnectError(f"cannot connect to {address}: {why}")
        case _:
            return ConnectError(
                f"cannot connect to {address}: {error}",
                recoverable=False,
                advice="Check the URL and the options.",
            )


log = logging.getLogger("accord.transports")

LINGER_SECONDS = 1.0
"""Time in seconds that a connection closed by this end waits for the client to close too."""


async def listen_stream(url: str, accept: Accept, options: Options) -> StreamListener:
    """Listen on `tcp://host:port`, `tls://host:port` or `unix:///path`.

    Port 0 picks a free port. Raises ConnectError if the address cannot be listened on.
    """
    return await listen(
        parse_stream_address(url), options, lambda at: StreamListener(at, accept, options)
    )


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
