"""The parts of a WebSocket's URL (RFC 6455, section 3), and what is known of its other end."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from accord.jsonrpc.channel import ChannelInfo
from accord.jsonrpc.errors import ConnectError
from accord.transports.stream.address import host_and_port, tls_details

_PORTS = {"ws": 80, "wss": 443}
_TARGET = re.compile(r"/[\x21-\x7e]*")


class WebSocketAddress(Struct, frozen=True):
    """Where a WebSocket is."""

    scheme: str
    host: str
    port: int
    path: str = "/"
    query: str = ""

    @property
    def secure(self) -> bool:
        return self.scheme == "wss"

    @property
    def authority(self) -> str:
        """Host and port as a Host header has them."""
        if self.port != _PORTS[self.scheme]:
            return host_and_port(self.host, self.port)
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def target(self) -> str:
        """What is asked for: path and query."""
        return f"{self.path}?{self.query}" if self.query else self.path

    def __str__(self) -> str:
        """The URL without its query, which may hold a secret."""
        return f"{self.scheme}://{host_and_port(self.host, self.port)}{self.path}"


def parse(url: str) -> WebSocketAddress:
    """The address that `url` names. Raises ConnectError that says what is wrong with it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _bad(url, str(error)) from None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise _bad(url, "it needs a scheme and a host")
    if parts.fragment or parts.username is not None:
        raise _bad(url, "it has a fragment or a user name")
    address = WebSocketAddress(
        parts.scheme,
        parts.hostname,
        _PORTS[parts.scheme] if port is None else port,
        parts.path or "/",
        parts.query,
    )
    if _TARGET.fullmatch(address.target) is None:
        raise _bad(url, "it has characters that have to be percent-encoded")
    return address


def describe(transport: asyncio.BaseTransport, details: Mapping[str, Any]) -> ChannelInfo:
    """What is known of the other end of a connection."""
    there = transport.get_extra_info("peername")
    secure = transport.get_extra_info("ssl_object") is not None
    return ChannelInfo(
        scheme="wss" if secure else "ws",
        address=host_and_port(*there[:2]) if there else "",
        details={**details, "tls": tls_details(transport)} if secure else dict(details),
    )


def _bad(url: str, why: str) -> ConnectError:
    return ConnectError(
        f"cannot use the address {url!r}: {why}",
        recoverable=False,
        advice="Write it as ws://host:port/path or wss://host/path.",
    )
