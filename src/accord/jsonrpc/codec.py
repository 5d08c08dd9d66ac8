"""Bytes to messages and back. Knows JSON and JSON-RPC 2.0, nothing of connections.

`read` takes a message apart in one pass of msgspec, into a flat envelope whose `params` and
`result` stay raw. `sort` makes an envelope one of the types of `messages`. `decode` is both.
What msgspec refuses goes to `_diagnose`, which is slow and has one job: the precise error
and the best id.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from itertools import accumulate
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from accord.jsonrpc.errors import RpcError, own_error
from accord.jsonrpc.messages import (
    Batch,
    ErrorObject,
    Failure,
    Id,
    Invalid,
    Message,
    Notification,
    Request,
    Success,
)

DEFAULT_MAX_DEPTH: Final = 128


class WireError(Struct, gc=False):
    """An error object as it stands on the wire."""

    code: int
    message: str
    data: Raw | UnsetType = UNSET


class Envelope(Struct, gc=False):
    """One message as it stands on the wire: every member of the right type, not yet sorted.

    One with a `method` is a request, or a notification if `id` is UNSET; whether its
    `params` are an array or an object is left to whoever looks at them (`is_structured`).
    Others need `sort`. The order of the fields is the one in which most peers write them,
    which msgspec finds soonest.
    """

    jsonrpc: Literal["2.0"]
    id: int | str | float | None | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: WireError | UnsetType = UNSET


decode_envelope: Callable[[bytes], Envelope | list[Envelope]] = msgspec.json.Decoder(
    Envelope | list[Envelope]
).decode
"""`read` for messages that are neither deep nor other than ASCII; raises what it refuses."""
_decode_syntax = msgspec.json.Decoder(Raw).decode
_decode_shape = msgspec.json.Decoder(dict[str, Raw] | list[Raw]).decode
_decode_id = msgspec.json.Decoder(int | str | float | None).decode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_error = msgspec.json.Decoder(WireError).decode
_decode_string = msgspec.json.Decoder(str).decode

REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""All that msgspec raises on hostile input (ValidationError is a DecodeError)."""


def read(
    data: bytes, max_depth: int = DEFAULT_MAX_DEPTH
) -> Envelope | list[Envelope] | Message | Batch:
    """What `data` says. Never raises: what msgspec refuses comes back sorted, as `Invalid`."""
    try:
        if not data.isascii():
            data.decode()  # msgspec does not look into raw slices: check UTF-8 here
        if (
            len(data) > 2 * max_depth
            and is_bracketed(data, max_depth)
            and depth_of(data) > max_depth
        ):
            return _unreadable(f"nested deeper than {max_depth} levels", max_depth=max_depth)
        return decode_envelope(data)
    except REFUSALS:
        return _diagnose(data, max_depth)


def decode(data: bytes, max_depth: int = DEFAULT_MAX_DEPTH) -> Message | Batch:
    """The message or batch in `data`; what is not valid comes back as `Invalid`, never raised."""
    what = read(data, max_depth)
    if isinstance(what, list):
        return sort_batch(what)
    return sort(what)


def sort_batch(items: list[Envelope] | Batch) -> Message | Batch:
    """A batch of messages, each sorted."""
    # JSON-RPC 2.0, section 6: an empty array is one Invalid Request.
    return [sort(item) for item in items] or EMPTY_BATCH


def sort(what: Envelope | Message) -> Message:
    """The message that an envelope holds."""
    if not isinstance(what, Envelope):
        return what
    if what.method is not UNSET:
        return _sort_request(what.method, what)
    if what.result is UNSET and what.error is UNSET:
        return _invalid("'method' is missing", _known(what.id), field="method")
    return _sort_response(what)


def _sort_request(method: str, envelope: Envelope) -> Message:
    if not method:  # an empty name is no name
        return _invalid("'method' must not be empty", _known(envelope.id), field="method")
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
        return _broken_response("a response needs an 'id'", None, "id")
    if error is UNSET:
        return Success(id, envelope.result)
    if envelope.result is UNSET:
        return Failure(id, ErrorObject(error.code, error.message, error.data))
    return _broken_response("a response has either 'result' or 'error', not both", id, "error")


def _known(id: Id | UnsetType) -> Id:
    return None if id is UNSET else id


def is_structured(params: bytes) -> bool:
    """Whether params are an array or an object, or null, which stands for none."""
    return params[0] in b"{[n"


def invalid_params_type(params: bytes, id: Id) -> Invalid:
    came = _json_type(params)
    return _invalid(f"'params' must be an array or an object, got {came}", id, field="params")


# The slow path: something was refused, find out what and why.


def _diagnose(data: bytes, max_depth: int) -> Message | Batch:
    try:
        data.decode()
        _decode_syntax(data)  # refuses lone surrogates too
    except UnicodeDecodeError as error:
        return _unreadable(f"not UTF-8 at byte {error.start}")
    except RecursionError:
        return _unreadable("nested too deep")
    except msgspec.DecodeError as error:
        return _unreadable(str(error))
    try:
        shape = _decode_shape(data)
    except msgspec.ValidationError:
        return _invalid(f"a message must be an object, got {_json_type(data.lstrip())}")
    if isinstance(shape, list):
        return [_diagnose_item(bytes(item), max_depth) for item in shape]
    return _diagnose_object(shape)


