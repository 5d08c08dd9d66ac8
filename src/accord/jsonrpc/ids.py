"""Request ids: where those of outgoing requests come from, and which ones are served.

No id is issued twice on a connection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

from accord.jsonrpc.context import Context
from accord.jsonrpc.errors import IdsExhaustedError, RpcError
from accord.jsonrpc.messages import Id

LAST_ID: Final = 2**60 - 1
"""The counter's end: safely inside what every 64-bit peer can count to."""

IdKind = Literal["counter", "uuid"]

RequestFault: TypeAlias = Literal["invalid_id", "id_conflict", "batch_too_large"]
"""Why a protocol refuses what JSON-RPC allows, or has an error of its own for it: an id that is
not a string or an integer, one of a request in flight, a batch over the limit."""

RequestErrors: TypeAlias = Callable[[RequestFault, Any, Context], RpcError]
"""Return the error for a fault, given the context of the request and its raw params; for a batch
the error that JSON-RPC has."""


def id_fault(id: Id, in_use: Callable[[Id], bool]) -> RequestFault | None:
    """Return why the id of a request is refused where `RequestErrors` apply; None if it is not."""
    if id is None or type(id) is float:
        return "invalid_id"
    return "id_conflict" if in_use(id) else None


class Counter:
    """1, 2, 3 … up to `last`, then no more."""

    __slots__ = ("_last", "_next")

    def __init__(self, *, first: int = 1, last: int = LAST_ID) -> None:
        self._next = first
        self._last = last

    def __call__(self) -> int:
        id = self._next
        if id > self._last:
            raise IdsExhaustedError(
                f"this connection has used all request ids up to {self._last:,}; reconnect to go on"
            )
        self._next = id + 1
        return id


class Uuids:
    """Random UUIDs, from the bytes that `random_bytes(16)` gives."""

    __slots__ = ("_random_bytes",)

    def __init__(self, random_bytes: Callable[[int], bytes]) -> None:
        self._random_bytes = random_bytes

    def __call__(self) -> str:
        return str(UUID(bytes=self._random_bytes(16), version=4))
