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
    """Whether a request with these `Origin` and `Host` headers is let in.

    `allowed` is `Options.origins`; `loopback` says whether the request came over the loopback
    interface. There the server's own host must be called `localhost` or a loopback address:
    any other name was pointed at this machine by somebody else's DNS server (DNS rebinding).
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
    """Whether the header `Host` names the address `bound` that a request reached, or a host that is
    `allowed` besides; `*` allows all.

    Any name of the loopback interface names all of it. A request without the header, which only
    HTTP/1.0 allows, names whatever it reached.
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
    """Whether a host name or address is this machine talking to itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _place(url: SplitResult) -> tuple[str | None, int | None]:
    return url.hostname, url.port or _DEFAULT_PORTS.get(url.scheme)
