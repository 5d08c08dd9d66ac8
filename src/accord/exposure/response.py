"""The conversion of an application's response to a call's result or error.

There is no I/O here.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from email.message import Message
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from accord.exposure.routes import Route, RouteParameter
from accord.exposure.serialization import UnspellableError, plain
from accord.jsonrpc.methods.param_values import (
    MAX_PROBLEMS,
    ParamsProblem,
    invalid_params,
    json_kind,
)
from accord.jsonrpc.protocol.codec import REFUSALS, NestingError, check_nesting, decode_json
from accord.jsonrpc.protocol.errors import RpcError, log_line, own_error

REDIRECT: Final = "server_error"
CLIENT_ERROR: Final = "validation_failed"
"""The error for a status from 400 to 499 that is not in `ERRORS`."""
SERVER_ERROR: Final = "server_error"
"""The error for a status from 500 to 599 that is not in `ERRORS`."""

ERRORS: Final[dict[int, str]] = {
    400: "invalid_params",
    401: "authentication_failed",
    403: "authorization_failed",
    404: "resource_not_found",
    405: "method_not_supported",
    406: "media_type_not_acceptable",
    408: "timeout",
    409: "resource_already_exists",
    410: "resource_not_found",
    412: "resource_version_mismatch",
    413: "content_too_large",
    414: "uri_too_long",
    415: "unsupported_media_type",
    422: "invalid_params",
    423: "resource_locked",
    429: "rate_limited",
    501: "method_not_supported",
    504: "timeout",
}


def error_name(status: int) -> str:
    """Return the catalogue's error name for an HTTP status of 300 or more."""
    if status < 400:
        return REDIRECT
    return ERRORS.get(status) or (CLIENT_ERROR if status < 500 else SERVER_ERROR)


_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_SHOULD_BE: Final = "Input should be "
_PARSING: Final = re.compile(", (?:unable to parse|got a number)")
"""The end of a validation message, which is left out: it is about the value as the application
parsed it, possibly text where the caller sent a number."""


def read_problems(
    route: Route, body: Any, arguments: Mapping[str, Any] = _NOTHING
) -> list[ParamsProblem]:
    """Return the invalid parameters listed in the body of an error response.

    The result is empty if the body has no list in FastAPI's form. `arguments` are those of the
    call; they give the type of a value, since the application sees text for a number in a path, a
    query or a header.
    """
    listed = body.get("detail") if isinstance(body, dict) else None
    if not isinstance(listed, list) or not listed or not all(map(_is_rejection, listed)):
        return []
    return [_problem(route, entry, arguments) for entry in listed[:MAX_PROBLEMS]]


def _is_rejection(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("loc"), list)
        and isinstance(entry.get("msg"), str)
    )


def _problem(route: Route, entry: dict[str, Any], arguments: Mapping[str, Any]) -> ParamsProblem:
    parameter, path, inside = _place(route, entry["loc"])
    kind, message = entry.get("type"), entry["msg"]
    members = {"type": kind} if isinstance(kind, str) else {}
    if inside[:1] == [0] and _is_single(arguments.get(parameter)):
        # The route takes a list, and was sent a list of the one value that the caller gave.
        path, inside = parameter + _path(inside[1:]), inside[1:]
    came = _came(arguments, parameter, inside)
    if kind == "missing":
        return ParamsProblem(parameter, path, "a value", came or "nothing", members=members)
    got = came or (json_kind(entry["input"]) if "input" in entry else "another value")
    if message.startswith(_SHOULD_BE):
        expected = _PARSING.split(message.removeprefix(_SHOULD_BE), maxsplit=1)[0]
        return ParamsProblem(parameter, path, expected, got, members=members)
    return ParamsProblem(parameter, path, message, got, message, members)


def _is_single(value: Any) -> bool:
    try:
        value = plain(value)
    except UnspellableError:
        return False
    return value is not None and not isinstance(value, list | dict)


