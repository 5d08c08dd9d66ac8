"""The sockets of servers and clients: bind, set options, describe, accept, shut down."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
import ssl
import stat
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from ipaddress import ip_address
from typing import Any, Final, Protocol, TypeVar

from msgspec.structs import replace

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.options import Listener, Options
from accord.transports.urls import InetAddress, UnixAddress, WebAddress, host_and_port

_KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""TCP options that probe a silent connection after a minute, and close it after another minute
without an answer."""


def tune(transport: asyncio.BaseTransport) -> None:
    """Disable Nagle's algorithm and enable keepalive on a TCP connection."""
    connection: socket.socket | None = transport.get_extra_info("socket")
    if connection is None or connection.family == socket.AF_UNIX:
        return
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def is_wildcard(host: str) -> bool:
    """Return whether listening on `host` means listening on all addresses of the machine."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return not host


def address_of(host: str) -> str:
    """Return the IP address `host` of a socket as it is written in URLs.

    The name of the interface is dropped, and an IPv4-mapped IPv6 address becomes an IPv4 address.
    """
    address = ip_address(host.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def describe(
    transport: asyncio.BaseTransport,
    scheme: str,
    *,
    duplex: bool = True,
    details: Mapping[str, Any] | None = None,
) -> ChannelInfo:
    """Return a connection's info: the peer's address and, in `details`, the TLS parameters."""
    tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
    known = dict(details or {})
    if tls is not None:
        known["tls"] = {
            "version": tls.version(),
            "cipher": tls.cipher(),
            "certificate": tls.getpeercert() or None,
        }
    return ChannelInfo(scheme=scheme, address=_there(transport), duplex=duplex, details=known)


def _there(transport: asyncio.BaseTransport) -> str:
    there = transport.get_extra_info("peername")
    if isinstance(there, tuple):
        return host_and_port(*there[:2])
    # A Unix socket's client has no address: the server's path is used for both ends.
    path = there or transport.get_extra_info("sockname")
    return path if isinstance(path, str) else ""


async def bind_inet(host: str, port: int, *, reuse_port: bool) -> list[socket.socket]:
    """Bind a socket for each address that `host` resolves to.

    Raises OSError if `host` cannot be resolved or an address cannot be bound. With port 0 only the
    first address is bound, since each would get a different port.
    """
    found = await asyncio.get_running_loop().getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    addresses = list(dict.fromkeys((family, address) for family, _, _, _, address in found))
    bound: list[socket.socket] = []
    try:
        for family, address in addresses[:1] if port == 0 else addresses:
            bound.append(socket.socket(family, socket.SOCK_STREAM))
            _bind(bound[-1], address, reuse_port=reuse_port)
    except BaseException:
        for opened in bound:
            opened.close()
        raise
    return bound


def _bind(unbound: socket.socket, address: Any, *, reuse_port: bool) -> None:
    unbound.setblocking(False)
    unbound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if reuse_port:
        unbound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if unbound.family == socket.AF_INET6:
        # One socket per address family, or `::` would take IPv4's port as well.
        unbound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    unbound.bind(address)


def bind_unix(path: str, backlog: int) -> socket.socket:
    """Return a listening socket at `path`, replacing a stale socket file.

    Raises OSError if the socket cannot be bound to `path`.
    """
    _remove_stale(path)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bound.setblocking(False)
        bound.bind(path)
        bound.listen(backlog)
    except BaseException:
        bound.close()
        raise
    return bound


def _remove_stale(path: str) -> None:
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            raise OSError(errno.EEXIST, "there is a file, and it is no socket")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except BlockingIOError:
            pass  # a process listens there, and its backlog is full
    raise OSError(errno.EADDRINUSE, "another process listens there")


class UnixSocketFile:
    """The socket file of a listener.

    `remove` deletes the file, unless another process has replaced it with its own.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._identity = self._look()

    def remove(self) -> None:
        if self._identity is not None and self._look() == self._identity:
            os.unlink(self._path)

    def _look(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino


log = logging.getLogger("accord.transports")

ACCEPT_PAUSE_SECONDS: Final = 1.0
"""Pause in seconds after the system could not accept a connection, for example because no file
descriptors are left."""


class _Startable(Protocol):
    async def start(self, sockets: list[socket.socket]) -> None: ...

    async def close(self) -> None: ...


_Address = TypeVar("_Address", InetAddress | UnixAddress, WebAddress)
_Listener = TypeVar("_Listener", bound=_Startable)


async def listen(
    address: _Address, options: Options, make: Callable[[_Address], _Listener]
) -> _Listener:
    """Bind sockets at `address`; return the listener made by `make`, already started.

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
    """An acceptor of connections on listening sockets.

    It owns the sockets once it is started. While `has_room` returns False, a connection is closed
    before its TLS handshake. The handshakes are made and counted here, because a client that never
    finishes its handshake holds a socket too, and asyncio's own TLS server reports neither
    handshakes in progress nor failed ones.
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


LAST_WORDS_SECONDS: Final = 1.0
"""Time in seconds that the clients of a closing listener have to read their last responses."""


async def close_listener(listener: Listener, finish: Awaitable[None]) -> None:
    """Stop listening, finish the running calls, then cut off the remaining connections.

    The awaitable `finish` answers the running calls. Clients then have `LAST_WORDS_SECONDS` to read
    the answers.
    """
    closing = asyncio.ensure_future(listener.close())
    await finish
    _, late = await asyncio.wait([closing], timeout=LAST_WORDS_SECONDS)
    if late:
        closing.cancel()
        await asyncio.wait([closing])
