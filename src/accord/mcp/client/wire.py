"""What carries the messages of a client: a connection that goes both ways, or HTTP.

A wire sends requests and notifications. What the server sends is served by the peer's router.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from accord.jsonrpc.calls import Call
from accord.jsonrpc.errors import RpcError
from accord.jsonrpc.messages import Id
from accord.jsonrpc.peer import Peer
from accord.mcp.protocol.params import CancelledParams

PING_SECONDS = 30.0

_NOT_CANCELLED = frozenset(("initialize", "server/discover"))
"""2025-11-25, cancellation: `initialize` must not be cancelled. The probe may be sent to a
server that knows neither it nor any cancellation before a handshake."""


class Wire(Protocol):
    """A way to the server. `close` ends everything that waits on it."""

    mirrors: bool
    """Whether headers repeat parts of requests, so that tools may want some."""

    def agreed(self, version: str) -> None:
        """From now on messages follow this version."""

    def begin(
        self,
        method: str,
        params: Any,
        *,
        timeout: float | None,
        longest: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Call:
        """Send a request. `headers` are those that mirror its params, for who sends headers."""

    async def tell(self, method: str, params: Any) -> None:
        """Send a notification; it has arrived before whatever is sent after this returns."""

    async def listening(self) -> None:
        """Wait until what the server sends beside requests arrives, if it does (the handshake
        era)."""

    async def close(self) -> None: ...


class DuplexWire:
    """One connection for everything, in both eras."""

    mirrors = False

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        peer.on_abandoned = self._abandoned

    def agreed(self, version: str) -> None:
        pass

    def begin(
        self,
        method: str,
        params: Any,
        *,
        timeout: float | None,
        longest: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Call:
        return self._peer.begin(method, params, timeout=timeout, longest=longest)

    async def tell(self, method: str, params: Any) -> None:
        await self._peer.notify(method, params)

    async def listening(self) -> None:
        # A round trip: whatever was told before has been heard then, the end of a handshake too.
        try:
            await self._peer.call("ping", {}, timeout=PING_SECONDS)
        except RpcError as error:
            if not error.remote:  # else it was an answer, too
                raise

    async def close(self) -> None:
        await self._peer.close(drain=0)

    def _abandoned(self, id: Id, method: str) -> None:
        # 2026-07-28, stdio: there is no stream to close, so a request is cancelled in words.
        if method not in _NOT_CANCELLED and isinstance(id, int | str):
            self._peer.post("notifications/cancelled", CancelledParams(request_id=id))