def _came(arguments: Mapping[str, Any], parameter: str, steps: Iterable[Any]) -> str:
    """Return the JSON type of the value that the caller sent; empty if not found."""
    if parameter not in arguments:
        return ""
    try:
        value = plain(arguments[parameter])
    except UnspellableError:
        return ""
    for step in steps:
        is_item = isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value)
        if not is_item and not (isinstance(value, dict) and step in value):
            return ""
        value = value[step]
    return json_kind(value)


def _place(route: Route, steps: list[Any]) -> tuple[str, str, list[Any]]:
    """Return the place that FastAPI's `loc` leads to, in three forms.

    They are the parameter's name, the path from the parameter as text, and the steps of this path
    inside the parameter.
    """
    location, inside = steps[:1], steps[1:]
    for parameter in route.parameters:
        if [parameter.location] != location:
            continue
        if not parameter.wire_name:
            return parameter.name, parameter.name + _path(inside), inside
        if inside and _is_called(parameter, inside[0]):
            return parameter.name, parameter.name + _path(inside[1:]), inside[1:]
    names = [str(step) for step in steps] or ["params"]
    return names[-1], ".".join(names), []


def _is_called(parameter: RouteParameter, name: Any) -> bool:
    if parameter.location == "header":
        return parameter.wire_name.lower() == str(name).lower()
    return bool(parameter.wire_name == name)


