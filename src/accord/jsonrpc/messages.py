"""The messages of JSON-RPC 2.0 as frozen values.

An incoming message keeps `params`, `result` and an error's `data` as raw slices of the
bytes it came in; whoever knows the type decodes them. An outgoing one may hold any value
that can be encoded in their place.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from accord.jsonrpc.errors import RpcError

Id: TypeAlias = int | str | float | None
"""A request id. `1`, `1.0`, `"1"` and `null` are four different ids; see `id_key`."""


class Request(Struct, frozen=True, gc=False, tag_field="jsonrpc", tag="2.0", omit_defaults=True):
    """A call that wants an answer. `id` may be null; only an absent id is a notification."""

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
    """The answer to a call that worked."""

    id: Id
    result: Any


class ErrorObject(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a failure says."""

    code: int
    message: str
    data: Any = UNSET


class Failure(Struct, frozen=True, gc=False, tag_field="jsonrpc", tag="2.0"):
    """The answer to a call that did not work; `id` is null when it could not be told."""

    id: Id
    error: ErrorObject


class Invalid(Struct, frozen=True):
    """Something that arrived and is no valid message, with the error that says why.

    A broken request is answered with `error` under `id`. A broken response (`response` is
    True) is never answered; it fails the pending call that `id` names.
    """

    error: RpcError
    id: Id = None
    response: bool = False
    oversized: bool = False
    """Whether it is a batch of too many messages, of which none was looked at."""
    answer: bytes | None = None
    """The encoded answer, where it is always the same."""


Message: TypeAlias = Request | Notification | Success | Failure | Invalid
Batch: TypeAlias = list[Message]


def id_key(id: Id | UnsetType) -> object:
    """`id` as a dictionary key that keeps types apart, though `1 == 1.0` in Python."""
    return ("float", id) if type(id) is float else id
