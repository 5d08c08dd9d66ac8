"""Where the request that is being answered reached its endpoint, as an absolute URL. Pure.

The host in it is what the client wrote: it is taken only if it looks like one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, MutableMapping
from contextvars import ContextVar
from typing import Any, Final
from urllib.parse import quote

LONGEST_PLACE: Final = 1024
"""Characters; a longer one is left out of the document."""

# RFC 3986, section 3.2.2: a name, an IPv4 address, or an IPv6 one in brackets.
_HOST: Final = re.compile(r"(?:[A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")

current_place: Final[ContextVar[str]] = ContextVar("accord.openrpc.place", default="")
"""The place of the request being answered; empty where nobody knows."""


def place_of(scope: MutableMapping[str, Any], path: str) -> str:
    """The URL of an endpoint at `path` of the application that an ASGI scope has reached.

    It ends with a slash, behind which no framework redirects. Empty when the request names no
    host, or something that is none.
    """
    hosts = _hosts(scope["headers"])
    if len(hosts) != 1 or not _HOST.fullmatch(hosts[0]):
        return ""
    folder = quote(scope.get("root_path", "").rstrip("/") + path.rstrip("/"), safe="/~")
    place = f"{scope.get('scheme', 'http')}://{hosts[0]}{folder}/"
    return place if len(place) <= LONGEST_PLACE else ""


def _hosts(headers: Iterable[tuple[bytes, bytes]]) -> list[str]:
    return [value.decode("latin-1") for name, value in headers if name == b"host"]
