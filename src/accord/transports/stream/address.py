"""Parse the URL of a stream. Pure."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final, Literal
from urllib.parse import unquote

from msgspec import Struct

from accord.transports.urls import host_and_port, split, unusable

MAX_UNIX_PATH_BYTES: Final = 107
"""Maximum path length in the kernel's structure for a Unix socket's address."""

_FORMS: Final = "Write it as tcp://host:port, tls://host:port or unix:///path."
_bad = partial(unusable, advice=_FORMS)


class InetAddress(Struct, frozen=True):
    """An address of the form `tcp://host:port` or `tls://host:port`."""

    scheme: Literal["tcp", "tls"]
    host: str
    port: int

    @property
    def secure(self) -> bool:
        return self.scheme == "tls"

    def __str__(self) -> str:
        return f"{self.scheme}://{host_and_port(self.host, self.port)}"


class UnixAddress(Struct, frozen=True):
    """An address of the form `unix:///path`."""

    path: str
    scheme: Literal["unix"] = "unix"
    secure: ClassVar[bool] = False

    def __str__(self) -> str:
        return f"unix://{self.path}"


def parse(url: str) -> InetAddress | UnixAddress:
    """Return the address that `url` names. Raises a ConnectError that says what is wrong."""
    parts, port = split(url, advice=_FORMS)
    if parts.query or parts.fragment or parts.username is not None:
        raise _bad(url, "it has more than an address")
    match parts.scheme:
        case "unix":
            return _unix(url, parts.netloc, unquote(parts.path))
        case "tcp" | "tls" as scheme:
            if not parts.hostname or port is None:
                raise _bad(url, "it needs a host and a port")
            if parts.path not in ("", "/"):
                raise _bad(url, "it has more than an address")
            return InetAddress(scheme, parts.hostname, port)
        case _:
            raise _bad(url, f"the scheme {parts.scheme!r} is unknown")


def _unix(url: str, netloc: str, path: str) -> UnixAddress:
    if netloc or not path.startswith("/") or "\0" in path:
        raise _bad(url, "it needs an absolute path")
    if (size := len(path.encode())) > MAX_UNIX_PATH_BYTES:
        raise _bad(url, f"a path of {size} bytes is over the limit of {MAX_UNIX_PATH_BYTES}")
    return UnixAddress(path)
