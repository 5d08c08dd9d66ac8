"""Conversion between bytes and messages of JSON-RPC 2.0, without any connection.

Nesting depth is measured on the brackets before anything is decoded. Pure.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import accumulate
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from accord.jsonrpc.protocol.diagnosis import (
    EMPTY_BATCH as EMPTY_BATCH,
    Item as Item,
    broken_response,
    diagnose as diagnose,
    has_more_items,
    invalid,
    is_id_fault as is_id_fault,
    json_type,
    too_many_items as too_many_items,
    unreadable,
)
from accord.jsonrpc.protocol.messages import (
    Batch,
    Envelope as Envelope,
    ErrorObject,
    Failure,
    Id,
    Invalid,
    Message,
    Notification,
    Request,
    Success,
    encode as encode,
    encode_failure as encode_failure,
)

_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_NO_STRUCTURE: Final = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_STEPS: Final = bytes.maketrans(b"[]", b"\x01\xff")
_PROBE: Final = 4_096
_CHUNK: Final = 64
_SHORT: Final = 4_096


def is_bracketed(data: bytes, max_depth: int) -> bool:
    """Return whether `data` has enough opening brackets to nest deeper than `max_depth`."""
    # The test below would be cheaper for long messages too. But then serving them would be so cheap
    # that refusing some would cost more than twice as much.
    if len(data) > _SHORT:
        return data.count(b"{") + data.count(b"[") > max_depth
    has_arrays = data.find(b"[") >= 0
    # A level of objects takes five bytes at least: {"":}
    if not has_arrays and len(data) <= 5 * max_depth:
        return False
    # Removing a few brackets costs a quarter of counting them, as it finds each with memchr.
    plain = data.replace(b"{", b"", max_depth + 1)
    if has_arrays:
        plain = plain.replace(b"[", b"", max_depth + 1)
    return len(data) - len(plain) > max_depth


def is_deeper(data: bytes, max_depth: int) -> bool:
    """Return True if arrays and objects nest deeper than `max_depth`.

    `data` need not be valid JSON. Only operations on whole buffers are used, because a loop over
    the bytes would take longer than decoding them.
    """
    if len(data) > _PROBE and is_deeper(data[:_PROBE], max_depth):
        return True
    brackets = _brackets(data)
    # Wide and flat is the usual shape: remove the innermost pairs, level by level. Each deepest
    # bracket has its closing bracket next to it, so every pass lowers the depth by one.
    for _ in range(2):
        if brackets.count(b"[") <= max_depth:
            return False
        brackets = (brackets + b"]").replace(b"[]", b"")
        max_depth -= 1
    if max_depth < 0:
        return True
    depth = 0
    for start in range(0, len(brackets), _CHUNK):
        opened = brackets.count(b"[", start, start + _CHUNK)
        if depth + opened > max_depth:  # the chunk may go too deep: count step by step
            steps = array("b", brackets[start : start + _CHUNK].translate(_STEPS))
            if max(accumulate(steps, initial=depth)) > max_depth:
                return True
        depth += 2 * opened - min(_CHUNK, len(brackets) - start)
    return False


def _brackets(data: bytes) -> bytes:
    """Return the brackets outside of strings in `data`; braces become square brackets."""
    if b'"' in data:
        if b"\\" in data:
            data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
        # Without non-structural bytes most strings are empty, and are removed.
        data = data.translate(_BRACKETS, _NO_STRUCTURE).replace(b'""', b"")
        return b"".join(data.split(b'"')[::2]) if b'"' in data else data
    return data.translate(_BRACKETS, _NO_BRACKETS)


DEFAULT_MAX_DEPTH: Final = 128
DEFAULT_MAX_ITEMS: Final = 1_000

decode_envelope: Callable[[bytes], Envelope | list[Envelope]] = msgspec.json.Decoder(
    Envelope | list[Envelope]
).decode
"""Decodes a message or batch to envelopes without the checks of `read` for UTF-8, nesting and
number of items: only for ASCII input that cannot be too deep. Raises `REFUSALS` for invalid
input."""

REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""All exceptions that msgspec raises for invalid input (ValidationError is a DecodeError)."""


