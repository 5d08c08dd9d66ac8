"""Which web pages may talk to a server, by the `Origin` header that browsers send.

A browser lets any page open a WebSocket to, or post to, any server, so a server has to look
at who is asking. Pure: strings in, a decision out.
"""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


def origin_allowed(
    origin: str | None, *, host: str, allowed: tuple[str, ...] | None, loopback: bool
) -> bool:
    """Return whether a request with these `Origin` and `Host` headers is allowed.

    A browser lets any page open a WebSocket to, or post to, any server, so a server has to check
    the page's origin. `allowed` is `Options.origins`; `loopback` is True for requests over the
    loopback interface. These must address the server as `localhost` or by a loopback address: any
    other name was made to resolve to this machine by a foreign DNS server (DNS rebinding).
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
    """Return whether `Host` names the address `bound` that a request reached, or an `allowed` host.

    `*` allows all hosts. All names of the loopback interface are equivalent. A request without the
    header, which only HTTP/1.0 permits, is accepted.
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
