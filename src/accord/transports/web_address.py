"""Parse the URL of an HTTP endpoint or a WebSocket. Pure."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from msgspec import Struct

from accord.transports.urls import host_and_port, split, unusable

_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_TARGET = re.compile(r"/[\x21-\x7e]*")
_FORMS: Final = "Write it as http://host:port/path or ws://host:port/path; https and wss use TLS."
_bad = partial(unusable, advice=_FORMS)


class WebAddress(Struct, frozen=True):
    """An address of the form `http://host:port/path?query`, or with `https`, `ws` or `wss`."""

    scheme: str
    host: str
    port: int
    path: str = "/"
    query: str = ""

    @property
    def secure(self) -> bool:
        return self.scheme in ("https", "wss")

    @property
    def authority(self) -> str:
        """Host and port in the form of a Host header."""
        if self.port != _PORTS[self.scheme]:
            return host_and_port(self.host, self.port)
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def target(self) -> str:
        """The request target: path and query."""
        return f"{self.path}?{self.query}" if self.query else self.path

    def __str__(self) -> str:
        """Return the URL without its query, which may hold a secret."""
        return f"{self.scheme}://{host_and_port(self.host, self.port)}{self.path}"


def parse(url: str) -> WebAddress:
    """Return the address that `url` names. Raises a ConnectError that says what is wrong."""
    parts, port = split(url, advice=_FORMS)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise _bad(url, "it needs a scheme and a host")
    if parts.username is not None:
        raise _bad(url, "credentials belong into the option `headers`")
    if parts.fragment:
        raise _bad(url, "it has a fragment")
    address = WebAddress(
        parts.scheme,
        parts.hostname,
        _PORTS[parts.scheme] if port is None else port,
        parts.path or "/",
        parts.query,
    )
    if _TARGET.fullmatch(address.target) is None:
        raise _bad(url, "it has characters that have to be percent-encoded")
    return address


def parse_served(url: str) -> WebAddress:
    """Return the address to serve at. Raises ConnectError for a URL that only clients can use."""
    address = parse(url)
    if address.query:
        raise _bad(url, "a query is for clients to send")
    return address