def read(
    data: bytes,
    max_depth: int = DEFAULT_MAX_DEPTH,
    max_items: int | None = DEFAULT_MAX_ITEMS,
) -> Item | list[Item] | list[Envelope]:
    """Decode `data` to envelopes. Never raises: invalid input becomes `Invalid`.

    A batch of more than `max_items` messages becomes one `Invalid`, and its rest is not read.
    Batches of few bytes are not counted before decoding, so the caller may get a batch over the
    limit.
    """
    try:
        if not data.isascii():
            data.decode()  # msgspec does not look into raw slices: check UTF-8 here
        if len(data) > 2 * max_depth:
            if is_bracketed(data, max_depth) and is_deeper(data, max_depth):
                return unreadable(f"nested deeper than {max_depth} levels", max_depth=max_depth)
            # That many items take at least three bytes each, including the comma.
            if (
                max_items is not None
                and len(data) > 3 * max_items
                and has_more_items(data, max_items)
            ):
                return too_many_items(max_items)
        return decode_envelope(data)
    except REFUSALS as error:
        return diagnose(data, error, max_items)


def decode(
    data: bytes,
    max_depth: int = DEFAULT_MAX_DEPTH,
    max_items: int | None = DEFAULT_MAX_ITEMS,
) -> Message | Batch:
    """Decode `data` to messages, where `read` decodes only to envelopes.

    Invalid input becomes `Invalid`. `max_items` is None for no limit, as for batches that this end
    has encoded itself.
    """
    what = read(data, max_depth, max_items)
    if isinstance(what, list):
        if max_items is not None and len(what) > max_items:
            return too_many_items(max_items)
        # JSON-RPC 2.0, section 6: an empty array is one Invalid Request.
        return [item if type(item) is Invalid else sort(item) for item in what] or EMPTY_BATCH
    return sort(what)


def sort(what: Item) -> Message:
    """Classify an envelope: return the request, notification or response in it.

    An envelope that is no valid message becomes `Invalid`, and `Invalid` is returned unchanged.
    """
    if not isinstance(what, Envelope):
        return what
    if what.method is not UNSET:
        return _sort_request(what.method, what)
    if what.result is UNSET and what.error is UNSET:
        return invalid("'method' is missing", _known(what.id), field="method")
    return _sort_response(what)


def _sort_request(method: str, envelope: Envelope) -> Message:
    if not method:  # an empty name is treated as missing
        return invalid("'method' must not be empty", _known(envelope.id), field="method")
    params: bytes | UnsetType = UNSET
    if envelope.params is not UNSET:
        params = bytes(envelope.params)  # a copy, or it would keep the receive buffer alive
        if not is_structured(params):
            return invalid_params_type(params, _known(envelope.id))
        if params == b"null":
            params = UNSET
    if envelope.id is UNSET:
        return Notification(method, params)
    return Request(envelope.id, method, params)


def _sort_response(envelope: Envelope) -> Message:
    id, error = envelope.id, envelope.error
    if id is UNSET:
        return broken_response("a response needs an 'id'", None, "id")
    if error is UNSET:
        return Success(id, envelope.result)
    if envelope.result is UNSET:
        return Failure(id, ErrorObject(error.code, error.message, error.data))
    return broken_response("a response has either 'result' or 'error', not both", id, "error")


def _known(id: Id | UnsetType) -> Id:
    return None if id is UNSET else id


def is_structured(params: bytes) -> bool:
    """Return True if params are an array, an object, or null, which means no params."""
    return params[0] in b"{[n"


def invalid_params_type(params: bytes, id: Id) -> Invalid:
    came = json_type(params)
    return invalid(f"'params' must be an array or an object, got {came}", id, field="params")


MAX_DEPTH: Final = DEFAULT_MAX_DEPTH
"""Maximum nesting of arrays and objects in JSON: the default limit for messages."""


class NestingError(msgspec.DecodeError):
    """JSON that is nested deeper than the limit."""

    def __init__(self, max_depth: int = MAX_DEPTH) -> None:
        super().__init__(f"nested deeper than {max_depth} levels")


def check_nesting(data: bytes | str, max_depth: int = MAX_DEPTH) -> None:
    """Raise NestingError for JSON nested deeper than `max_depth`, even if it is invalid."""
    if len(data) <= max_depth:
        return
    if isinstance(data, str):
        data = data.encode(errors="surrogatepass")
    if is_bracketed(data, max_depth) and is_deeper(data, max_depth):
        raise NestingError(max_depth)


def decode_json(data: bytes | str, type: Any = Any, max_depth: int = MAX_DEPTH) -> Any:
    """Decode JSON to a value of `type`.

    Raises msgspec.DecodeError for invalid JSON or a value of another type, UnicodeDecodeError or
    UnicodeEncodeError for invalid text.
    """
    check_nesting(data, max_depth)
    return msgspec.json.decode(data, type=type)