def _path(steps: Iterable[Any]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


_NO_CONTENT: Final = frozenset({204, 205, 304})
_WRONG_VALUES: Final = frozenset({400, 422})
_MAX_HEADER: Final = 2_048
"""Maximum number of characters of a header in an error's data."""
_DETAILS: Final = ("detail", "message", "title", "error")
"""Members that may explain an error in one sentence: those of FastAPI, RFC 9457 and common ones."""

_check_json = msgspec.json.Decoder(Raw).decode


class Response(Struct, frozen=True, kw_only=True):
    """The response of an application."""

    status: int
    headers: Iterable[tuple[bytes, bytes]] = ()
    body: bytes = b""


def read_response(
    route: Route,
    response: Response,
    *,
    max_error_bytes: int,
    arguments: Mapping[str, Any] = _NOTHING,
) -> Any:
    """Return the result of a call; a JSON response becomes a `msgspec.Raw`.

    Raises `RpcError` for a redirect, for an error, and for a response that cannot be a result. The
    error contains at most `max_error_bytes` of the body. `arguments` are those of the call; errors
    about invalid values refer to them.
    """
    if not 200 <= response.status < 600:
        raise own_error(
            "internal_error", f"{route} answered {response.status}, which no answer has"
        )
    head = _Head(response.headers)
    _check_encoding(route, response, head)
    if response.status >= 300 and response.status != 304:
        raise _error(route, response, head, max_error_bytes, arguments)
    if not response.body or response.status in _NO_CONTENT:
        return None
    if head.is_json:
        return _json(route, response)
    if head.is_text:
        return _text(route, response, head)
    return _file(response, head)


class _Head:
    """The headers that decide how a response is read."""

    def __init__(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self._fields = {name.lower(): value for name, value in headers}
        self.content_type = self.get(b"content-type")
        self.media_type = self.content_type.partition(";")[0].strip().lower()

    def get(self, name: bytes) -> str:
        return self._fields.get(name, b"").decode("latin-1").strip()

    @property
    def is_json(self) -> bool:
        return self.media_type == "application/json" or self.media_type.endswith("+json")

    @property
    def is_text(self) -> bool:
        return self.media_type.startswith("text/") or "charset=" in self.content_type.lower()

    @property
    def charset(self) -> str:
        return str(_parsed(b"content-type", self.content_type).get_content_charset("utf-8"))

    @property
    def filename(self) -> str:
        """The name of the file without folders, so that it is safe to store."""
        disposition = self.get(b"content-disposition")
        if not disposition:
            return ""
        name = _parsed(b"content-disposition", disposition).get_filename("")
        return name.replace("\\", "/").rpartition("/")[2]


def _parsed(name: bytes, value: str) -> Message:
    message = Message()
    message[name.decode()] = value.replace("\r", " ").replace("\n", " ")
    return message


# Results


def _json(route: Route, response: Response) -> Raw:
    try:
        if not response.body.isascii():
            response.body.decode()
        check_nesting(response.body)
        checked = _check_json(response.body)
    except REFUSALS as error:
        what = f"is {error}" if isinstance(error, NestingError) else "is not valid"
        raise own_error(
            "internal_error",
            f"{route} answered {response.status} with JSON that {what}",
            status=response.status,
        ) from None
    if b"\n" in response.body or b"\r" in response.body:
        # Some framings have one message a line.
        return Raw(msgspec.json.format(bytes(checked), indent=-1))
    return checked


def _text(route: Route, response: Response, head: _Head) -> str:
    try:
        return response.body.decode(head.charset)
    except (LookupError, ValueError):
        raise own_error(
            "invalid_encoding",
            f"{route} answered {response.status} with text that is not in the charset it names",
            status=response.status,
            mediaType=head.media_type,
        ) from None


def _file(response: Response, head: _Head) -> dict[str, str]:
    file = {
        "mediaType": head.media_type or "application/octet-stream",
        "data": base64.b64encode(response.body).decode("ascii"),
    }
    filename = head.filename
    return {**file, "filename": filename} if filename else file


# Errors


def _check_encoding(route: Route, response: Response, head: _Head) -> None:
    coding = head.get(b"content-encoding").lower()
    if coding not in ("", "identity") and response.body:
        raise own_error(
            "invalid_encoding",
            f"{route} answered {response.status} with content encoded as {log_line(coding)}, "
            "which was not asked for",
            status=response.status,
        )


def _error(
    route: Route, response: Response, head: _Head, most: int, arguments: Mapping[str, Any]
) -> RpcError:
    status = response.status
    body = _shown_body(response, head, most)
    members = {"status": status, **body, **_hints(status, head)}
    problems = []
    if status in _WRONG_VALUES:
        problems = read_problems(route, body.get("body"), arguments)
    if problems:
        error = invalid_params(problems)
        error.data |= members
        return error
    return own_error(error_name(status), _message(route, status, head, body.get("body")), **members)


def _message(route: Route, status: int, head: _Head, body: Any) -> str:
    phrase = _phrase(status)
    if status < 400:
        return f"{route} answered {phrase}, and redirects are not followed"
    detail = log_line(_detail(body, head))
    return f"{phrase}: {detail}" if detail and detail not in phrase else phrase


def _phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _detail(body: Any, head: _Head) -> str:
    if isinstance(body, dict):
        found = (body.get(name) for name in _DETAILS)
        return next((each for each in found if isinstance(each, str) and each), "")
    return body if isinstance(body, str) and head.media_type == "text/plain" else ""


def _hints(status: int, head: _Head) -> dict[str, Any]:
    """Return the values of Location and Retry-After, for an error's data.

    They say where or when to try again.
    """
    hints: dict[str, Any] = {}
    location, later = head.get(b"location"), head.get(b"retry-after")
    if status < 400 and location:
        hints["location"] = location[:_MAX_HEADER]
    if later:
        seconds = later.isascii() and later.isdigit() and len(later) < 10
        hints["retryAfter"] = int(later) if seconds else later[:_MAX_HEADER]
    return hints


def _shown_body(response: Response, head: _Head, most: int) -> dict[str, Any]:
    """Return the body for an error's data: a value, or shortened text; no binary content."""
    body = response.body
    if not body:
        return {}
    if len(body) <= most and head.is_json:
        try:
            return {"body": decode_json(body)}
        except REFUSALS:
            pass
    if not (head.is_json or head.is_text):
        return {}
    cut = {"truncated": True} if len(body) > most else {}
    try:
        shown = body[:most].decode(head.charset, "replace")
    except (LookupError, ValueError):
        shown = body[:most].decode("latin-1")
    return {"body": shown, **cut}
