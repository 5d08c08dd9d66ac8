"""The wire of a client over Streamable HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accord.jsonrpc.calls import Call
from accord.jsonrpc.limits import Limits
from accord.jsonrpc.peer import Peer
from accord.jsonrpc.router import Router
from accord.mcp.client.http.channel import HttpChannel
from accord.mcp.client.http.endpoint import Endpoint


class HttpWire:
    """Requests and notifications of one client to one endpoint."""

    mirrors = True

    def __init__(self, endpoint: Endpoint, router: Router, limits: Limits) -> None:
        self._channel = HttpChannel(endpoint)
        self._peer = Peer(self._channel, router, limits=limits)
        self._peer.on_abandoned = self._channel.abandon

    @property
    def session(self) -> str:
        """The id of the session, empty where there is none."""
        return self._channel.session

    def agreed(self, version: str) -> None:
        self._channel.agreed(version)

    def begin(
        self,
        method: str,
        params: Any,
        *,
        timeout: float | None,
        longest: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Call:
        call, data = self._peer.prepare(method, params, timeout=timeout, longest=longest)
        self._channel.post(call, data, params, headers or {})
        return call

    async def tell(self, method: str, params: Any) -> None:
        await self._channel.tell(self._peer.prepare_notification(method, params))
        if method == "notifications/initialized":
            self._channel.listen()

    async def listening(self) -> None:
        await self._channel.listening()

    async def close(self) -> None:
        await self._peer.close(drain=0)
