"""Calls and notifications that leave together as one batch."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Protocol

from msgspec import UNSET, UnsetType

from accord.jsonrpc.calls import Call


class BatchSender(Protocol):
    """The end of a connection that a batch leaves by: a `Peer`."""

    def prepare(
        self,
        method: str,
        params: Any = UNSET,
        *,
        timeout: float | None | UnsetType = UNSET,
        message: int | None = None,
    ) -> tuple[Call, bytes]: ...

    def prepare_notification(self, method: str, params: Any = UNSET) -> bytes: ...

    async def send(self, data: bytes) -> None: ...


class OutgoingBatch:
    """Collects calls; sends them when its `async with` block ends, and waits for the answers.

        async with peer.batch() as batch:
            total = batch.call("sum", [1, 2, 3])
            batch.notify("log", ["summed"])
        print(await total)

    A call that fails raises when it is awaited, not when the block ends.
    """

    def __init__(self, peer: BatchSender, number: int) -> None:
        self._peer = peer
        self._number = number
        self._messages: list[bytes] = []
        self._calls: list[Call] = []

    def call(
        self, method: str, params: Any = UNSET, *, timeout: float | None | UnsetType = UNSET
    ) -> Call:
        """Add a call; await what this returns after the batch was sent."""
        call, data = self._peer.prepare(method, params, timeout=timeout, message=self._number)
        self._calls.append(call)
        self._messages.append(data)
        return call

    def notify(self, method: str, params: Any = UNSET) -> None:
        """Add a notification."""
        self._messages.append(self._peer.prepare_notification(method, params))

    async def send(self) -> None:
        """Send what was collected and wait until every call is settled."""
        messages, self._messages = self._messages, []
        if not messages:
            return  # JSON-RPC 2.0, section 6: an empty array is no valid batch
        await self._peer.send(b"[" + b",".join(messages) + b"]")
        await asyncio.gather(*(call.answer() for call in self._calls), return_exceptions=True)

    async def __aenter__(self) -> OutgoingBatch:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exc_type is None:
            await self.send()
        else:
            for call in self._calls:
                call.cancel()
