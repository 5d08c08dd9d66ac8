"""The parts of an endpoint's URL. Pure."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from accord.jsonrpc.errors import ConnectError
from accord.transports.stream.address import host_and_port

_PORTS: Final = {"http": 80, "https": 443}
_TARGET = re.compile(r"/[\x21-\x7e]*")


class HttpAddress(Struct, frozen=True):
    """Where an endpoint is."""

    scheme: str
    host: str
    port: int
    path: str = "/"
    query: str = ""

    @property
    def secure(self) -> bool:
        return self.scheme == "https"

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


def parse(url: str) -> HttpAddress:
    """The address that `url` names. Raises ConnectError that says what is wrong with it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _bad(url, str(error)) from None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise _bad(url, "it needs a scheme and a host")
    if parts.username is not None:
        # the URL is not repeated: there is a password in it
        raise _bad(parts.hostname, "credentials belong into the option `headers`")
    if parts.fragment:
        raise _bad(url, "it has a fragment")
    address = HttpAddress(
        parts.scheme,
        parts.hostname,
        _PORTS[parts.scheme] if port is None else port,
        parts.path or "/",
        parts.query,
    )
    if _TARGET.fullmatch(address.target) is None:
        raise _bad(url, "it has characters that have to be percent-encoded")
    return address


def _bad(url: str, why: str) -> ConnectError:
    return ConnectError(
        f"cannot use the address {url!r}: {why}",
        recoverable=False,
        advice="Write it as http://host:port/path or https://host/path.",
    )
