"""Diagnosis of messages that msgspec refused: faults, and ids for the answers.

Refusing a message must be cheap. msgspec stops at the first fault. Then `diagnose` reads the
message at most once more, skips the parts that it does not need, and stops when a batch has more
items than the limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import repeat
from typing import Any, Final, TypeAlias, TypedDict

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, defstruct
from msgspec.structs import astuple

from accord.jsonrpc.protocol.errors import InvalidRequestError, own_error
from accord.jsonrpc.protocol.messages import (
    Envelope,
    Id,
    Invalid,
    WireError,
    encode,
    encode_failure,
)

Item: TypeAlias = Envelope | Invalid
"""One message of the input: decoded, or invalid."""


class _ErrorMembers(TypedDict, total=False):
    code: Raw
    message: Raw
    data: Raw


class _Array(Struct, array_like=True, gc=False):
    """A placeholder for an array; msgspec skips the items of the array."""


class _Unread(TypedDict, total=False):
    """The members that a message may have, each as raw JSON; msgspec skips all others."""

    jsonrpc: Raw
    id: Raw
    method: Raw
    params: Raw
    result: Raw
    error: Raw


class _Members(_Unread, total=False):
    """The members that a message may have, as in `_Unread`, but with `error` split into members."""

    error: _ErrorMembers | _Array | int | float | str | bool | None  # type: ignore[misc]


_Value: TypeAlias = _Members | _Array | int | float | str | bool | None

_decode_value: Callable[[bytes | Raw], Any] = msgspec.json.Decoder(_Value).decode
_decode_values = msgspec.json.Decoder(list[_Value]).decode
_decode_unread = msgspec.json.Decoder(_Unread).decode
_decode_raw = msgspec.json.Decoder(Raw).decode
_decode_raws = msgspec.json.Decoder(list[Raw]).decode
_decode_id = msgspec.json.Decoder(int | str | float | None).decode
_decode_error = msgspec.json.Decoder(WireError).decode
_decode_string = msgspec.json.Decoder(str).decode

_WINDOW: Final = 10_000
"""The greatest limit on the items of a batch for which `_window` splits the batch. Above it, the
batch is decoded to a list."""
_DETAILED: Final = 8
"""Maximum number of invalid items of a batch that are answered in detail; the others are answered
without an explanation."""
_LONGEST_VERSION: Final = 20
"""Maximum length of a JSON string that can be "2.0", even if every character is escaped."""
_MAX_NUMBER_LENGTH: Final = 4_400
"""Maximum length of a number as id that is decoded; longer ones count as out of range."""


def diagnose(data: bytes, error: Exception, max_items: int | None) -> Item | list[Item]:
    """Return the message or batch in `data`, with `Invalid` for each faulty message.

    `error` is the exception, one of `REFUSALS`, with which msgspec refused `data`.
    """
    try:
        if not isinstance(error, msgspec.ValidationError):
            raise error  # it is no JSON
        first = _first(data)
        if first == b"{":
            return _diagnose_value(_object(data), repeat(True))
        if first != b"[":
            return _diagnose_value(_value(_decode_raw(data)), repeat(True))
        values = _split(data, max_items)
    except UnicodeDecodeError as fault:
        return unreadable(f"not UTF-8 at byte {fault.start}")
    except RecursionError:
        return unreadable("nested too deep")
    except msgspec.DecodeError as fault:
        return unreadable(_syntax_fault(data, str(fault)))
    if values is None:
        assert max_items is not None
        return too_many_items(max_items)
    known = _NO_OBJECT.get
    details = repeat(True, _DETAILED)
    # Each item by itself: its neighbours' faults are not its own.
    return [known(type(value)) or _diagnose_value(value, details) for value in values]


def has_more_items(data: bytes, most: int) -> bool:
    """Return whether `data` is an array of more than `most` items.

    Reads no further than needed. Raises the exceptions of msgspec for invalid JSON.
    """
    return _first(data) == b"[" and data.count(b"{") > most and _split_raw(data, most) is None


def _first(data: bytes) -> bytes:
    """Return the first byte of a JSON value; empty if there is no value."""
    # Faster than any expression, and the further blanks that it skips are refused by msgspec.
    return data.lstrip()[:1]


# Splitting


def _split(data: bytes, most: int | None) -> list[Any] | None:
    """Return the items of a batch; None if there are more than `most`."""
    try:
        if most is not None and most <= _WINDOW:
            return _present(_window(_Value, most)(data))
        values: list[Any] = _decode_values(data)
    except msgspec.ValidationError:  # there are more, or a number among them is out of range
        raws = _split_raw(data, most)
        return None if raws is None else [_value(raw) for raw in raws]
    return values if most is None or len(values) <= most else None


def _split_raw(data: bytes, most: int | None) -> list[Raw] | None:
    """Return the items of a batch as raw JSON; None if there are more than `most`."""
    if most is None or most > _WINDOW:
        raws: list[Raw] = _decode_raws(data)
        return raws if most is None or len(raws) <= most else None
    try:
        return _present(_window(Raw, most)(data))
    except msgspec.ValidationError:
        return None


@lru_cache(maxsize=64)
def _window(kind: Any, most: int) -> Callable[[bytes], Struct]:
    """Return a decoder of arrays of up to `most` items, to a struct with a field for each.

    The decoder stops, and raises ValidationError, at the first item beyond `most`.
    """
    fields = [(f"f{index}", kind, UNSET) for index in range(most)]
    window = defstruct("Window", fields, array_like=True, forbid_unknown_fields=True, gc=False)
    return msgspec.json.Decoder(window).decode


def _present(window: Struct) -> list[Any]:
    values = list(astuple(window))
    return values[: values.index(UNSET)] if values and values[-1] is UNSET else values


def _value(raw: Raw) -> Any:
    """Return one item of a batch, decoded only as far as its diagnosis needs (`_Value`)."""
    first = memoryview(raw)[0]
    # A number that is out of range is a number too.
    return _object(raw) if first == ord("{") else _VALUES.get(first, 0)


def _object(data: bytes | Raw) -> Any:
    try:
        return _decode_value(data)
    except msgspec.ValidationError:  # the error is a number out of range
        return {**_decode_unread(data), "error": 0}


_VALUES: Final[dict[int, Any]] = {
    ord("["): _Array(),
    ord('"'): "",
    ord("t"): True,
    ord("f"): False,
    ord("n"): None,
}
"""Stand-ins for the items of a batch that are no objects, by the first byte of their JSON."""


# One item


def _diagnose_value(value: Any, details: Iterator[bool]) -> Item:
    """Return the message that the item `value` contains, or its fault.

    `details` has an element for each answer that may still explain its fault; such an answer takes
    one.
    """
    if type(value) is not dict:
        return _NO_OBJECT[value if type(value) is bool else type(value)]
    if not value:
        return _EMPTY_OBJECT
    return _diagnose_object(value, details)


def _diagnose_object(members: dict[str, Any], details: Iterator[bool]) -> Item:
    id, fault = _readable_id(members.get("id"))
    response = "method" not in members and ("result" in members or "error" in members)
    field, why = _version_fault(members.get("jsonrpc")) or ("id", fault)
    error: WireError | UnsetType = UNSET
    if not why and response and "error" in members:
        try:
            error = _read_error(members["error"])
        except msgspec.ValidationError as refused:
            field, why = "error", f"'error' is no error object: {refused}"
    method = _text(members["method"]) if "method" in members else UNSET
    if not why and method is None:
        came = json_type(members["method"])
        field, why = "method", f"'method' must be a string, got {came}"
    if why or method is None:
        if not next(details, False):
            bare = InvalidRequestError() if response else _BARE[field]
            return Invalid(bare, id, response=response)
        if response:
            return broken_response(why, id, field)
        return invalid(why, id, field=field)
    # Nothing is wrong by itself: this item of a batch is valid, or a member came twice and the
    # last, which counts, is right, or a request has an `error`, which is nobody's business.
    return Envelope(
        "2.0",
        id if "id" in members else UNSET,
        method,
        members.get("params", UNSET),
        members.get("result", UNSET) if response else UNSET,
        error,
    )


_VERSION: Final = Raw(b'"2.0"')


def _version_fault(raw: Raw | None) -> tuple[str, str] | None:
    if raw is None:
        return "jsonrpc", "'jsonrpc' is missing, must be \"2.0\""
    if raw == _VERSION:
        return None
    if memoryview(raw).nbytes <= _LONGEST_VERSION and _text(raw) == "2.0":
        return None
    return "jsonrpc", f"'jsonrpc' must be \"2.0\", got {_excerpt(raw)}"


def _read_error(members: Any) -> WireError:
    """Return the error object of a response.

    If a member is duplicated, the last one counts, as everywhere. Raises msgspec.ValidationError
    for an invalid error object.
    """
    if type(members) is not dict:
        return _decode_error(b"[]" if type(members) is _Array else encode(members))
    known = {name: members[name] for name in ("code", "message") if name in members}
    error = _decode_error(encode(known))
    error.data = members.get("data", UNSET)
    return error


def _readable_id(raw: Raw | None) -> tuple[Id, str]:
    """Return the id in `raw`, and a text that describes its fault.

    The text is empty if the id is valid. The id is None if it is missing or cannot be read.
    """
    if raw is None:
        return None, ""
    came = json_type(raw)
    if came != "a number" or memoryview(raw).nbytes <= _MAX_NUMBER_LENGTH:
        try:
            return _decode_id(raw), ""
        except msgspec.ValidationError:
            pass
    if came == "a number":
        return None, "'id' is a number out of range"
    return None, f"'id' must be a string, a number or null, got {came}"


def _text(raw: Raw) -> str | None:
    try:
        return _decode_string(raw)
    except msgspec.ValidationError:
        return None


def _excerpt(raw: Raw) -> str:
    text = bytes(memoryview(raw)[:200]).decode(errors="ignore")
    return text if len(text) <= 40 else f"{text[:40]}…"


_TYPES_BY_FIRST_BYTE: Final = {
    ord("{"): "an object",
    ord("["): "an array",
    ord('"'): "a string",
    ord("t"): "true",
    ord("f"): "false",
    ord("n"): "null",
}


def json_type(data: bytes | Raw) -> str:
    return _TYPES_BY_FIRST_BYTE.get(memoryview(data)[0], "a number")


_HALF_PAIR: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])")
_ESCAPE_BYTES: Final = 6


def _syntax_fault(data: bytes, why: str) -> str:
    """Return msgspec's message about invalid JSON, reworded where it would mislead."""
    if "truncated" not in why:
        return why
    if not data.translate(None, b" \t\n\r"):
        return "the message is empty"
    # msgspec looks for the second half of a surrogate pair even where the string ends.
    if _HALF_PAIR.search(data, max(0, len(data) - 4 * _ESCAPE_BYTES)):
        return "a \\u escape is half of a surrogate pair"
    return why


