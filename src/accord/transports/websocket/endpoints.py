"""Open a WebSocket to a server; listen for WebSockets."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from http import HTTPStatus
from inspect import isawaitable
from typing import Final, cast

from msgspec import Struct

from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.http.replies import CLOSE, CRASHED, Reply, encode_reply
from accord.transports.options import Accept, Options, Verdict
from accord.transports.sockets import Arrivals, describe, listen, tune
from accord.transports.stream.channel import StreamChannel, receive_buffer
from accord.transports.stream.endpoints import connect_error
from accord.transports.urls import WebAddress, is_loopback, parse_served_address, parse_web_address
from accord.transports.websocket.channel import WebSocketChannel, WebSocketSettings
from accord.transports.websocket.frames import CloseCode
from accord.transports.websocket.handshake import (
    HeadBuffer,
    RefusedError,
    Request,
    Response,
    accept,
    check_response,
    read_response,
    upgrade_request,
)

EXCERPT_BYTES: Final = 1_000
"""Maximum length of the part of a refusal's body that is copied to the error."""
_TRY_AGAIN: Final = frozenset((408, 425, 429))


async def open_websocket(url: str, options: Options) -> WebSocketChannel:
    """Open a channel to the server at `url`, such as `wss://example.com/rpc`.

    Raises ConnectError if that fails; if the server answered with a status other than 101, the
    error's `data` contains the `status` and the beginning of the `body`.
    """
    address = parse_web_address(url)
    handshake = ClientHandshake(address, options)
    try:
        async with asyncio.timeout(options.connect_seconds):
            return await handshake.run()
    except (OSError, ValueError) as error:
        raise connect_error(address, error, options) from error


class ClientHandshake(asyncio.Protocol):
    """The client side of a connection before it becomes a WebSocket."""

    def __init__(self, address: WebAddress, options: Options) -> None:
        self._address = address
        self._options = options
        self._key = base64.b64encode(os.urandom(16)).decode()
        self._head = HeadBuffer(options.server_limits.max_header_bytes)
        self._refusal: Response | None = None
        self._body = b""
        self._transport: asyncio.Transport | None = None
        self._opened: asyncio.Future[WebSocketChannel] = asyncio.get_running_loop().create_future()

    async def run(self) -> WebSocketChannel:
        """Connect, perform the opening handshake, and return the channel."""
        address, options = self._address, self._options
        request = upgrade_request(
            target=address.target, host=address.authority, key=self._key, headers=options.headers
        )
        context = (options.tls or ssl.create_default_context()) if address.secure else None
        try:
            transport, _ = await asyncio.get_running_loop().create_connection(
                lambda: self, address.host, address.port, ssl=context
            )
            tune(transport)
            transport.write(request)
            return await self._opened
        except BaseException:
            self._opened.cancel()
            if self._transport is not None:
                self._transport.abort()
            raise

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None:
            self._read_body(self._refusal, data)
            return
        try:
            received = self._head.receive(data)
            if received is not None:
                self._answered(*received)
        except (RefusedError, ValueError) as error:
            self._fail(ConnectError(f"no WebSocket at {self._address}: {error}", recoverable=False))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._refusal is not None:
            self._refused(self._refusal)
        self._fail(ConnectError(f"{self._address} ended the connection during the handshake"))

    def _answered(self, head: bytes, rest: bytes) -> None:
        response = read_response(head)
        if response.status != HTTPStatus.SWITCHING_PROTOCOLS:
            self._refusal = response
            self._read_body(response, rest)
            return
        check_response(response, key=self._key, offered=self._offered())
        transport = cast(asyncio.Transport, self._transport)
        channel = WebSocketChannel(
            describe(transport, self._address.scheme, details={"headers": response.headers}),
            WebSocketSettings.of(self._options, serving=False),
        )
        channel.adopt(transport, rest)
        self._opened.set_result(channel)

    def _offered(self) -> str:
        headers = {name.lower(): value for name, value in self._options.headers.items()}
        return headers.get("sec-websocket-protocol", "")

    def _read_body(self, response: Response, data: bytes) -> None:
        """Collect the beginning of a refusal's body, which becomes part of the error."""
        length = response.headers.get("content-length", "")
        wanted = min(int(length), EXCERPT_BYTES) if length.isdecimal() else EXCERPT_BYTES
        self._body = (self._body + data)[:wanted]
        if len(self._body) == wanted:
            self._refused(response)

    def _refused(self, response: Response) -> None:
        status = response.status
        body = self._body.decode(errors="replace").strip()
        location = response.headers.get("location")
        self._fail(
            ConnectError(
                f"{self._address} answered with status {status}" + (f": {body}" if body else ""),
                recoverable=status >= 500 or status in _TRY_AGAIN,
                advice=None if location is None else f"Connect to {location[:200]} instead.",
                data={"status": status, "body": body},
            )
        )

    def _fail(self, error: ConnectError) -> None:
        if not self._opened.done():
            self._opened.set_exception(error)
            cast(asyncio.Transport, self._transport).abort()


