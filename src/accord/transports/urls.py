"""URLs of endpoints: parsed, compared with origins, and shown without their secrets. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import partial
from ipaddress import ip_address
from typing import ClassVar, Final, Literal
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct

from accord.jsonrpc.protocol.errors import ConnectError

_CREDENTIALS = re.compile(r"//.*@", re.DOTALL)
_QUERY = re.compile(r"\?[^#]*")


def scheme_of(url: str) -> str:
    """Return the scheme of a URL in lower case; empty if there is no colon."""
    scheme, colon, _ = url.partition(":")
    return scheme.lower() if colon else ""


def split(url: str, *, advice: str) -> tuple[SplitResult, int | None]:
    """Return the parts of a URL, and its port if it has one.

    Raises ConnectError for a malformed host or port; `advice` tells users how to correct the URL.
    """
    try:
        parts = urlsplit(url)
        return parts, parts.port
    except ValueError:  # do not chain it: its message may repeat a password
        why = "its host is malformed, or its port is not within 0 and 65,535"
        raise unusable(url, why, advice=advice) from None


def unusable(url: str, why: str, *, advice: str) -> ConnectError:
    """Return the error for a URL that is not a usable address."""
    message = f"cannot use the address {shown(url)!r}: {why}"
    return ConnectError(message, recoverable=False, advice=advice)


def shown(url: str) -> str:
    """Return the URL with credentials and query replaced by `…`.

    Everything up to the last `@` counts as credentials, so that those in malformed URLs are
    replaced, too.
    """
    return _QUERY.sub("?…", _CREDENTIALS.sub("//…@", url, count=1), count=1)


def host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


_DEFAULT_PORTS = {"http": 80, "https": 443}


def origin_allowed(
    origin: str | None, *, host: str, allowed: tuple[str, ...] | None, loopback: bool
) -> bool:
    """Return whether a request with these `Origin` and `Host` headers is allowed.

    A browser lets any page open a WebSocket to, or post to, any server, so a server has to check
    the page's origin. `allowed` is `Options.origins`; `loopback` is True for requests over the
    loopback interface. A loopback request must address the server as `localhost` or by a loopback
    address. Any other name suggests DNS rebinding: a foreign DNS server made the name resolve to
    this machine.
    """
    if origin is None:
        return True
    if allowed is not None:
        return "*" in allowed or origin.lower() in map(str.lower, allowed)
    try:
        page = urlsplit(origin)
        server = urlsplit(f"{page.scheme}://{host}")
        same = page.hostname is not None and _place(page) == _place(server)
    except ValueError:
        return False
    return same and (not loopback or is_loopback(page.hostname or ""))


def names_server(host: str, *, bound: str, allowed: Collection[str] = ()) -> bool:
    """Return whether the `Host` header of a request names the server.

    The header may name the host of `bound`, the URL that the request reached, or a host in
    `allowed`; `*` allows all hosts. All names of the loopback interface are equivalent. A request
    without the header, which only HTTP/1.0 permits, is accepted.
    """
    if not host:
        return True
    try:
        name = urlsplit(f"//{host}").hostname or ""
        reached = urlsplit(bound).hostname or ""
    except ValueError:
        return False
    if "*" in allowed or name in map(str.lower, allowed) or host.lower() in allowed:
        return True
    return bool(reached) and (name == reached or (is_loopback(name) and is_loopback(reached)))


def is_loopback(host: str) -> bool:
    """Return whether a host name or address belongs to the loopback interface."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _place(url: SplitResult) -> tuple[str | None, int | None]:
    return url.hostname, url.port or _DEFAULT_PORTS.get(url.scheme)


_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_TARGET = re.compile(r"/[\x21-\x7e]*")
_WEB_FORMS: Final = (
    "Write it as http://host:port/path or ws://host:port/path; https and wss use TLS."
)
_bad_web_url = partial(unusable, advice=_WEB_FORMS)


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


def parse_web_address(url: str) -> WebAddress:
    """Return the address that `url` names.

    Raises ConnectError, with the reason, for a URL that cannot be used.
    """
    parts, port = split(url, advice=_WEB_FORMS)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise _bad_web_url(url, "it needs a scheme and a host")
    if parts.username is not None:
        raise _bad_web_url(url, "credentials belong into the option `headers`")
    if parts.fragment:
        raise _bad_web_url(url, "it has a fragment")
    address = WebAddress(
        parts.scheme,
        parts.hostname,
        _PORTS[parts.scheme] if port is None else port,
        parts.path or "/",
        parts.query,
    )
    if _TARGET.fullmatch(address.target) is None:
        raise _bad_web_url(url, "it has characters that have to be percent-encoded")
    return address


def parse_served_address(url: str) -> WebAddress:
    """Return the address to serve at. Raises ConnectError for a URL that only clients can use."""
    address = parse_web_address(url)
    if address.query:
        raise _bad_web_url(url, "a query is for clients to send")
    return address


MAX_UNIX_PATH_BYTES: Final = 107
"""Maximum path length in the kernel's structure for a Unix socket's address."""

_STREAM_FORMS: Final = "Write it as tcp://host:port, tls://host:port or unix:///path."
_bad_stream_url = partial(unusable, advice=_STREAM_FORMS)


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


def parse_stream_address(url: str) -> InetAddress | UnixAddress:
    """Return the address that `url` names.

    Raises ConnectError, with the reason, for a URL that cannot be used.
    """
    parts, port = split(url, advice=_STREAM_FORMS)
    if parts.query or parts.fragment or parts.username is not None:
        raise _bad_stream_url(url, "it has more than an address")
    match parts.scheme:
        case "unix":
            return _unix(url, parts.netloc, unquote(parts.path))
        case "tcp" | "tls" as scheme:
            if not parts.hostname or port is None:
                raise _bad_stream_url(url, "it needs a host and a port")
            if parts.path not in ("", "/"):
                raise _bad_stream_url(url, "it has more than an address")
            return InetAddress(scheme, parts.hostname, port)
        case _:
            raise _bad_stream_url(url, f"the scheme {parts.scheme!r} is unknown")


def _unix(url: str, netloc: str, path: str) -> UnixAddress:
    if netloc or not path.startswith("/") or "\0" in path:
        raise _bad_stream_url(url, "it needs an absolute path")
    if (size := len(path.encode())) > MAX_UNIX_PATH_BYTES:
        raise _bad_stream_url(
            url, f"a path of {size} bytes is over the limit of {MAX_UNIX_PATH_BYTES}"
        )
    return UnixAddress(path)
