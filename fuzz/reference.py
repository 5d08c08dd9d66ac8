"""JSON-RPC 2.0 read for clarity alone, from the plain values of Python's `json`.

What the codec is compared with. Shares no line with it, and knows no speed.
"""

from __future__ import annotations

import json
from typing import Any, Final, TypeAlias

from msgspec import UNSET

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
_MOST_DIGITS: Final = 4000
"""Python reads numbers of up to 4,300 digits; near that the two may differ."""

Verdict: TypeAlias = tuple[Any, ...]
"""What was read: the kind of message, its id and the id's type where it has one, and the rest."""


def read(data: bytes, max_depth: int) -> Verdict | list[Verdict]:
    """What the message or batch in `data` is."""
    try:
        text = data.decode()
        value = load(text)
    except (ValueError, RecursionError):
        return _invalid(PARSE_ERROR)
    if _depth(text, max_depth) > max_depth or _has_lone_surrogate(data):
        return _invalid(PARSE_ERROR)
    if not isinstance(value, list):
        return _read_message(value)
    return [_read_message(item) for item in value] or _invalid(INVALID_REQUEST)


def load(text: str) -> Any:
    """Strict JSON. Raises ValueError and RecursionError."""
    return _decoder.decode(text)


def typed(id: Any) -> tuple[str, Any]:
    """An id that is equal only to those of its type: Python takes 1, 1.0 and True for equal."""
    return type(id).__name__, id


class _Huge:
    """A number that Python would not read, kept as it stands."""

    def __init__(self, digits: str) -> None:
        self.digits = digits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Huge) and self.digits == other.digits

    __hash__ = None  # type: ignore[assignment]


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _read_integer(digits: str) -> Any:
    return int(digits) if len(digits) < _MOST_DIGITS else _Huge(digits)


_decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_read_integer)


def _has_lone_surrogate(data: bytes) -> bool:
    """Whether an escape stands for half a character: JSON allows it, UTF-8 cannot say it."""
    if b"\\u" not in data:
        return False
    try:
        json.dumps(json.loads(data, object_pairs_hook=list), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _depth(text: str, most: int) -> int:
    """How deep it nests; 0 where it cannot be more than `most`."""
    if text.count("[") + text.count("{") <= most:
        return 0
    deepest = depth = 0
    quoted = escaped = False
    for character in text:
        if quoted:
            quoted = escaped or character != '"'
            escaped = not escaped and character == "\\"
        elif character == '"':
            quoted = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def _invalid(code: int, id: Any = None, *, response: bool = False) -> Verdict:
    return "invalid", typed(id), code, response


def _read_message(value: Any) -> Verdict:
    if not isinstance(value, dict):
        return _invalid(INVALID_REQUEST)
    response = "method" not in value and ("result" in value or "error" in value)
    id = value.get("id")
    if not _is_id(id):
        return _invalid(INVALID_REQUEST, response=response)
    if value.get("jsonrpc") != "2.0":
        return _invalid(INVALID_REQUEST, id, response=response)
    return _read_response(value, id) if response else _read_request(value, id)


def _read_request(value: dict[str, Any], id: Any) -> Verdict:
    method, params = value.get("method"), value.get("params")
    if not isinstance(method, str) or not method:
        return _invalid(INVALID_REQUEST, id)
    if not isinstance(params, list | dict | None):
        return _invalid(INVALID_REQUEST, id)
    given = UNSET if params is None else params
    if "id" in value:
        return "request", typed(id), method, given
    return "notification", method, given


def _read_response(value: dict[str, Any], id: Any) -> Verdict:
    error = value.get("error", UNSET)
    if "id" not in value:
        return _invalid(INVALID_REQUEST, response=True)
    if error is UNSET:
        return "success", typed(id), value["result"]
    if "result" in value or not _is_error(error):
        return _invalid(INVALID_REQUEST, id, response=True)
    return "failure", typed(id), error["code"], error["message"], error.get("data", UNSET)


def _is_id(id: Any) -> bool:
    if isinstance(id, float):
        return abs(id) != float("inf")
    return id is None or (isinstance(id, int | str) and not isinstance(id, bool))


def _is_error(error: Any) -> bool:
    return (
        isinstance(error, dict)
        and type(error.get("code")) is int
        and isinstance(error.get("message"), str)
    )
