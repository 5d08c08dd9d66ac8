"""Values as text of a path, a query, a form, a header and a cookie. Pure.

Strings are written unchanged; booleans are `true` and `false`; numbers are written as in JSON.
Arrays and objects follow the styles of OpenAPI; where it defines none, as for an array inside an
array, the value is JSON text. A value that cannot be written at its place is refused, never
changed.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote, unquote

import msgspec
from msgspec import Raw

from accord.exposure.routes import RouteParameter
from accord.jsonrpc.protocol.codec import REFUSALS
from accord.jsonrpc.protocol.messages import encode

_PATH_STYLES: Final = {"label": (".", ".", False), "matrix": (";", ";", True)}
"""The styles `label` and `matrix` (RFC 6570, appendix A): the first character, the separator, and
whether values are named."""
_DELIMITERS: Final = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}
_SEGMENT_ENDS: Final = re.compile(r"[/\\]")
_HEADER_VALUE: Final = re.compile(
    r"(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?"
)
_COOKIE_VALUE: Final = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*")
"""The characters of a cookie's value (RFC 6265, section 4.1.1: cookie-octet)."""


class UnspellableError(ValueError):
    """A value that cannot be written at its place; the message says which values can."""


def plain(value: Any) -> Any:
    """Convert `value` to a JSON value: None, bool, number, string, list or dict.

    Raises UnspellableError for a `Raw` that cannot be decoded.
    """
    if not isinstance(value, Raw):
        return msgspec.to_builtins(value, str_keys=True)
    try:
        return msgspec.json.decode(value)
    except REFUSALS as error:
        raise UnspellableError(f"what can be decoded ({error})") from None


def text(value: Any) -> str:
    """Return a value as text: a string unchanged, any other value as JSON."""
    value = plain(value)
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    try:
        return encode(value).decode()
    except UnicodeEncodeError:
        raise UnspellableError("text without lone surrogates") from None


def encoded(shown: str) -> str:
    """Percent-encode text, except for letters, digits and `-._~`.

    Raises UnspellableError for text with lone surrogates.
    """
    try:
        return quote(shown, "")
    except UnicodeEncodeError:
        raise UnspellableError("text without lone surrogates") from None


# Paths


def segment(parameter: RouteParameter, value: Any) -> tuple[str, str]:
    """Return `value` as text for a path, in two forms: decoded, and percent-encoded.

    Raises UnspellableError for values that would lead to another path: an empty value, a slash
    where none is allowed, and the segments `.` and `..`, escaped or not.
    """
    value = plain(value)
    shown = "" if value is None else _in_path(parameter, value, str)
    if shown.isalnum() and shown.isascii():
        return shown, shown
    if not shown:
        raise UnspellableError("a value that is not empty")
    if not parameter.slashes and "/" in shown:
        raise UnspellableError("a value without '/'")
    for part in _SEGMENT_ENDS.split(unquote(shown)):
        if part in (".", ".."):
            raise UnspellableError("a value without the path segments '.' and '..'")
    return shown, _in_path(parameter, value, _with_slashes if parameter.slashes else encoded)


def _in_path(parameter: RouteParameter, value: Any, spell: Callable[[str], str]) -> str:
    first, between, named = _PATH_STYLES.get(parameter.style, ("", ",", False))
    if isinstance(value, list) and parameter.style != "json":
        parts = [spell(text(item)) for item in value]
    elif isinstance(value, dict) and parameter.style != "json":
        pairs = [(spell(name), spell(text(item))) for name, item in value.items()]
        if parameter.explode:
            return first + between.join(f"{name}={item}" for name, item in pairs)
        parts = [part for pair in pairs for part in pair]
    else:
        parts = [spell(text(value))]
    if not parameter.explode:
        parts = [",".join(parts)]
    if named:
        parts = [f"{spell(parameter.wire_name)}={part}" for part in parts]
    return first + between.join(parts)


def _with_slashes(shown: str) -> str:
    return encoded(shown).replace("%2F", "/")