log = logging.getLogger("accord.transports")

LINGER_SECONDS: Final = 2.0
"""Time in seconds that a refused client has to read the reason."""
SPARE_CONNECTIONS: Final = 64
"""Maximum number of connections over the limit that are refused with a response; further ones are
cut off without one."""


async def listen_websocket(url: str, accept: Accept, options: Options) -> WebSocketListener:
    """Listen at `url`, such as `ws://127.0.0.1:7000/rpc`; port 0 picks a free one.

    Raises ConnectError if the URL cannot be listened on.
    """
    address = parse_served_address(url)
    return await listen(address, options, lambda at: WebSocketListener(at, accept, options))


class WebSocketListener:
    """A listener for WebSockets; the owner of their channels."""

    def __init__(self, address: WebAddress, accept: Accept, options: Options) -> None:
        self.url = str(address)
        self.address = address
        self.options = options
        self.settings = WebSocketSettings.of(options, serving=True)
        self._accept = accept
        self._arrivals = Arrivals(
            address,
            lambda: ServerHandshake(self),
            options,
            has_room=lambda: self.connections < options.server_limits.max_connections,
        )
        self._handshakes: set[ServerHandshake] = set()
        self._channels: set[WebSocketChannel] = set()

    @property
    def connections(self) -> int:
        return len(self._channels) + len(self._handshakes) + self._arrivals.under_way

    @property
    def buffered_bytes(self) -> int:
        """Bytes held for incomplete messages."""
        budget = self.settings.budget
        return 0 if budget is None else budget.held

    async def start(self, sockets: list[socket.socket]) -> None:
        """Start accepting connections; the listener owns the sockets from now on."""
        await self._arrivals.start(sockets)

    async def close(self) -> None:
        await self._arrivals.close()
        for handshake in tuple(self._handshakes):
            handshake.abort()
        for channel in self._channels:
            # RFC 6455, section 7.4.1: an endpoint is going away, such as a server going down
            channel.farewell = CloseCode.GOING_AWAY

    # Callbacks of handshakes and channels

    def arrived(self, handshake: ServerHandshake) -> int:
        """Register a new connection; return how many connections there are above the limit."""
        self._handshakes.add(handshake)
        connections = len(self._channels) + len(self._handshakes)
        return connections - self.options.server_limits.max_connections

    def departed(self, handshake: ServerHandshake) -> None:
        self._handshakes.discard(handshake)

    def opened(self, channel: StreamChannel, transport: asyncio.Transport) -> None:
        self._channels.add(cast(WebSocketChannel, channel))
        try:
            self._accept(channel)
        except Exception:
            log.exception("a connection to %s could not be accepted", self.url)
            channel.abort()

    def ended(self, channel: StreamChannel) -> None:
        self._channels.discard(cast(WebSocketChannel, channel))


class _PendingHandshake(Struct, frozen=True):
    """A valid handshake whose admission is being decided."""

    request: Request
    answer: bytes
    rest: bytes
    """Data that arrived after the handshake."""


