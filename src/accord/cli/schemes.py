"""Which URLs a command takes, and which flags go with which of them."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from accord.cli.exits import UsageError
from accord.entry_points import names_in
from accord.transports.urls import shown

STREAMS: Final = frozenset({"stdio", "tcp", "tls", "unix"})
"""Byte streams, which need framing."""
WEB: Final = frozenset({"ws", "wss", "http", "https"})
"""What begins with an HTTP request."""
SECURE: Final = frozenset({"tls", "wss", "https"})
TCP_BASED: Final = frozenset({"tcp", "tls"}) | WEB
ALL: Final = STREAMS | WEB
_PLACE: Final = re.compile(r"[\w.-]+:\d{1,5}(/[\w./-]*)?")


def read_scheme(url: str | None) -> str:
    """The scheme of a URL that can be reached from another process. Raises `UsageError`."""
    if url is None:
        raise UsageError("a URL is missing, such as tcp://127.0.0.1:7000")
    try:
        scheme = urlsplit(url).scheme
    except ValueError:  # whose message may repeat a password
        raise UsageError(f"{shown(url)!r} is no URL") from None
    if scheme not in ALL and scheme not in names_in("accord.transports"):
        known = ", ".join(sorted(ALL))
        raise UsageError(
            f"{shown(url)!r} does not begin with a scheme that accord knows ({known})",
            advice=_with_scheme(url),
        )
    return scheme


def _with_scheme(url: str) -> str | None:
    """What to write in place of a mere HOST:PORT."""
    if not _PLACE.fullmatch(url):
        return None
    return f"begin it with one, as in tcp://{url} or http://{url}"


def check_flag(flag: str, *, given: bool, scheme: str, fits: frozenset[str]) -> None:
    """Raise `UsageError` for a flag that would be ignored."""
    if given and scheme not in fits:
        known = ", ".join(sorted(fits))
        raise UsageError(f"{flag} has no meaning for {scheme} (it is for {known})")
