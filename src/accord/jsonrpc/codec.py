"""Bytes to messages and back. Knows JSON and JSON-RPC 2.0, nothing of connections.

`read` takes a message apart in one pass of msgspec, into a flat envelope whose `params` and
`result` stay raw. `sort` makes an envelope one of the types of `messages`. `decode` is both.
What msgspec refuses goes to `diagnose`, which has one job: the precise error and the best id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from accord.jsonrpc.depth import is_bracketed as is_bracketed, is_deeper as is_deeper
from accord.jsonrpc.diagnosis import (
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
from accord.jsonrpc.wire import (
    Envelope as Envelope,
    encode as encode,
    encode_failure as encode_failure,
)

DEFAULT_MAX_DEPTH: Final = 128
DEFAULT_MAX_ITEMS: Final = 1_000

decode_envelope: Callable[[bytes], Envelope | list[Envelope]] = msgspec.json.Decoder(
    Envelope | list[Envelope]
).decode
"""`read_envelopes` for messages that are neither deep nor other than ASCII; raises
MESSAGE_DECODE_ERRORS."""

REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""All exceptions of msgspec on hostile input (ValidationError is a DecodeError)."""


def read(
    data: bytes,
    max_depth: int = DEFAULT_MAX_DEPTH,
    max_items: int | None = DEFAULT_MAX_ITEMS,
) -> Item | list[Item] | list[Envelope]:
    """Decode `data` to envelopes. Never raises: invalid input becomes `InvalidMessage`.

    A batch of more than `max_items` messages is refused as a whole, and its rest is not read. The
    cheap test before decoding skips short batches, so one over the limit may be returned.
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
    """Decode the message or batch in `data`; invalid input becomes `InvalidMessage`.

    `max_items` is None for batches of our own.
    """
    what = read(data, max_depth, max_items)
    if isinstance(what, list):
        if max_items is not None and len(what) > max_items:
            return too_many_items(max_items)
        # JSON-RPC 2.0, section 6: an empty array is one Invalid Request.
        return [item if type(item) is Invalid else sort(item) for item in what] or EMPTY_BATCH
    return sort(what)


def sort(what: Item) -> Message:
    """Return the message in an envelope."""
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
