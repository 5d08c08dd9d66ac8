"""The types of ASGI 3.0, the reading of a request's scope and body. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from functools import lru_cache
from typing import Any, TypeAlias

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.transports.http.heads import (
    Fields,
    WebRequest,
    check_fields,
    content_length,
)
from accord.transports.options import Reservation
from accord.transports.urls import host_and_port, is_loopback

Scope: TypeAlias = MutableMapping[str, Any]
Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


def place_of(scope: Scope, path: str) -> str | None:
    """Return the path of a request relative to an endpoint at `path`.

    Returns "" for the endpoint itself, with or without a slash after it, and None for a path that
    is not below the endpoint. `path` is relative to the ASGI application, and has no slash at its
    end.
    """
    here = _without(scope["path"], scope.get("root_path", "").rstrip("/"))
    # ASGI, HTTP scope: the path includes root_path. Before servers and frameworks agreed on
    # that some took root_path off, so that it may be missing.
    below = _without(scope["path"] if here is None else here, path)
    return None if below is None else below.removeprefix("/")


def request_in(scope: Scope, place: str | None) -> WebRequest:
    """Return the head of the request that `scope` describes.

    Raises MalformedError for an invalid content-length, or for a repeated field that may occur only
    once.
    """
    fields = check_fields(scope["headers"])
    length = fields.get("content-length")
    return WebRequest(
        # A WebSocket is opened by a GET (RFC 6455, section 4.1), of which ASGI does not speak.
        scope.get("method", "GET"),
        scope["path"],
        place,
        scope.get("query_string", b"").decode("latin-1"),
        fields,
        -1 if length is None else content_length(length),
        _is_loopback(client_of(scope)[0]),
        bound_of(scope),
    )


def channel_info(scope: Scope) -> ChannelInfo:
    """Return the channel info of the client of a request or a WebSocket."""
    host, port = client_of(scope)
    if scope["type"] != "websocket":
        return _requesting(scope.get("scheme", "http"), host, port)
    return ChannelInfo(
        scheme=scope.get("scheme", "ws"),
        address=host_and_port(host, port) if host else "",
        details={"headers": Fields(scope["headers"])},
    )


_is_loopback = lru_cache(maxsize=1_024)(is_loopback)


@lru_cache(maxsize=1_024)
def _requesting(scheme: str, host: str, port: int) -> ChannelInfo:
    """Return the channel info of a client that sends HTTP requests."""
    address = host_and_port(host, port) if host else ""
    return ChannelInfo(scheme=scheme, address=address, duplex=False)


def client_of(scope: Scope) -> tuple[str, int]:
    """Return host and port of the client; an empty host if unknown, as over a Unix socket."""
    host, port = scope.get("client") or ("", 0)
    return host, port or 0


def bound_of(scope: Scope) -> str:
    """Return the URL of the server that a request reached: scheme, host and port.

    It is empty if the address is unknown, as over a Unix socket.
    """
    host, port = scope.get("server") or ("", None)
    if not host or port is None:
        return ""
    return f"{scope.get('scheme', 'http')}://{host_and_port(host, port)}"


def _without(path: str, prefix: str) -> str | None:
    """Return `path` without `prefix`; None if it is neither `prefix` nor a path below it."""
    rest = path.removeprefix(prefix)
    return rest if path.startswith(prefix) and (not rest or rest[0] == "/") else None


class BodyTooLargeError(Exception):
    """A body exceeds the limit; the rest of it was not read."""


class NoMemoryError(Exception):
    """The memory budget is used up; the rest of a body was not read."""


class ClientGoneError(Exception):
    """The client disconnected: an answer would reach nobody."""


async def read_body(
    receive: Receive, most: int | None, reservation: Reservation, first: Event | None = None
) -> bytes:
    """Return the body of a request, whose `first` event may have arrived already.

    Raises BodyTooLargeError for more than `most` bytes, NoMemoryError if the budget of
    `reservation` is used up, ClientGoneError if the client disconnects.
    """
    event = await receive() if first is None else first
    body: bytes = event.get("body", b"")
    if event.get("more_body"):
        parts = [body]
        size = len(body)
        while event.get("more_body") and (most is None or size <= most):
            if not reservation.resize(size):
                raise NoMemoryError
            event = await receive()
            parts.append(event.get("body", b""))
            size += len(parts[-1])
        body = b"".join(parts)
    if event["type"] == "http.disconnect":
        raise ClientGoneError
    if most is not None and len(body) > most:
        raise BodyTooLargeError
    return body
