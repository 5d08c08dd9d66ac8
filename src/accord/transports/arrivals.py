"""The sockets of a server: what arrives at them becomes protocols, plain or under TLS."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, TypeVar

from msgspec.structs import replace

from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.options import Options
from accord.transports.sockets import bind_inet, bind_unix
from accord.transports.stream.address import InetAddress, UnixAddress
from accord.transports.web_address import WebAddress

log = logging.getLogger("accord.transports")

ACCEPT_PAUSE_SECONDS: Final = 1.0
"""Pause in seconds after the system refused to accept a connection, as without free descriptors."""


class _Startable(Protocol):
    async def start(self, sockets: list[socket.socket]) -> None: ...

    async def close(self) -> None: ...


_Address = TypeVar("_Address", InetAddress | UnixAddress, WebAddress)
_Listener = TypeVar("_Listener", bound=_Startable)


async def listen(
    address: _Address, options: Options, make: Callable[[_Address], _Listener]
) -> _Listener:
    """Bind sockets at `address`, and return the listener that `make` returns, started.

    `make` gets the address with the real port in place of 0. Raises ConnectError when `address`
    cannot be listened on.
    """
    if address.secure and options.tls is None:
        raise ConnectError(
            f"cannot listen on {address}: TLS needs a certificate",
            recoverable=False,
            advice="Give the option `tls` an ssl.SSLContext with the certificate and its key.",
        )
    try:
        return await _listen(address, options, make)
    except (OSError, ValueError) as error:  # a ValueError of a host that cannot be looked up
        raise ConnectError(
            f"cannot listen on {address}: {getattr(error, 'strerror', None) or error}",
            advice="Choose another address (port 0 picks a free port), or stop what is using it.",
        ) from error


async def _listen(
    address: _Address, options: Options, make: Callable[[_Address], _Listener]
) -> _Listener:
    if isinstance(address, UnixAddress):
        sockets = [bind_unix(address.path, options.backlog)]
    else:
        sockets = await bind_inet(address.host, address.port, reuse_port=options.reuse_port)
        address = replace(address, port=sockets[0].getsockname()[1])
    listener = make(address)
    try:
        await listener.start(sockets)
    except BaseException:
        await listener.close()
        raise
    return listener


class Arrivals:
    """An acceptor of connections on listening sockets, which it owns once it is started.

    asyncio's own TLS server does not report handshakes in progress or failed ones, and they must
    count against the limit: a client that never finishes its handshake holds a socket too. So TLS
    handshakes are made here and counted, and while `has_room` returns False a connection is closed
    before its handshake.
    """

    def __init__(
        self,
        address: InetAddress | UnixAddress | WebAddress,
        protocol: Callable[[], asyncio.BaseProtocol],
        options: Options,
        *,
        has_room: Callable[[], bool],
    ) -> None:
        self._address = address
        self._protocol = protocol
        self._options = options
        self._tls = options.tls if address.secure else None
        self._has_room = has_room
        self._sockets: list[socket.socket] = []
        self._servers: list[asyncio.AbstractServer] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._handshakes: set[asyncio.Task[None]] = set()

    @property
    def under_way(self) -> int:
        """Number of TLS handshakes in progress."""
        return len(self._handshakes)

    async def start(self, sockets: list[socket.socket]) -> None:
        """Start accepting connections on `sockets`."""
        self._sockets = sockets
        loop = asyncio.get_running_loop()
        for bound in sockets:
            bound.listen(self._options.backlog)
            if self._tls is not None:
                self._accepting.append(loop.create_task(self._accept_tls(bound)))
            else:
                create = loop.create_unix_server if _is_unix(bound) else loop.create_server
                server = await create(self._protocol, sock=bound, backlog=self._options.backlog)
                self._servers.append(server)

    async def close(self) -> None:
        """Stop accepting; handshakes in progress are dropped."""
        for server in self._servers:
            server.close()
        tasks = [*self._accepting, *self._handshakes]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for bound in self._sockets:
            bound.close()

    async def _accept_tls(self, bound: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(bound)
            except OSError as error:
                log.error("%s cannot accept connections now: %s", self._address, error)
                await asyncio.sleep(ACCEPT_PAUSE_SECONDS)
                continue
            if not self._has_room():
                connection.close()
                continue
            handshake = loop.create_task(self._handshake(connection))
            self._handshakes.add(handshake)
            handshake.add_done_callback(partial(self._handshake_done, connection))

    def _handshake_done(self, connection: socket.socket, handshake: asyncio.Task[None]) -> None:
        self._handshakes.discard(handshake)
        if handshake.cancelled():
            # A handshake that had not begun leaves its socket open, and uvloop keeps the socket of
            # a cancelled handshake until its timeout. Closing our copy alone would not end the
            # connection then, so shut it down first.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    async def _handshake(self, connection: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._protocol,
                connection,
                ssl=self._tls,
                ssl_handshake_timeout=self._options.server_limits.header_seconds,
            )
        except OSError as error:
            log.info("TLS handshake at %s failed: %s", self._address, error)


def _is_unix(bound: socket.socket) -> bool:
    return bound.family == socket.AF_UNIX