# Queries and forms


def fields(parameter: RouteParameter, key: str, value: Any) -> list[str]:
    """Return the `key=value` fields of a query or a form, percent-encoded; none for None.

    `key` is encoded already. Raises UnspellableError for a value that cannot be written.
    """
    value = plain(value)
    if value is None:
        return []
    if parameter.style == "json":
        return [f"{key}={encoded(_json(value))}"]
    if isinstance(value, list):
        return _array(parameter, key, [encoded(text(item)) for item in value])
    if isinstance(value, dict):
        pairs = [(encoded(name), encoded(text(item))) for name, item in value.items()]
        return _object(parameter, key, pairs)
    return [f"{key}={encoded(text(value))}"]


def fields_of_object(parameter: RouteParameter, value: Any) -> list[str]:
    """Return the fields of an argument that is a whole query or form.

    Raises UnspellableError for a value that is not an object, or cannot be written.
    """
    value = plain(value)
    if value is None:
        return []
    if not isinstance(value, dict):
        raise UnspellableError("object")
    return [
        field for name, each in value.items() for field in fields(parameter, encoded(name), each)
    ]


def _array(parameter: RouteParameter, key: str, items: list[str]) -> list[str]:
    if parameter.explode or parameter.style == "deepObject":
        return [f"{key}={item}" for item in items]
    return [f"{key}={_DELIMITERS.get(parameter.style, ',').join(items)}"]


def _object(parameter: RouteParameter, key: str, pairs: list[tuple[str, str]]) -> list[str]:
    if parameter.style == "deepObject":
        return [f"{key}%5B{name}%5D={item}" for name, item in pairs]
    if parameter.explode:
        return [f"{name}={item}" for name, item in pairs]
    delimiter = _DELIMITERS.get(parameter.style, ",")
    return [f"{key}={delimiter.join(part for pair in pairs for part in pair)}"]


# Headers and cookies


def header_values(parameter: RouteParameter, value: Any) -> list[bytes]:
    """Return the values of a header's lines; none for None.

    There is one line, or one per item of an exploded array. Raises UnspellableError for a value
    that a header cannot have.
    """
    value = plain(value)
    if value is None:
        return []
    if parameter.style == "json":
        return [header_value(_json(value))]
    if isinstance(value, dict):
        between = "=" if parameter.explode else ","
        value = [f"{name}{between}{text(item)}" for name, item in value.items()]
    elif isinstance(value, list):
        value = [text(item) for item in value]
        if parameter.explode:
            return [header_value(item) for item in value]
    else:
        value = [text(value)]
    return [header_value(",".join(value))]


def header_value(shown: str) -> bytes:
    """Return the bytes of one header line.

    Raises UnspellableError for text that a header cannot have.
    """
    if _HEADER_VALUE.fullmatch(shown) is None:
        raise UnspellableError("what a header carries: Latin-1 on one line, no space around it")
    return shown.encode("latin-1")


def cookie_value(value: Any) -> str | None:
    """Return `value` as the text of a cookie; None for None.

    Raises UnspellableError for a value that a cookie cannot have.
    """
    value = plain(value)
    if value is None:
        return None
    shown = text(value)
    if _COOKIE_VALUE.fullmatch(shown) is None:
        raise UnspellableError("what a cookie carries: ASCII without spaces and '\",;\\'")
    return shown


def from_base64(value: Any) -> bytes:
    """Return the bytes of base64 text.

    Raises UnspellableError for anything that is not base64 text.
    """
    try:
        return binascii.a2b_base64(plain(value), strict_mode=True)
    except (TypeError, ValueError):
        raise UnspellableError("base64 text") from None


def utf8(shown: str) -> bytes:
    """Return text encoded as UTF-8.

    Raises UnspellableError for text with lone surrogates.
    """
    try:
        return shown.encode()
    except UnicodeEncodeError:
        raise UnspellableError("text without lone surrogates") from None
