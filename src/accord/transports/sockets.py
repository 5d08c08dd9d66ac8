"""Bind, tune and describe sockets."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
import stat
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.transports.urls import host_and_port

_KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""A silent connection is probed after a minute and closed after another."""


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
    """Return a socket's address in the form for URLs.

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
    """Bind a socket for each address that `host` resolves to. Raises OSError.

    With port 0 only the first address is bound, since each would get a different port.
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
    """Return a listening socket at `path`, replacing a stale socket file. Raises OSError."""
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
    """The file of a listening Unix socket, removed on close unless another process replaced it."""

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