# Refusals


def unreadable(why: str, **members: Any) -> Invalid:
    return Invalid(own_error("parse_error", f"Parse error: {why}", **members))


def invalid(why: str, id: Id = None, **members: Any) -> Invalid:
    return Invalid(own_error("invalid_request", f"Invalid Request: {why}", **members), id)


def broken_response(why: str, id: Id, field: str) -> Invalid:
    error = own_error("invalid_request", f"Invalid response: {why}", field=field)
    return Invalid(error, id, response=True)


def is_id_fault(message: Invalid) -> bool:
    """Return whether a request is refused because its id is invalid."""
    data = message.error.data
    return not message.response and isinstance(data, dict) and data.get("field") == "id"


def too_many_items(most: int) -> Invalid:
    """Return the refusal of a batch that is over the limit of `most` messages."""
    what = f"the batch is over the limit of {most:,} messages: split it"
    if most == 0:
        what = "batches are turned off"
    error = own_error("invalid_request", f"Invalid Request: {what}", limit=most)
    return Invalid(error, oversized=True)


EMPTY_BATCH: Final = invalid("the batch is empty")


# Refusals that are always the same are made once, with their answers: a hostile batch is full of
# them.


def _fixed(why: str, **members: Any) -> Invalid:
    error = invalid(why, **members).error
    return Invalid(error, answer=encode_failure(None, error))


_NO_OBJECT: Final[dict[Any, Invalid]] = {
    kind: _fixed(f"a message must be an object, got {name}")
    for kind, name in (
        *((int, "a number"), (float, "a number"), (str, "a string"), (_Array, "an array")),
        *((type(None), "null"), (True, "true"), (False, "false")),
    )
}
"""The refusals of items that are no objects. The keys are the Python types of the items; for true
and false they are the values True and False."""
_EMPTY_OBJECT: Final = _fixed("'jsonrpc' is missing, must be \"2.0\"", field="jsonrpc")
"""The refusal of an object without any member of a message."""
_BARE: Final = {
    field: own_error("invalid_request", field=field) for field in ("jsonrpc", "id", "method")
}
"""Errors without an explanation, by faulty member, for the invalid items beyond `_DETAILED`."""
