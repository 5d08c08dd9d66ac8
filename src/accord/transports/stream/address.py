"""Where a stream connects to or listens: the URL taken apart, and addresses as text."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from accord.jsonrpc.channel import ChannelInfo
from accord.jsonrpc.errors import ConnectError

MAX_UNIX_PATH_BYTES = 107
"""What the kernel has room for in a Unix socket's address."""

_FORMS = "Write it as tcp://host:port, tls://host:port or unix:///path."


class InetAddress(Struct, frozen=True):
    """`tcp://host:port` or `tls://host:port`."""

    scheme: Literal["tcp", "tls"]
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{host_and_port(self.host, self.port)}"


class UnixAddress(Struct, frozen=True):
    """`unix:///path`."""

    path: str
    scheme: Literal["unix"] = "unix"

    def __str__(self) -> str:
        return f"unix://{self.path}"


def parse(url: str) -> InetAddress | UnixAddress:
    """The address that `url` names. Raises ConnectError that says what is wrong with it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _bad(url, str(error)) from None
    if parts.query or parts.fragment or parts.username is not None:
        raise _bad(url, "it has more than an address")
    match parts.scheme:
        case "unix":
            return _unix(url, parts.netloc, unquote(parts.path))
        case "tcp" | "tls" as scheme:
            if not host or port is None:
                raise _bad(url, "it needs a host and a port")
            if parts.path not in ("", "/"):
                raise _bad(url, "it has more than an address")
            return InetAddress(scheme, host, port)
        case _:
            raise _bad(url, f"the scheme {parts.scheme!r} is unknown")


def _unix(url: str, netloc: str, path: str) -> UnixAddress:
    if netloc or not path.startswith("/") or "\0" in path:
        raise _bad(url, "it needs an absolute path")
    if (size := len(path.encode())) > MAX_UNIX_PATH_BYTES:
        raise _bad(url, f"a path of {size} bytes is over the limit of {MAX_UNIX_PATH_BYTES}")
    return UnixAddress(path)


def _bad(url: str, why: str) -> ConnectError:
    return ConnectError(f"cannot use the address {url!r}: {why}", recoverable=False, advice=_FORMS)


def host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def describe(transport: asyncio.BaseTransport, address: InetAddress | UnixAddress) -> ChannelInfo:
    """What a connection made from or at `address` knows about its other end."""
    if isinstance(address, UnixAddress):
        return ChannelInfo(scheme="unix", address=address.path)
    peer = transport.get_extra_info("peername")
    there = host_and_port(*peer[:2]) if peer else str(address)
    if address.scheme == "tcp":
        return ChannelInfo(scheme="tcp", address=there)
    return ChannelInfo(scheme="tls", address=there, details={"tls": tls_details(transport)})


def tls_details(transport: asyncio.BaseTransport) -> dict[str, Any]:
    """What is known of a connection's TLS."""
    connection: ssl.SSLObject = transport.get_extra_info("ssl_object")
    return {
        "version": connection.version(),
        "cipher": connection.cipher(),
        "certificate": connection.getpeercert() or None,
    }
