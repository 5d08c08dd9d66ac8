"""MCP over HTTP, as a client: detection of the transport at a URL, and HTTP+SSE of 2024-11-05.

To detect the transport, these requests are sent from top to bottom, until one succeeds:

    server/discover ─▶ answered: stateless
         │
    initialize ─▶ answered: handshake
         │  400, 404 or 405 without JSON-RPC
    GET ─▶ a stream that begins with an endpoint: HTTP+SSE

HTTP+SSE is a stream from the server, and POSTs to another URL. The stream is the session: when it
ends, the connection is lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urljoin

from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.channel import ChannelInfo, Limits, Receiver
from accord.jsonrpc.protocol.errors import (
    ConnectError,
    ConnectionLostError,
    RpcError,
    TransportError,
)
from accord.jsonrpc.protocol.framing import SseDecoder, SseEvent
from accord.jsonrpc.runtime.calls import Call
from accord.jsonrpc.runtime.peer import Peer
from accord.mcp.client.negotiation import HandshakeOnlyError, begin_as, discover, shake_hands
from accord.mcp.client.streamable_http import (
    EVENTS,
    JSON,
    Endpoint,
    StreamableHttpChannel,
    is_stream,
    refusal,
)
from accord.mcp.client.wire import Agreement, ClientIdentity, ClientWire, DuplexWire
from accord.mcp.protocol.versions import LATEST, LATEST_HANDSHAKE, Era, era
from accord.transports.http.requester import Response
from accord.transports.urls import WebAddress, host_and_port, parse_web_address

log = logging.getLogger("accord.mcp")

ENDPOINT_SECONDS: Final = 10.0
"""The timeout for the first event of a stream, which contains the URL for messages."""
SEND_SECONDS: Final = 30.0
MAX_QUEUED: Final = 1_000
"""The limit of messages waiting to be sent; beyond it, no more messages are read."""
MAX_BODY: Final = 64 * 1024


async def open_legacy_sse(endpoint: Endpoint) -> SseClientChannel:
    """Open an HTTP+SSE channel (2024-11-05) to the server at `endpoint`.

    Raises TransportError if the server does not open a stream that begins with the URL for
    messages.
    """
    try:
        async with asyncio.timeout(ENDPOINT_SECONDS):
            response = await endpoint.request("GET", {"accept": EVENTS})
            try:
                return await _begin(endpoint, response)
            except BaseException:
                response.close()
                raise
    except TimeoutError:
        raise ConnectError("the server did not say where messages go") from None


async def _begin(endpoint: Endpoint, response: Response) -> SseClientChannel:
    if not is_stream(response):
        raise refusal(response, await response.read(MAX_BODY))
    limit = endpoint.max_bytes
    decoder = SseDecoder() if limit is None else SseDecoder(limit)
    events: list[SseEvent] = []
    while not events:
        chunk = await response.receive()
        if not chunk:
            raise ConnectionLostError("the server's stream ended at once")
        events = decoder.feed(chunk)
    # 2024-11-05, transports: the first event has the URL of messages.
    if events[0].event != "endpoint":
        raise ConnectError("the server's stream does not begin with an endpoint")
    target = _target(endpoint.address, events[0].data)
    return SseClientChannel(endpoint, target, response, decoder, events[1:])


def _target(address: WebAddress, data: bytes) -> WebAddress:
    base = f"{address.scheme}://{address.authority}{address.path}"
    target = parse_web_address(urljoin(base, data.decode(errors="replace").strip()))
    if (target.scheme, target.host, target.port) != (address.scheme, address.host, address.port):
        # The sender of the stream must not redirect credentials to another host.
        raise ConnectError("the server wants messages to be sent to another host")
    return target


class SseClientChannel:
    """One HTTP+SSE session (2024-11-05) with a server; implements `Channel`."""

    def __init__(
        self,
        endpoint: Endpoint,
        target: WebAddress,
        response: Response,
        decoder: SseDecoder,
        events: list[SseEvent],
    ) -> None:
        self._endpoint = endpoint
        self._target = target
        self._response = response
        self._decoder = decoder
        self._events = events
        self._info = ChannelInfo(
            scheme=target.scheme, address=host_and_port(target.host, target.port)
        )
        self._loop = asyncio.get_running_loop()
        self._receiver: Receiver
        self._queue: deque[bytes] = deque()
        self._reading: asyncio.Task[None] | None = None
        self._sending: asyncio.Task[None] | None = None
        self._closing = False

    @property
    def info(self) -> ChannelInfo:
        return self._info

    @property
    def writable(self) -> bool:
        return True

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._reading = self._loop.create_task(self._read())

    def send(self, data: bytes) -> None:
        if self._closing:
            return
        self._queue.append(data)  # sent one at a time, to preserve the order
        if self._sending is None:
            self._sending = self._loop.create_task(self._send())

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            assert self._reading is not None
            self._reading.cancel()

    abort = close

    async def _read(self) -> None:
        error: TransportError | None = None
        try:
            self._take(self._events)
            while chunk := await self._response.receive():
                self._take(self._decoder.feed(chunk))
                if len(self._queue) >= MAX_QUEUED and self._sending is not None:
                    await asyncio.wait((self._sending,))  # the server does not take answers
            error = ConnectionLostError("the server's stream ended")
        except asyncio.CancelledError:
            pass  # by `close`
        except TransportError as lost:
            error = lost
        except RpcError as broken:
            error = TransportError(broken.message, recoverable=False)
        finally:
            self._closing = True
            if self._sending is not None:
                self._sending.cancel()
            self._response.close()
            self._endpoint.close()
            self._receiver.connection_lost(error)

    def _take(self, events: list[SseEvent]) -> None:
        for event in events:
            if event.event == "message" and event.data:
                self._receiver.message_received(event.data)

    async def _send(self) -> None:
        while self._queue:
            data = self._queue.popleft()
            try:
                async with asyncio.timeout(SEND_SECONDS):
                    await self._post(data)
            except TimeoutError:
                failed = TransportError("the server took too long to take a message")
                self._receiver.send_failed(data, failed)
            except TransportError as error:
                self._receiver.send_failed(data, error)
            except RpcError as error:
                log.warning("a message could not be sent: %s", error)
        self._sending = None

    async def _post(self, data: bytes) -> None:
        headers = {"content-type": JSON, "accept": JSON}
        response = await self._endpoint.request("POST", headers, data, address=self._target)
        try:
            body = await response.read(MAX_BODY)
        finally:
            response.close()
        if response.status >= 300:
            raise refusal(response, body)


class HttpWire:
    """The sender of a client's messages to one endpoint over Streamable HTTP.

    It implements `ClientWire`.
    """

    mirrors = True

    def __init__(self, endpoint: Endpoint, router: Router, limits: Limits) -> None:
        self._channel = StreamableHttpChannel(endpoint)
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
"""HTTP statuses in the answer to a POST that show that the server may speak HTTP+SSE (2026-07-28,
Streamable HTTP)."""


async def connect_http(
    make_endpoint: Callable[[], Endpoint],
    router: Router,
    identity: ClientIdentity,
    *,
    version: str | None,
    timeout: float | None,
    limits: Limits,
) -> tuple[ClientWire, Agreement]:
    """Connect to a server over HTTP; return the wire and the `Agreement`.

    The `Agreement` has the negotiated version, and the server's capabilities and info.
    Raises RpcError if the server cannot be reached, refuses the connection, or shares no version.
    """
    wire = HttpWire(make_endpoint(), router, limits)
    try:
        return wire, await _agree(wire, identity, version, timeout)
    except TransportError as error:
        await wire.close()
        if not _may_be_legacy(error, version):
            raise
        return await _connect_legacy_sse(
            make_endpoint(), router, identity, version, timeout, limits, error
        )
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


async def _connect_legacy_sse(
    endpoint: Endpoint,
    router: Router,
    identity: ClientIdentity,
    version: str | None,
    timeout: float | None,
    limits: Limits,
    refused: TransportError,
) -> tuple[ClientWire, Agreement]:
    try:
        channel = await open_legacy_sse(endpoint)
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


def _may_be_legacy(error: TransportError, version: str | None) -> bool:
    if version is not None and era(version) is Era.STATELESS:
        return False
    status = error.data.get("status") if isinstance(error.data, dict) else None
    return status in OLD_STATUSES
