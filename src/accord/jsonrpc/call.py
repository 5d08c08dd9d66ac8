"""One outgoing call that is under way, and the decoding of what it returns."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Struct

from accord.jsonrpc.errors import InvalidResultError, RpcError
from accord.jsonrpc.messages import Id
from accord.jsonrpc.session import Pending

if TYPE_CHECKING:
    from accord.jsonrpc.calls import Calls


class Call(Struct, eq=False):
    """An outgoing call. Await it for its result."""

    _calls: Calls
    _pending: Pending
    _future: asyncio.Future[Any]

    @property
    def id(self) -> Id:
        return self._pending.id

    @property
    def method(self) -> str:
        return self._pending.method

    def __await__(self) -> Generator[Any, None, Any]:
        return self.result().__await__()

    async def result(self, into: Any = Any) -> Any:
        """Return the result, checked against the type `into`."""
        return decode_result(await self.answer(), into, self.method)

    async def answer(self) -> Any:
        """Return the result as raw JSON."""
        try:
            return await self._future
        except asyncio.CancelledError:
            self._calls.abandon(self._pending)
            raise

    @property
    def done(self) -> bool:
        """True once the call was answered, has failed or was given up."""
        return self._future.done()

    def fail(self, error: RpcError) -> None:
        """End the call with an error: the transport knows that no answer will come."""
        self._calls.fail(self._pending, error)

    def cancel(self) -> None:
        """Give up the call; tasks that await it are cancelled."""
        if self._future.cancel():
            self._calls.abandon(self._pending)

    def extend(self) -> None:
        """Restart the call's timeout: the other end has shown that it is working on it."""
        self._calls.extend(self._pending)


def decode_result(raw: Any, into: Any, method: str) -> Any:
    """Decode `raw` as a value of the type `into`. Raises `InvalidResultError`."""
    try:
        return _decoder(into).decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidResultError(
            f"the result of {method} is not what was asked for: {error}"
        ) from error


def decode_data(raw: Any) -> Any:
    """Decode an error's data to plain values; None if there is none."""
    if raw is UNSET:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return bytes(raw).decode(errors="replace")


@lru_cache(maxsize=256)
def _decoder(into: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(into)
