"""`AsgiEndpoint`: a router as an ASGI application, over HTTP and WebSocket.

The server does the framing and the pings of a WebSocket. A channel calls its receiver for each
message, but an ASGI application awaits each event, so a WebSocket has two loops. The reading loop
pauses while too many bytes wait to be written; the writing loop ends with `close`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from typing import Any, ClassVar, Final, cast

from msgspec import UnsetType

from accord.jsonrpc.methods.context import Context, Observer
from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.channel import ChannelInfo, Limits, Receiver
from accord.jsonrpc.protocol.errors import ConnectionLostError, TransportError, own_error
from accord.jsonrpc.protocol.messages import Failure, Id, Invalid, InvalidMessageReply, Success
from accord.jsonrpc.protocol.session import Statistics
from accord.jsonrpc.runtime.dispatcher import Dispatcher
from accord.jsonrpc.runtime.peer import DEFAULT_DRAIN, Peer
from accord.jsonrpc.runtime.requests import Cancellable
from accord.jsonrpc.runtime.threads import ThreadPool
from accord.transports.asgi.scope import (
    BodyTooLargeError,
    ClientGoneError,
    Event,
    NoMemoryError,
    Receive,
    Scope,
    Send,
    channel_info,
    place_of,
    read_body,
    request_in,
)
from accord.transports.http.admission import ENDPOINT, Admission, nothing_here
from accord.transports.http.heads import Fields, MalformedError, Pairs
from accord.transports.http.replies import (
    CRASHED,
    EXHAUSTED,
    NO_CONTENT,
    Reply,
    answer_too_large,
    pairs_in,
    text_reply,
)
from accord.transports.http.requests import count_unasked
from accord.transports.options import MAX_BUFFERED_BYTES, MemoryBudget, Reservation
from accord.transports.pages import Pages

log = logging.getLogger("accord.transports.asgi")

HIGH_WATER: Final = 64 * 1024
"""Number of bytes waiting to be written above which `writable` becomes False."""

_ORDERLY: Final = (1000, 1001, 1005)
"""Close codes of an orderly end: normal, going away, no status (RFC 6455, section 7.4.1)."""


class AsgiChannel:
    """The channel of one accepted WebSocket.

    `run` carries the messages; see `Channel` for the other methods.
    """

    def __init__(self, info: ChannelInfo, limits: Limits, receive: Receive, send: Send) -> None:
        self._info = info
        self._limits = limits
        self._receive_event = receive
        self._send_event = send
        self._receiver: Receiver
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self._queued = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._closing = False
        self._error: TransportError | None = None
        self._tasks: tuple[asyncio.Task[None], ...] = ()

    @property
    def info(self) -> ChannelInfo:
        return self._info

    @property
    def writable(self) -> bool:
        return self._room.is_set()

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def send(self, data: bytes) -> None:
        if self._closing:
            return
        most = self._limits.max_queued_bytes
        if not self.writable and self._queued_bytes > most:
            waiting = f"{self._queued_bytes:,} bytes wait to be written, over the limit of {most:,}"
            self._fail(waiting)
            return
        self._queue.append(data)
        self._queued_bytes += len(data)
        self._queued.set()
        if self.writable and self._queued_bytes > HIGH_WATER:
            self._room.clear()
            self._receiver.writable_changed(False)

    def close(self) -> None:
        self._closing = True
        self._queued.set()

    def abort(self) -> None:
        self._closing = True
        for task in self._tasks:
            task.cancel()

    async def run(self) -> None:
        """Carry messages from `start` to the end of the connection.

        Raises what the `receive` and `send` functions of the ASGI server raise.
        """
        self._tasks = (
            asyncio.ensure_future(self._read()),
            asyncio.ensure_future(self._write()),
        )
        try:
            done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.abort()
            self._receiver.connection_lost(self._error)
        for task in done:
            if not task.cancelled():
                task.result()

    # Reading

    async def _read(self) -> None:
        while True:
            event = await self._receive_event()
            if event["type"] == "websocket.disconnect":
                self._note_end(event)
                return
            if not self._closing:
                try:
                    self._take(event)
                except Exception:
                    log.exception("a message of %s could not be handled", self._info.address)
                    self._fail("a message could not be handled")
            await self._room.wait()

    def _take(self, event: Event) -> None:
        text = event.get("text")
        data = event["bytes"] if text is None else text.encode()
        most = self._limits.max_message_bytes
        if most is not None and len(data) > most:
            why = f"message of {len(data):,} bytes is over the limit of {most:,}"
            error = own_error("message_too_large", why, maxSize=most, unit="bytes")
            self._receiver.message_refused(error)
        else:
            self._receiver.message_received(data)

    def _note_end(self, event: Event) -> None:
        code, reason = event.get("code", 1005), event.get("reason") or ""
        if code not in _ORDERLY and not self._closing:
            self._error = ConnectionLostError(
                f"the WebSocket ended with code {code}", data={"code": code, "reason": reason}
            )

    # Writing

    async def _write(self) -> None:
        try:
            while not (self._closing and not self._queue):
                if self._queue:
                    await self._write_next()
                else:
                    self._queued.clear()
                    await self._queued.wait()
            await self._send_event({"type": "websocket.close", "code": 1000})
        except TimeoutError:
            self._error = ConnectionLostError(
                f"the other end took nothing for {self._limits.write_stall_seconds:g} s"
            )
        except OSError as error:  # ASGI: the client is gone
            self._error = ConnectionLostError(f"the connection was lost: {error}")

    async def _write_next(self) -> None:
        data = self._queue.popleft()
        async with asyncio.timeout(self._limits.write_stall_seconds):
            await self._send_event({"type": "websocket.send", "text": data.decode()})
        self._queued_bytes -= len(data)
        if not self.writable and self._queued_bytes <= HIGH_WATER:
            self._room.set()
            self._receiver.writable_changed(True)

    def _fail(self, why: str) -> None:
        log.warning("%s is cut off: %s", self._info.address, why)
        self._error = ConnectionLostError(why)
        self.abort()


SCOPE: Final = "asgi.scope"
"""The key in `Context.state` under which handlers find the ASGI scope of the request."""

_JSON: Final = (b"content-type", b"application/json")


class Exchange:
    """One HTTP request, until it is answered; implements `RequestSource`."""

    __slots__ = (
        "_answered",
        "_gone",
        "_receive",
        "_running",
        "_scope",
        "_send",
        "_statistics",
        "cors",
        "fields",
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send, statistics: Statistics) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._statistics = statistics
        self._gone = False
        self._running: Cancellable
        self._answered: asyncio.Future[bytes | None]
        self.fields = Fields([])
        """The header fields of the request; empty until they have been read."""
        self.cors = b""
        """Header lines that allow a page of another origin to read the response."""

    async def body(self, most: int | None, reservation: Reservation) -> bytes:
        """Read and return the body of the request.

        Raises BodyTooLargeError for more than `most` bytes, NoMemoryError if the budget of
        `reservation` is used up, ClientGoneError if the client disconnects.
        """
        return await read_body(self._receive, most, reservation)

    async def outcome(self, running: Cancellable) -> bytes | None:
        """Wait for the running request, and return its answer.

        Raises ClientGoneError if the client disconnects.
        """
        loop = asyncio.get_running_loop()
        self._running = running
        self._answered = loop.create_future()
        listening = loop.create_task(self._await_disconnect())
        try:
            answer = await self._answered
        except asyncio.CancelledError:
            running.cancel()
            raise
        finally:
            listening.cancel()
        if self._gone:
            raise ClientGoneError
        return answer

    async def _await_disconnect(self) -> None:
        with contextlib.suppress(Exception):  # a server that cannot tell: then nobody listens
            event = await self._receive()
            if event["type"] == "http.disconnect" and not self._answered.done():
                self._gone = True
                self._running.cancel()
                self._answered.set_result(None)

    # The dispatcher's callbacks: see `RequestSource`

    def context(self, method: str, id: Id | UnsetType) -> Context:
        scope = self._scope
        return Context(
            method,
            id,
            channel=channel_info(scope),
            headers=self.fields,
            state={SCOPE: scope},
        )

    def answer(self, data: bytes | None) -> None:
        if not self._answered.done():
            self._answered.set_result(data)

    def settle(self, response: Success | Failure | Invalid) -> None:
        count_unasked(self._statistics, response)

    # Answering

    async def send_answer(self, answer: bytes | None) -> None:
        """Send the dispatcher's answer; None becomes a response without content."""
        if answer is None:
            await self._respond(204, [], b"")
            return
        status = 400 if type(answer) is InvalidMessageReply else 200
        await self._respond(status, [_JSON, _length(answer)], answer)

    async def send_reply(self, reply: Reply) -> None:
        """Send a reply that is not the answer of a method."""
        pairs = reply.pairs
        if reply.status not in NO_CONTENT:
            pairs.append(_length(reply.body))
        # RFC 9110, section 9.3.2: HEAD tells about a body that is not sent.
        await self._respond(
            reply.status, pairs, b"" if self._scope["method"] == "HEAD" else reply.body
        )

    async def _respond(self, status: int, headers: Pairs, body: bytes) -> None:
        if self.cors:
            headers += pairs_in(self.cors)
        try:
            await self._send({"type": "http.response.start", "status": status, "headers": headers})
            await self._send({"type": "http.response.body", "body": body})
        except OSError:
            pass  # ASGI, HTTP since version 2.4: the client is gone