class ServerHandshake(asyncio.BufferedProtocol):
    """The server side of a connection before it becomes a WebSocket or is refused."""

    def __init__(self, listener: WebSocketListener) -> None:
        self._listener = listener
        self._limits = listener.options.server_limits
        self._buffer = receive_buffer(asyncio.get_running_loop())
        self._head = HeadBuffer(self._limits.max_header_bytes)
        self._timer: asyncio.TimerHandle | None = None
        self._refused = False
        self._deciding: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        tune(transport)
        over = self._listener.arrived(self)
        if over > SPARE_CONNECTIONS:
            self.abort()
        elif over > 0:
            log.warning("connection refused: %s has too many", self._listener.url)
            self._refuse(
                RefusedError(
                    HTTPStatus.SERVICE_UNAVAILABLE,
                    f"There are {self._limits.max_connections:,} connections, the limit.",
                    {"Retry-After": "1"},
                )
            )
        else:
            self._set_timer(self._limits.header_seconds, self._too_slow)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._refused:
            return
        try:
            received = self._head.receive(self._buffer[:nbytes].tobytes())
            if received is not None:
                self._open(*received)
        except RefusedError as error:
            self._refuse(error)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deciding is not None:
            self._deciding.cancel()
        self._leave()

    def abort(self) -> None:
        self._transport.abort()

    def _open(self, head: bytes, rest: bytes) -> None:
        listener = self._listener
        peer = self._transport.get_extra_info("peername")
        request, answer = accept(
            head,
            path=listener.address.path,
            origins=listener.options.origins,
            loopback=bool(peer) and is_loopback(peer[0]),
        )
        opening = _PendingHandshake(request, answer, rest)
        admit = listener.options.admit
        verdict = {} if admit is None else admit(request.target, request.headers)
        if isawaitable(verdict):
            self._transport.pause_reading()
            self._deciding = asyncio.get_running_loop().create_task(self._decide(verdict, opening))
        else:
            self._conclude(verdict, opening)

    async def _decide(self, verdict: Awaitable[Verdict], opening: _PendingHandshake) -> None:
        """Wait for the decision on a client, then accept or refuse the client.

        The decision has no effect once the client has disconnected or the time limit for the
        request has passed.
        """
        try:
            found = await verdict
        except Exception:
            log.exception("a connection to %s could not be judged", self._listener.url)
            found = CRASHED
        if not self._refused:
            self._transport.resume_reading()
            self._conclude(found, opening)

    def _conclude(self, verdict: Verdict, opening: _PendingHandshake) -> None:
        if isinstance(verdict, Reply):
            date = formatdate(usegmt=True)
            self._refuse_with(encode_reply(verdict.adding(CLOSE), date))
            return
        self._leave()
        self._transport.write(opening.answer)
        request, listener = opening.request, self._listener
        details = {"headers": request.headers, "target": request.target, **verdict}
        info = describe(self._transport, listener.address.scheme, details=details)
        channel = WebSocketChannel(info, listener.settings, listener)
        channel.adopt(self._transport, opening.rest)

    def _refuse(self, error: RefusedError) -> None:
        self._refuse_with(error.response())

    def _refuse_with(self, response: bytes) -> None:
        """Send a refusal, and leave time to read it.

        Closing with unread bytes would reset the connection, and the refusal could be lost.
        """
        self._refused = True
        self._set_timer(LINGER_SECONDS, self.abort)
        self._transport.write(response)
        if self._transport.can_write_eof():
            self._transport.write_eof()
        else:
            self._transport.close()

    def _too_slow(self) -> None:
        self._refuse(RefusedError(HTTPStatus.REQUEST_TIMEOUT, "The request took too long."))

    def _set_timer(self, seconds: float, callback: Callable[[], None]) -> None:
        self._cancel_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, callback)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _leave(self) -> None:
        self._cancel_timer()
        self._listener.departed(self)
