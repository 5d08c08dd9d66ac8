"""`AsgiEndpoint`: a router as an ASGI application."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any, ClassVar, cast

from accord.jsonrpc.methods.context import Observer
from accord.jsonrpc.methods.router import Router
from accord.jsonrpc.protocol.channel import Limits
from accord.jsonrpc.protocol.messages import Refused
from accord.jsonrpc.protocol.session import Statistics
from accord.jsonrpc.runtime.dispatcher import Dispatcher
from accord.jsonrpc.runtime.peer import DEFAULT_DRAIN, Peer
from accord.jsonrpc.runtime.requests import Cancellable
from accord.jsonrpc.runtime.threads import ThreadPool
from accord.transports.asgi.exchange import (
    SCOPE,
    BodyTooLargeError,
    ClientGoneError,
    Exchange,
    NoMemoryError,
)
from accord.transports.asgi.protocol import Receive, Scope, Send
from accord.transports.asgi.scope import channel_info, place_of, request_in
from accord.transports.asgi.websocket import AsgiChannel
from accord.transports.http.admission import ENDPOINT, Admission, nothing_here
from accord.transports.http.heads import MalformedError
from accord.transports.http.replies import (
    CRASHED,
    EXHAUSTED,
    Reply,
    answer_too_large,
    text_reply,
)
from accord.transports.memory_budget import MAX_BUFFERED_BYTES, MemoryBudget, Reservation
from accord.transports.pages import Pages

log = logging.getLogger("accord.transports.asgi")


class AsgiEndpoint:
    """Serves a router over HTTP and WebSocket inside any ASGI application, or as one.

        app.mount("/rpc", AsgiEndpoint(router))

    Calls are POSTs to where it is mounted, or come over a WebSocket that is opened there;
    `pages` are below it, for GET. `path` says where the endpoint is in what reaches this
    application, for servers and routers that leave the path as it is. Status codes, origins
    and limits are those of `accord.serve`; `max_buffered_bytes` is that of `ServerLimits`.
    Handlers find the request's scope in `context.state["asgi.scope"]`. Needs asyncio.
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
        """Memory for the bodies of requests, of all clients together."""
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
        """What happened over HTTP; a WebSocket's peer has its own."""
        self.peers: set[Peer] = set()
        """The WebSockets that are open now."""

    @property
    def in_flight(self) -> int:
        """How many incoming calls are being handled."""
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
        """Have a message answered; a reply for one that cannot be."""
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
        if not (type(answer) is bytes or answer is None or type(answer) is Refused):
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
        """Take part in the server's start and end, where this is the whole application."""
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
