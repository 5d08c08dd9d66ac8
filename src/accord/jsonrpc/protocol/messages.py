"""The messages of JSON-RPC 2.0 as frozen values, and their form on the wire."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from accord.jsonrpc.protocol.errors import RpcError

Id: TypeAlias = int | str | float | None
"""A request id. `1`, `1.0`, `"1"` and `null` are four different ids; see `id_key`."""


class Request(Struct, frozen=True, gc=False, tag_field="jsonrpc", tag="2.0", omit_defaults=True):
    """A call that expects an answer.

    `id` may be null; only a call without an id is a notification.
    """

    id: Id
    method: str
    params: Any = UNSET


class Notification(
    Struct, frozen=True, gc=False, tag_field="jsonrpc", tag="2.0", omit_defaults=True
):
    """A call that is never answered."""

    method: str
    params: Any = UNSET


class Success(Struct, frozen=True, gc=False, tag_field="jsonrpc", tag="2.0"):
    """The answer to a call that succeeded."""

    id: Id
    result: Any


class ErrorObject(Struct, frozen=True, gc=False, omit_defaults=True):
    """The code, message and data of a failure."""

    code: int
    message: str
    data: Any = UNSET


class Failure(Struct, frozen=True, gc=False, tag_field="jsonrpc", tag="2.0"):
    """The answer to a failed call; `id` is null if the request's id could not be read."""

    id: Id
    error: ErrorObject


class Invalid(Struct, frozen=True):
    """Input that is not a valid message, with the error that explains why.

    A broken request is answered with `error` under `id`. A broken response (`response` is True) is
    never answered; it fails the pending call with that `id`.
    """

    error: RpcError
    id: Id = None
    response: bool = False
    oversized: bool = False
    """True for a batch of too many messages, none of which was read."""
    answer: bytes | None = None
    """The encoded answer of a refusal that is always the same; None for others."""


Message: TypeAlias = Request | Notification | Success | Failure | Invalid
Batch: TypeAlias = list[Message]


def id_key(id: Id | UnsetType) -> object:
    """Return `id` as a dictionary key that differs by type, although `1 == 1.0` in Python."""
    return ("float", id) if type(id) is float else id


class WireError(Struct, gc=False):
    """An error object as on the wire."""

    code: int
    message: str
    data: Raw | UnsetType = UNSET


class Envelope(Struct, gc=False):
    """One message as on the wire, with members of the right types.

    Some members may still be missing or contradict each other. An envelope with a `method` is a
    request, or a notification if `id` is UNSET; its reader checks whether `params` are an array or
    an object (`is_structured`). All other envelopes are classified by `codec.sort`. The order of
    the fields is the one in which most peers write them, which msgspec finds soonest.
    """

    jsonrpc: Literal["2.0"]
    id: int | str | float | None | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: WireError | UnsetType = UNSET


def _encode_foreign(value: Any) -> Any:
    """Return the JSON form of a value that msgspec cannot encode, a pydantic model.

    Raises TypeError for a value of any other class that msgspec does not encode.
    """
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"a value of type {type(value).__qualname__} cannot be encoded as JSON")
    return dump(mode="json", by_alias=True)


encode = msgspec.json.Encoder(enc_hook=_encode_foreign).encode
"""Encodes a message or value to bytes. Raises TypeError, ValueError, UnicodeEncodeError,
OverflowError or RecursionError if it cannot be encoded. NaN and the infinities become null."""


def encode_failure(id: Id, error: RpcError) -> bytes:
    """Return the encoded answer to `id` with `error`.

    Data of the error that cannot be encoded is left out.
    """
    data = UNSET if error.data is None else error.data
    try:
        return encode(Failure(id, ErrorObject(error.code, error.message, data)))
    except Exception:  # noqa: BLE001 - whatever a foreign object's encoder raises
        message = error.message.encode(errors="replace").decode()
        return encode(Failure(id, ErrorObject(error.code, message)))


class InvalidMessageReply(bytes):
    """An answer to a payload that is no message (-32700, or a single -32600).

    Transports with status codes recognise it by this type: HTTP sends it with status 400.
    """

    __slots__ = ()
