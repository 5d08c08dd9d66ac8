"""Credentials of a request: a bearer token or a cookie, and the client's address. Pure.

Browsers send cookies on their own, also with requests that other sites cause. A request that
changes something and comes with a cookie must therefore repeat, in a header that only our own pages
can set, a token of the session (CSRF).

`X-Forwarded-For` can be written by anybody. It is trusted as far as trusted proxies wrote it: from
its end, up to the first address that is not one of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from msgspec import Struct

from accord.operations.context import Face

MAX_HOPS: Final = 16


class Addresses:
    """The trusted proxies of one installation, and the client addresses behind them.

    Raises ValueError for text that is no network.
    """

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        self._trusted = [ip_network(each, strict=False) for each in trusted]
        self.has_proxies = bool(self._trusted)
        """True if the headers of some proxies are believed."""

    def client(self, peer: str, fields: Mapping[str, str]) -> str:
        """Return the address of the client that sent a request.

        `peer` is the other end of the connection, with or without its port. Returns an empty string
        if the peer has no address, as with a Unix socket.
        """
        known = _parsed(peer)
        if known is None:
            return ""
        address, text = known
        if not self._is_trusted(address):
            return text
        for hop in reversed(fields.get("x-forwarded-for", "").split(",")[-MAX_HOPS:]):
            behind = _parsed(hop.strip())
            if behind is None:
                break
            address, text = behind
            if not self._is_trusted(address):
                break
        return text

    def is_secure(self, peer: str, scheme: str, fields: Mapping[str, str]) -> bool:
        """Return True if the client used https, to us or to a trusted proxy."""
        if scheme == "https":
            return True
        known = _parsed(peer)
        if known is None or not self._is_trusted(known[0]):
            return False
        return fields.get("x-forwarded-proto", "").strip().lower() == "https"

    def _is_trusted(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self._trusted)


def _parsed(text: str) -> tuple[IPv4Address | IPv6Address, str] | None:
    """Parse `1.2.3.4`, `1.2.3.4:80`, `::1` or `[::1]:80`; return address and text."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    return _address(text)


@lru_cache(1024)
def _address(text: str) -> tuple[IPv4Address | IPv6Address, str] | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    address = mapped or address
    return address, str(address)


COOKIE: Final = "accord_session"
SECURE_COOKIE: Final = "__Host-accord_session"
"""The name over https: no other host, and nobody without https, can set such a cookie."""
CSRF_HEADER: Final = "x-csrf-token"

SESSION_DAYS: Final = 30
"""Maximum lifetime of a login session."""
SESSION_SECONDS: Final = SESSION_DAYS * 24 * 60 * 60

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_TOKEN: Final = 256
"""Longer texts cannot be tokens, and are not examined."""

_BEARER: Final = re.compile(r"bearer +([!-~]+)", re.IGNORECASE)


class Credentials(Struct, frozen=True, kw_only=True):
    """The credentials presented by a request, and where it came from."""

    bearer: str = ""
    cookie: str = ""
    """The session token in a cookie; used if there is no bearer token."""
    csrf: str = ""
    safe: bool = False
    """True for a request with a safe method."""
    secure: bool = False
    """True for a request that came by https."""
    face: Face = "rest"
    client: str = ""
    """The name of the client program, as it calls itself."""
    address: str = ""
    correlation_id: str = ""
    traceparent: str = ""
    """The span that the request belongs to, if its client says one."""

    def __repr__(self) -> str:
        presented = [name for name in ("bearer", "cookie", "csrf") if getattr(self, name)]
        return f"Credentials({', '.join(presented)})"

    @property
    def token(self) -> str:
        return self.bearer or self.cookie

    @property
    def by_cookie(self) -> bool:
        return not self.bearer and bool(self.cookie)


def credentials_in(method: str, fields: Mapping[str, str], *, secure: bool = False) -> Credentials:
    """Read the credentials from header fields with lower-case names.

    `secure` is True for https, also if only a proxy in front of us speaks it.
    """
    return Credentials(
        bearer=bearer_in(fields),
        cookie=_cookie(fields.get("cookie", ""), SECURE_COOKIE if secure else COOKIE),
        csrf=fields.get(CSRF_HEADER, "")[:MAX_TOKEN],
        safe=method in SAFE_METHODS,
    )


def bearer_in(fields: Mapping[str, str]) -> str:
    """Read the bearer token; any other `Authorization` counts as a token, valid or not.

    It must not fall back to the cookie: the client meant to use it.
    """
    authorization = fields.get("authorization", "")
    found = _BEARER.fullmatch(authorization)
    return found[1][: MAX_TOKEN + 1] if found else authorization[:MAX_TOKEN]


def bearer(token: str) -> Credentials:
    """Return credentials with a bearer token only."""
    return Credentials(bearer=token[: MAX_TOKEN + 1])


def session_cookie(token: str, *, secure: bool, max_age: int) -> str:
    """Return the value of `Set-Cookie` for a new session."""
    name = SECURE_COOKIE if secure else COOKIE
    end = "; Secure" if secure else ""
    return f"{name}={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age={max_age}{end}"


def expired_cookie(*, secure: bool) -> str:
    """Return the value of `Set-Cookie` that removes the session cookie."""
    return session_cookie("", secure=secure, max_age=0)


def _cookie(header: str, name: str) -> str:
    """Return the first cookie of this name (RFC 6265, section 4.2.1)."""
    for pair in header.split(";")[:100]:
        key, equals, value = pair.strip(" \t").partition("=")
        if equals and key == name:
            return value.strip('"')[: MAX_TOKEN + 1]
    return ""