def _diagnose_item(data: bytes, max_depth: int) -> Message:
    """One element of a batch, by itself: its neighbours' faults are not its own."""
    message = decode(data, max_depth)
    if isinstance(message, list):
        return _invalid("a message must be an object, got an array")
    return message


def _diagnose_object(members: dict[str, Raw]) -> Message:
    id, fault = _readable_id(members.get("id"))
    response = "method" not in members and ("result" in members or "error" in members)
    field, why = _version_fault(members.get("jsonrpc")) or ("id", fault)
    if not why and response:
        field, why = "error", _error_fault(members.get("error"))
    if not why and "method" in members and _text(members["method"]) is None:
        came = _json_type(bytes(members["method"]))
        field, why = "method", f"'method' must be a string, got {came}"
    if why:
        return _broken_response(why, id, field) if response else _invalid(why, id, field=field)
    # Nothing is wrong after all: a member came twice and the last, which counts, is right, or
    # a request has an `error` of its own, which is nobody's business.
    return sort(
        Envelope(
            "2.0",
            id if "id" in members else UNSET,
            _text(members["method"]) or "" if "method" in members else UNSET,
            members.get("params", UNSET),
            members.get("result", UNSET) if response else UNSET,
            _read_error(members["error"]) if response and "error" in members else UNSET,
        )
    )


def _version_fault(raw: Raw | None) -> tuple[str, str] | None:
    if raw is None:
        return "jsonrpc", "'jsonrpc' is missing, must be \"2.0\""
    if _text(raw) != "2.0":
        return "jsonrpc", f"'jsonrpc' must be \"2.0\", got {_excerpt(raw)}"
    return None


def _error_fault(raw: Raw | None) -> str:
    if raw is not None:
        try:
            _read_error(raw)
        except msgspec.ValidationError as error:
            return f"'error' is no error object: {error}"
    return ""


def _read_error(raw: Raw) -> WireError:
    """The error object. Of a member that comes twice the last counts, as everywhere."""
    return _decode_error(encode(_decode_members(raw)))


def _readable_id(raw: Raw | None) -> tuple[Id, str]:
    """The id, and what is wrong with it if it cannot be told."""
    if raw is None:
        return None, ""
    try:
        return _decode_id(raw), ""
    except msgspec.ValidationError:
        came = _json_type(bytes(raw))
    if came == "a number":
        return None, "'id' is a number out of range"
    return None, f"'id' must be a string, a number or null, got {came}"


def _text(raw: Raw) -> str | None:
    try:
        return _decode_string(raw)
    except msgspec.ValidationError:
        return None


def _excerpt(raw: Raw) -> str:
    text = bytes(raw).decode()
    return text if len(text) <= 40 else f"{text[:40]}…"


_TYPES_BY_FIRST_BYTE: Final = {
    ord("{"): "an object",
    ord("["): "an array",
    ord('"'): "a string",
    ord("t"): "true",
    ord("f"): "false",
    ord("n"): "null",
}


def _json_type(data: bytes) -> str:
    return _TYPES_BY_FIRST_BYTE.get(data[0], "a number")


def _unreadable(why: str, **members: Any) -> Invalid:
    return Invalid(own_error("parse_error", f"Parse error: {why}", **members))


def _invalid(why: str, id: Id = None, **members: Any) -> Invalid:
    return Invalid(own_error("invalid_request", f"Invalid Request: {why}", **members), id)


def is_id_fault(message: Invalid) -> bool:
    """Return whether a broken request is refused for its id."""
    data = message.error.data
    return not message.response and isinstance(data, dict) and data.get("field") == "id"


def _broken_response(why: str, id: Id, field: str) -> Invalid:
    error = own_error("invalid_request", f"Invalid response: {why}", field=field)
    return Invalid(error, id, response=True)


EMPTY_BATCH: Final = _invalid("the batch is empty")

_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKETS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")


def is_bracketed(data: bytes, max_depth: int) -> bool:
    """Whether `data` has so many brackets that it may nest deeper than `max_depth`: the cheapest
    test that can tell."""
    if len(data) <= 5 * max_depth and b"[" not in data:
        return False  # a level of objects takes five bytes at least: {"":}
    return data.count(b"{") + data.count(b"[") > max_depth


def depth_of(data: bytes) -> int:
    """How deep arrays and objects nest in `data`, whether or not it is valid JSON."""
    brackets = _STRING.sub(b"", data).translate(_BRACKETS, _NO_BRACKETS)
    return max(accumulate(array("b", brackets)), default=0)


# Encoding


def _encode_foreign(value: Any) -> Any:
    """What msgspec cannot encode by itself: pydantic's models, by the method they offer."""
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"a value of type {type(value).__qualname__} cannot be encoded as JSON")
    return dump(mode="json", by_alias=True)


encode = msgspec.json.Encoder(enc_hook=_encode_foreign).encode
"""The bytes of a message or value. Raises what cannot be encoded as TypeError, ValueError,
UnicodeEncodeError, OverflowError or RecursionError. NaN and the infinities become null."""


def encode_failure(id: Id, error: RpcError) -> bytes:
    """The answer that says `error`; data that cannot be encoded is left out."""
    data = UNSET if error.data is None else error.data
    try:
        return encode(Failure(id, ErrorObject(error.code, error.message, data)))
    except Exception:  # whatever a foreign object's encoder raises
        message = error.message.encode(errors="replace").decode()
        return encode(Failure(id, ErrorObject(error.code, message)))
