"""Which URLs are used, and for what. Pure.

Everything of OAuth goes over TLS, but for a server on this very machine: then what belongs to
it may be here too. A server elsewhere cannot make a client ask this machine.
"""

from __future__ import annotations

import re

from accord.jsonrpc.errors import ConnectError
from accord.mcp.client.auth.errors import UntrustedError
from accord.transports.origins import is_loopback
from accord.transports.urls import shown
from accord.transports.web_address import WebAddress, parse

Origin = tuple[str, str, int]

_URL = re.compile(r"[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]{1,2000}")
"""The characters of RFC 3986 without fragments, at most 2,000."""


def origin_of(address: WebAddress) -> Origin:
    return address.scheme, address.host, address.port


def base_of(address: WebAddress) -> str:
    """Return the URL without path, query and trailing slash."""
    return f"{address.scheme}://{address.authority}"


def is_local(address: WebAddress) -> bool:
    # Names below `localhost` may be resolved by DNS, so they do not count as local.
    return is_loopback(address.host) and not address.host.endswith(".localhost")


def trusted(url: str, what: str, *, local: bool) -> WebAddress:
    """Return the address of an https URL, or of a local http URL if `local`.

    Raises UntrustedError. Accepted URLs may be opened in a browser.
    """
    try:
        address = parse(url if _URL.fullmatch(url) else "")
    except ConnectError as error:
        raise UntrustedError(f"{what} is not a usable URL: {_short(url)!r}") from error
    # 2026-07-28, security considerations: endpoints of authorization servers use HTTPS.
    if address.scheme == "https" and (local or not is_local(address)):
        return address
    if address.scheme == "http" and local and is_local(address):
        return address
    where = "" if local else ", and not on this machine"
    raise UntrustedError(f"{what} must be an https URL{where}: {_short(url)!r}")


def covers(resource: str, server: str) -> bool:
    """Return whether `server` is the protected resource, or below it.

    RFC 9728, section 3.3, requires the two to be identical. In practice the resource is often the
    origin or a parent path, which grants no more than the server could request itself.
    """
    try:
        whole, part = parse(resource), parse(server)
    except ConnectError:
        return False
    if origin_of(whole) != origin_of(part):
        return False
    if whole.query:
        return (whole.path, whole.query) == (part.path, part.query)
    folder = whole.path.rstrip("/")
    return part.path == folder or part.path.startswith(f"{folder}/")


def _short(url: str) -> str:
    return shown(url[:200])
