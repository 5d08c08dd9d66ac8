"""Messages as they stand on the wire, and values to bytes."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from accord.jsonrpc.errors import RpcError
from accord.jsonrpc.messages import ErrorObject, Failure, Id


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