def _length(body: bytes) -> tuple[bytes, bytes]:
    return b"content-length", b"%d" % len(body)


class AsgiEndpoint:
    """Serves a router over HTTP and WebSocket, alone or inside any ASGI application.

        app.mount("/rpc", AsgiEndpoint(router))

    Calls are POSTs to the path of the mount, or come over a WebSocket that is opened there. `pages`
    are served by GET below that path. `path` is the path of the endpoint within this application,
    for servers and routers that do not strip it. Status codes, origins and limits are those of
    `accord.serve`; `max_buffered_bytes` is that of `ServerLimits`. Handlers find the request's
    scope in `context.state["asgi.scope"]`. Needs asyncio.
    """

    __accord_endpoint__: ClassVar = True

    def __init__(
        self,
        router: Router,
        *,
        path: str = "/",
        pages: Pages | None = None,
        limits: Limits | None = None,
        origins: tuple[str, ...] | None = None,
        threads: ThreadPool | None = None,
        drain: float = DEFAULT_DRAIN,
        strict_codes: bool = False,
        debug: bool = False,
        observer: Observer | None = None,
        max_buffered_bytes: int | None = MAX_BUFFERED_BYTES,
    ) -> None:
        self._router = router
        self.budget = MemoryBudget(max_buffered_bytes)
        """The memory budget for the bodies of requests, shared by all clients."""
        self._path = path.rstrip("/")
        self._limits = Limits() if limits is None else limits
        self._drain = drain
        self._options: dict[str, Any] = {
            "threads": threads,
            "strict_codes": strict_codes,
            "debug": debug,
            "observer": observer,
        }
        self._admission = Admission(
            max_body=self._limits.max_message_bytes,
            origins=origins,
            pages={} if pages is None else pages,
        )
        self._dispatchers: dict[asyncio.AbstractEventLoop, Dispatcher] = {}
        self.statistics = Statistics()
        """The counters of calls over HTTP; the peer of each WebSocket has its own."""
        self.peers: set[Peer] = set()
        """The peers of all open WebSockets."""

    @property
    def in_flight(self) -> int:
        """Number of incoming calls being handled."""
        servers: list[Dispatcher | Peer] = [*self._dispatchers.values(), *self.peers]
        return sum(server.in_flight for server in servers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                with contextlib.suppress(ClientGoneError):
                    await self._serve(scope, Exchange(scope, receive, send, self.statistics))
            case "lifespan":
                await self._live(receive, send)
            case "websocket":
                await self._open(scope, receive, send)
            case other:
                raise NotImplementedError(f"the ASGI scope {other!r} is not served")

    # One request

    async def _serve(self, scope: Scope, exchange: Exchange) -> None:
        place = place_of(scope, self._path)
        if place is None or not self._admission.knows(place):
            endpoint = f"{scope.get('root_path', '')}{self._path}"
            await exchange.send_reply(nothing_here(endpoint or "/"))
            return
        try:
            request = request_in(scope, place)
        except MalformedError as error:
            await exchange.send_reply(text_reply(error.status, error.reason))
            return
        exchange.fields = request.fields
        exchange.cors = self._admission.origins.lines(request)
        reply = self._admission.reply(request, place)
        if reply is None:
            reply = await self._call(exchange)
        if reply is not None:
            await exchange.send_reply(reply)

    async def _call(self, exchange: Exchange) -> Reply | None:
        """Read the body of a request and serve the message in it.

        Returns the reply to send if the message cannot be served; None after an answer.
        """
        reservation = Reservation(self.budget)
        try:
            body = await exchange.body(self._limits.max_message_bytes, reservation)
        except BodyTooLargeError:
            return self._admission.too_large
        except NoMemoryError:
            return EXHAUSTED
        try:
            return await self._answer(body, exchange)
        finally:
            reservation.release()

    async def _answer(self, body: bytes, exchange: Exchange) -> Reply | None:
        try:
            answer = self._dispatcher().handle(body, exchange)
        except Exception:
            log.exception("a request could not be handled")
            return CRASHED
        if not (type(answer) is bytes or answer is None or type(answer) is InvalidMessageReply):
            answer = await exchange.outcome(cast(Cancellable, answer))
        most = self._limits.max_queued_bytes
        if answer is not None and len(answer) > most:
            log.warning("a call is not answered: %d bytes are over the limit", len(answer))
            return answer_too_large(len(answer), most)
        await exchange.send_answer(answer)
        return None

    # One WebSocket

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # that a client would like to connect
        if not self._lets_in(scope):
            # ASGI, WebSocket: closed before it is accepted, the client is answered 403.
            await send({"type": "websocket.close", "code": 1008})
            return
        await send({"type": "websocket.accept"})
        channel = AsgiChannel(channel_info(scope), self._limits, receive, send)
        peer = Peer(channel, self._router, limits=self._limits, **self._options)
        peer.call_state[SCOPE] = scope
        self.peers.add(peer)
        try:
            await channel.run()
        finally:
            self.peers.discard(peer)

    def _lets_in(self, scope: Scope) -> bool:
        place = place_of(scope, self._path)
        try:
            return place == ENDPOINT and self._admission.origins.let_in(request_in(scope, place))
        except MalformedError:
            return False

    # Loops, beginning and end

    def _dispatcher(self) -> Dispatcher:
        loop = asyncio.get_running_loop()
        return self._dispatchers.get(loop) or self._new_dispatcher(loop)

    def _new_dispatcher(self, loop: asyncio.AbstractEventLoop) -> Dispatcher:
        dispatcher = Dispatcher(
            self._router,
            limits=self._limits,
            statistics=self.statistics,
            shared=True,
            **self._options,
        )
        # Under a test client each request may have a loop of its own.
        open_ones = {old: it for old, it in self._dispatchers.items() if not old.is_closed()}
        self._dispatchers = {**open_ones, loop: dispatcher}
        return dispatcher

    async def _live(self, receive: Receive, send: Send) -> None:
        """Handle the lifespan events of the ASGI server: startup and shutdown.

        The server sends them only if this endpoint is the whole application.
        """
        loop = asyncio.get_running_loop()
        while True:
            event = await receive()
            if event["type"] == "lifespan.shutdown":
                dispatcher = self._dispatchers.pop(loop, None)
                if dispatcher is not None:
                    await dispatcher.drain(self._drain)
                await send({"type": "lifespan.shutdown.complete"})
                return
            await send({"type": "lifespan.startup.complete"})
