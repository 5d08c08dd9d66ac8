"""Bodies of requests: JSON, forms, multipart (RFC 7578) and raw files. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol, TypeAlias, assert_never

from msgspec.structs import replace

from accord.exposure.routes import Route, RouteParameter
from accord.exposure.serialization import (
    UnspellableError,
    encoded,
    fields,
    fields_of_object,
    from_base64,
    plain,
    text,
    utf8,
)
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.jsonrpc.protocol.messages import encode
from accord.schema.schema import Json, Schema

_MEDIA_TYPE: Final = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+(?:; ?[\w-]+=[\w.+-]+)*", re.ASCII)
_QUOTED: Final = {ord('"'): "%22", ord("\r"): "%0D", ord("\n"): "%0A", ord("\0"): "%00"}
_BASE64: Final[Json] = {"type": "string", "contentEncoding": "base64"}
_FILE_OBJECT: Final[Json] = {
    "type": "object",
    "properties": {
        "data": _BASE64,
        "filename": {"type": "string", "minLength": 1},
        "mediaType": {"type": "string"},
    },
    "required": ["data"],
    "additionalProperties": False,
}
_HOW: Final = (
    "A file: its bytes in base64, or an object with data (base64), and filename and mediaType if "
    "they matter."
)
_FILE: Final = frozenset({"data", "filename", "mediaType"})


def make_parts(parameter: RouteParameter, value: Any) -> list[bytes]:
    """Return the parts of a multipart body for one argument; none for None.

    Raises UnspellableError for a value that cannot be written as a part.
    """
    value = plain(value)
    if value is None:
        return []
    make = _file if is_file(parameter.schema) else _field
    if isinstance(value, list):
        return [make(parameter.wire_name, each) for each in value]
    return [make(parameter.wire_name, value)]


def join_parts(parts: list[bytes]) -> tuple[str, bytes]:
    """Return the content type and the content of a body with these parts."""
    boundary = _boundary(parts)
    line = b"--" + boundary.encode("ascii")
    content = b"".join(line + b"\r\n" + part + b"\r\n" for part in parts)
    return f"multipart/form-data; boundary={boundary}", content + line + b"--\r\n"


def is_file(schema: Schema) -> bool:
    """Return whether values of the schema are files, by OpenAPI 3.0 or 3.1."""
    return _says_file(schema.value)


def described(route: Route, parameter: RouteParameter) -> RouteParameter:
    """Return `parameter` with the schema that callers see.

    Where a route takes a file, callers give base64 text or an object.
    """
    schema = parameter.schema
    if parameter.location != "body":
        return parameter
    if route.body == "binary":
        return replace(
            parameter,
            schema=replace(schema, value=_BASE64),
            description=parameter.description or "The content, in base64.",
        )
    if route.body != "multipart":
        return parameter
    if not parameter.wire_name and isinstance(schema.value, dict):  # the whole form
        members = schema.value.get("properties")
        if not isinstance(members, dict):
            return parameter
        shown = {name: _with_files(each) for name, each in members.items()}
        return replace(
            parameter, schema=replace(schema, value={**schema.value, "properties": shown})
        )
    if not is_file(schema):
        return parameter
    return replace(
        parameter,
        schema=replace(schema, value=_with_files(schema.value)),
        description=parameter.description or _HOW,
    )


def _with_files(value: Json) -> Json:
    """Return a schema in which files are base64 text or objects."""
    if not isinstance(value, dict) or not _says_file(value):
        return value
    if value.get("format") == "binary" or "contentMediaType" in value:
        about = {word: value[word] for word in ("title", "description") if word in value}
        return {"anyOf": [_BASE64, _FILE_OBJECT], **about}
    shown = dict(value)
    if "items" in shown:
        shown["items"] = _with_files(shown["items"])
    for word in ("anyOf", "oneOf"):
        if isinstance(shown.get(word), list):
            shown[word] = [_with_files(each) for each in shown[word]]
    return shown


def _says_file(value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    if value.get("format") == "binary" or "contentMediaType" in value:
        return True
    inner = [value.get("items"), *value.get("anyOf", ()), *value.get("oneOf", ())]
    return any(_says_file(each) for each in inner)


def _field(name: str, value: Any) -> bytes:
    return _part(name, "", utf8(text(value)))


def _file(name: str, value: Any) -> bytes:
    if not isinstance(value, dict):
        value = {"data": value}
    elif "data" not in value or not value.keys() <= _FILE:
        raise UnspellableError("a file: base64 text, or an object of data, filename, mediaType")
    filename = value.get("filename", name)
    media_type = value.get("mediaType", "application/octet-stream")
    if not isinstance(filename, str) or not filename:
        raise UnspellableError("a filename that is text")
    if not isinstance(media_type, str) or _MEDIA_TYPE.fullmatch(media_type) is None:
        raise UnspellableError("a mediaType such as image/png")
    more = f'; filename="{filename.translate(_QUOTED)}"\r\ncontent-type: {media_type}'
    return _part(name, more, from_base64(value["data"]))


def _part(name: str, more: str, content: bytes) -> bytes:
    head = f'content-disposition: form-data; name="{name.translate(_QUOTED)}"{more}'
    return utf8(head) + b"\r\n\r\n" + content


def _boundary(parts: list[bytes]) -> str:
    """Return a boundary for a multipart body that is in none of the parts.

    It is a digest of the parts: no text can contain its own digest. The same parts always get the
    same boundary.
    """
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


Piece: TypeAlias = Any
"""The piece of a body that one argument contributes; each class that implements `Body` has its own
type of piece."""

_PRINTABLE: Final = re.compile(r"[\x20-\x7e]*")


class Body(Protocol):
    """An encoder of the request bodies of one route."""

    def piece(self, parameter: RouteParameter) -> Callable[[Any], Piece]:
        """Return the function that converts a value of the parameter to a piece.

        The function raises UnspellableError for a value that cannot be converted. Raises
        RegistrationError if the body cannot have the parameter.
        """

    def join(self, pieces: list[Piece]) -> tuple[str, bytes]:
        """Return the content type and the content of the body with these pieces.

        Both are empty if there is no body.
        """


def choose_body(route: Route) -> Body:
    """Return the encoding of a route's request bodies.

    Raises `RegistrationError` for a route whose description of the body is invalid.
    """
    if _PRINTABLE.fullmatch(route.body_media_type) is None:
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
    """A JSON body: one argument, or an object of arguments, as the caller encoded them."""

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
    """A body of URL-encoded fields."""

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
    """A multipart body; parts may be files."""

    def piece(self, parameter: RouteParameter) -> Callable[[Any], Piece]:
        return partial(make_parts, parameter)

    def join(self, pieces: list[Piece]) -> tuple[str, bytes]:
        parts = [part for piece in pieces for part in piece]
        return join_parts(parts) if parts else ("", b"")


class _WholeBody:
    """A body that consists of one argument."""

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
