"""Listens for JSON-RPC over HTTP on one path of one address."""

from __future__ import annotations

import socket

from msgspec.structs import replace

from accord.jsonrpc.errors import TransportError
from accord.transports.arrivals import Arrivals
from accord.transports.http.address import HttpAddress, parse
from accord.transports.http.connection import HttpConnection
from accord.transports.http.dispatch import Dispatch
from accord.transports.http.site import Site
from accord.transports.options import Options
from accord.transports.stream.sockets import bind_inet


async def listen_http(url: str, dispatch: Dispatch, options: Options) -> HttpListener:
    """Serve `dispatch` at `url`, such as `http://127.0.0.1:8000/rpc`; port 0 picks a free one.

    Raises TransportError when that cannot be.
    """
    address = parse(url)
    if address.query:
        raise TransportError(
            f"cannot listen on {address}: a query is for clients to send", recoverable=False
        )
    if address.secure and options.tls is None:
        raise TransportError(
            f"cannot listen on {address}: TLS needs a certificate",
            recoverable=False,
            advice="Give the option `tls` an ssl.SSLContext with the certificate and its key.",
        )
    try:
        return await _listen(address, dispatch, options)
    except OSError as error:
        raise TransportError(
            f"cannot listen on {address}: {error.strerror or error}",
            advice="Choose another address (port 0 picks a free port), or stop what is using it.",
        ) from error


async def _listen(address: HttpAddress, dispatch: Dispatch, options: Options) -> HttpListener:
    sockets = await bind_inet(address.host, address.port, reuse_port=options.reuse_port)
    address = replace(address, port=sockets[0].getsockname()[1])
    listener = HttpListener(address, dispatch, options)
    try:
        await listener.start(sockets)
    except BaseException:
        await listener.close()
        raise
    return listener


class HttpListener:
    """A listening HTTP server. `close` ends it together with its connections."""

    def __init__(self, address: HttpAddress, dispatch: Dispatch, options: Options) -> None:
        self.url = str(address)
        self._site = Site(address.scheme, address.path, dispatch, options)
        self._arrivals = Arrivals(
            self.url,
            lambda: HttpConnection(self._site),
            options,
            tls=options.tls if address.secure else None,
            has_room=lambda: self._site.has_room_for(self._arrivals.under_way),
        )

    async def start(self, sockets: list[socket.socket]) -> None:
        await self._arrivals.start(sockets)

    @property
    def connections(self) -> int:
        return len(self._site.connections)

    async def close(self) -> None:
        """Stop accepting, let requests that are under way be answered, then end.

        A connection belongs to nobody but its listener, so this waits until the last one is
        gone. Cancelled, it cuts those that are left.
        """
        await self._arrivals.close()
        await self._site.close()
