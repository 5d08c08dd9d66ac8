"""Detection of the transport and era at a URL, and the wire over Streamable HTTP.

The requests in the order of the attempts, and the answers that end them:

    server/discover ─▶ answered: stateless
         │
    initialize ─▶ answered: handshake
         │  400, 404 or 405 without JSON-RPC
    GET ─▶ a stream that begins with an endpoint: HTTP+SSE
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.channel import Limits
from accord.jsonrpc.protocol.errors import RpcError, TransportError
from accord.jsonrpc.runtime.calls import Call
from accord.jsonrpc.runtime.peer import Peer
from accord.mcp.client.http.channel import Endpoint, HttpChannel
from accord.mcp.client.http.legacy_sse import open_old_sse
from accord.mcp.client.negotiation import HandshakeOnlyError, begin_as, discover, shake_hands
from accord.mcp.client.wire import Agreement, ClientIdentity, DuplexWire, Wire
from accord.mcp.protocol.versions import LATEST, LATEST_HANDSHAKE, Era, era


class HttpWire:
    """Requests and notifications of one client to one endpoint."""

    mirrors = True

    def __init__(self, endpoint: Endpoint, router: Router, limits: Limits) -> None:
        self._channel = HttpChannel(endpoint)
        self._peer = Peer(self._channel, router, limits=limits)
        self._peer.on_abandoned = self._channel.abandon

    @property
    def session(self) -> str:
        """The id of the session; empty without one."""
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


OLD_STATUSES: Final = frozenset((400, 404, 405))
"""2026-07-28, Streamable HTTP: statuses of old servers for a POST to the URL of their stream."""


async def reach(
    make_endpoint: Callable[[], Endpoint],
    router: Router,
    identity: ClientIdentity,
    *,
    version: str | None,
    timeout: float | None,
    limits: Limits,
) -> tuple[Wire, Agreement]:
    """Return a wire to the server, and the agreement on it.

    Raises RpcError.
    """
    wire = HttpWire(make_endpoint(), router, limits)
    try:
        return wire, await _agree(wire, identity, version, timeout)
    except TransportError as error:
        await wire.close()
        if not _may_be_old(error, version):
            raise
        return await _reach_old(make_endpoint(), router, identity, version, timeout, limits, error)
    except BaseException:
        await wire.close()
        raise


async def _agree(
    wire: HttpWire, identity: ClientIdentity, version: str | None, timeout: float | None
) -> Agreement:
    if version is not None:
        return await begin_as(wire, identity, version, timeout=timeout)
    try:
        return await discover(wire, identity, LATEST, timeout=timeout)
    except HandshakeOnlyError:
        return await shake_hands(wire, identity, LATEST_HANDSHAKE, timeout=timeout)


async def _reach_old(
    endpoint: Endpoint,
    router: Router,
    identity: ClientIdentity,
    version: str | None,
    timeout: float | None,
    limits: Limits,
    refused: TransportError,
) -> tuple[Wire, Agreement]:
    try:
        channel = await open_old_sse(endpoint)
    except RpcError as error:
        endpoint.close()
        raise refused from error
    wire = DuplexWire(Peer(channel, router, limits=limits))
    try:
        offer = version or LATEST_HANDSHAKE
        return wire, await shake_hands(wire, identity, offer, timeout=timeout)
    except BaseException:
        await wire.close()
        raise


def _may_be_old(error: TransportError, version: str | None) -> bool:
    if version is not None and era(version) is Era.STATELESS:
        return False
    status = error.data.get("status") if isinstance(error.data, dict) else None
    return status in OLD_STATUSES
