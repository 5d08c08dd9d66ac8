"""How the body of a request is written: one class for each form that a body has. Pure.

Each gives, for a parameter of the body, the function that makes a piece of its value, and puts
the pieces of one call together.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, assert_never

from accord.exposure.multipart import join_parts, make_parts
from accord.exposure.route import Route, RouteParameter
from accord.exposure.spelling import (
    UnspellableError,
    encoded,
    fields,
    fields_of_object,
    from_base64,
    plain,
    utf8,
)
from accord.jsonrpc.codec import encode
from accord.jsonrpc.errors import RegistrationError

Piece: TypeAlias = Any
"""What one argument adds to a body; each form has its own kind."""

_MEDIA_TYPE: Final = re.compile(r"[\x20-\x7e]*")


class Body(Protocol):
    """One form of body."""

    def piece(self, parameter: RouteParameter) -> Callable[[Any], Piece]:
        """What makes a piece of a value. It raises UnspellableError, this RegistrationError."""

    def join(self, pieces: list[Piece]) -> tuple[str, bytes]:
        """The content type and the content; both empty where there is no body."""


def choose_body(route: Route) -> Body:
    """The body that the requests of a route have. Raises `RegistrationError`."""
    if _MEDIA_TYPE.fullmatch(route.body_media_type) is None:
        raise RegistrationError(f"{route} has no media type in {route.body_media_type!r}")
    match route.body:
        case "none":
            return _NoBody(route)
        case "json":
            return _JsonBody(route)
        case "form":
            return _FormBody(route)
        case "multipart":
            return _MultipartBody()
        case "text":
            text = route.body_media_type.partition(";")[0] or "text/plain"
            return _WholeBody(f"{text}; charset=utf-8", _from_text)
        case "binary":
            return _WholeBody(route.body_media_type or "application/octet-stream", from_base64)
        case never:
            assert_never(never)


class _NoBody:
    def __init__(self, route: Route) -> None:
        self._route = route

    def piece(self, parameter: RouteParameter) -> Callable[[Any], Piece]:
        raise RegistrationError(
            f"{self._route} has no body, and parameter '{parameter.name}' is in it"
        )

    def join(self, pieces: list[Piece]) -> tuple[str, bytes]:
        return "", b""


class _JsonBody:
    """The members are spliced as they came, or the whole body is."""

    def __init__(self, route: Route) -> None:
        body = [each for each in route.parameters if each.location == "body"]
        self._whole = any(not each.wire_name for each in body)
        if self._whole and len(body) > 1:
            raise RegistrationError(f"{route} has a parameter for the whole body and others in it")
        self._content_type = route.body_media_type or "application/json"
        # A body that is required is there even if nothing in it is.
        self._empty = (self._content_type, b"{}") if route.body_required and body else ("", b"")

    def piece(self, parameter: RouteParameter) -> Callable[[Any], Piece]:
        name = parameter.wire_name
        return lambda value: (name, value)

    def join(self, pieces: list[Piece]) -> tuple[str, bytes]:
        if not pieces:
            return self._empty
        return self._content_type, encode(pieces[0][1] if self._whole else dict(pieces))


class _FormBody:
    """URL-encoded fields."""

    def __init__(self, route: Route) -> None:
        self._empty = (_FORM, b"") if route.body_required else ("", b"")

    def piece(self, parameter: RouteParameter) -> Callable[[Any], Piece]:
        if not parameter.wire_name:
            return partial(fields_of_object, parameter)
        return partial(fields, parameter, encoded(parameter.wire_name))

    def join(self, pieces: list[Piece]) -> tuple[str, bytes]:
        content = "&".join(field for piece in pieces for field in piece)
        return (_FORM, content.encode("ascii")) if content else self._empty


_FORM = "application/x-www-form-urlencoded"


class _MultipartBody:
    """Parts, of which some are files."""

    def piece(self, parameter: RouteParameter) -> Callable[[Any], Piece]:
        return partial(make_parts, parameter)

    def join(self, pieces: list[Piece]) -> tuple[str, bytes]:
        parts = [part for piece in pieces for part in piece]
        return join_parts(parts) if parts else ("", b"")


class _WholeBody:
    """One argument that is the body."""

    def __init__(self, content_type: str, content: Callable[[Any], bytes]) -> None:
        self._content_type = content_type
        self._content = content

    def piece(self, parameter: RouteParameter) -> Callable[[Any], Piece]:
        return self._content

    def join(self, pieces: list[Piece]) -> tuple[str, bytes]:
        content = b"".join(pieces)
        return (self._content_type, content) if pieces else ("", b"")


def _from_text(value: Any) -> bytes:
    value = plain(value)
    if not isinstance(value, str):
        raise UnspellableError("str")
    return utf8(value)
