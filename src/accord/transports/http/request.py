"""`WebRequest`: the head of a request, read once and handed on from listener to application.

Nothing here knows how a head arrived: `heads` reads it from bytes, `transports.asgi` from a scope.
Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import Struct

from accord.transports.http.fields import Fields

T = TypeVar("T")


class WebRequest(Struct, frozen=True, dict=True):
    """The head of a request."""

    method: str
    path: str
    """As the client asked for it, percent-decoded."""
    place: str | None
    """The same below the application's own path: "" there, with or without a slash behind it;
    None elsewhere."""
    query: str
    fields: Fields
    length: int
    """How long the body is, below zero where that is not known yet."""
    loopback: bool
    """Whether it came over the loopback interface."""
    bound: str = ""
    """Scheme, host and port of the address that it reached, as the start of a URL; empty where
    nobody knows. Behind a proxy that is not what clients use."""
    target: str = ""
    """The path as it was sent, not decoded; empty where nobody knows."""
    minor: int = 1
    """The minor version of HTTP/1: 0 or 1."""
    keep_alive: bool = True
    """Whether the client keeps the connection open."""

    def once(self, read: Callable[[WebRequest], T]) -> T:
        """Return `read(self)`, computed once.

        Listeners remember heads by their bytes, so that clients which repeat themselves have their
        credentials parsed once. `read` must be a module-level function of nothing but the head.
        """
        known: dict[Any, Any] = self.__dict__
        try:
            found: T = known[read]
        except KeyError:
            found = known[read] = read(self)
        return found


def place_below(path: str, root: str) -> str | None:
    """Return where `path` is below `root`, which has no slash at its end; None elsewhere."""
    rest = path.removeprefix(root)
    if not path.startswith(root) or (rest and rest[0] != "/"):
        return None
    return rest.removeprefix("/")
