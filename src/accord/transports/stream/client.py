"""Connect to a stream server, and explain failed attempts."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.options import Options
from accord.transports.sockets import describe, tune
from accord.transports.stream.address import InetAddress, UnixAddress, parse
from accord.transports.stream.channel import StreamChannel, StreamSettings


async def open_stream(url: str, options: Options) -> StreamChannel:
    """Connect to `tcp://host:port`, `tls://host:port` or `unix:///path`. Raises ConnectError."""
    address = parse(url)
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
