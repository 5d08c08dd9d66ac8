"""`WebAsgi`: an application of ours under any ASGI server."""

from __future__ import annotations

import asyncio
import logging
from inspect import isawaitable
from typing import Any, ClassVar

from msgspec import Struct

from accord.jsonrpc.protocol.channel import Limits
from accord.jsonrpc.runtime.peer import DEFAULT_DRAIN
from accord.transports.asgi.exchange import (
    BodyTooLargeError,
    ClientGoneError,
    NoMemoryError,
    read_body,
)
from accord.transports.asgi.protocol import Receive, Scope, Send
from accord.transports.asgi.scope import bound_of, client_of, place_of, request_in
from accord.transports.http.heads import MalformedError
from accord.transports.http.replies import CRASHED, Reply, text_reply
from accord.transports.http.requests import BodyBudget
from accord.transports.http.rules import MAX_KNOWN_HEAD_BYTES, MAX_KNOWN_HEADS
from accord.transports.memory_budget import MAX_BUFFERED_BYTES, Reservation
from accord.transports.web.app import LivingApp, WebRequest
from accord.transports.web.asgi_exchange import AsgiExchange
from accord.transports.web.rules import least
from accord.transports.web.stop_signals import close_before_stop
from accord.transports.web.watch import Watch

log = logging.getLogger("accord.transports.web")


class _Head(Struct, frozen=True):
    """The head of a request that was let in, and what the application made of it."""

    request: WebRequest
    judged: Any


class WebAsgi:
    """Serves an application inside any ASGI application, or as one.

    It answers at where it is mounted, with or without a slash behind it, and never redirects;
    `path` says where it is in what reaches it, for servers and routers that leave the path as
    it is. It needs no lifespan: on a signal the application is closed before uvicorn stops, with
    any server at the latest when the event loop ends. Needs asyncio.
    """

    __accord_endpoint__: ClassVar = True

    def __init__(
        self,
        app: LivingApp[Any],
        *,
        path: str = "/",
        limits: Limits | None = None,
        drain: float = DEFAULT_DRAIN,
        max_buffered_bytes: int | None = MAX_BUFFERED_BYTES,
    ) -> None:
        self._app = app
        self._path = path.rstrip("/")
        self._limits = Limits() if limits is None else limits
        self._drain = drain
        self._watch = Watch()
        self._loop: asyncio.AbstractEventLoop | None = None
        """The one that it is served on."""
        self.budget = BodyBudget(max_buffered_bytes)
        """Memory for the bodies of requests, of all clients together."""
        self._known: dict[Any, _Head] = {}
        """The heads that were let in, by what the application judges them by: clients repeat
        themselves."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop = loop
            close_before_stop(self._close)
        match scope["type"]:
            case "http":
                await self._serve(scope, receive, send)
            case "lifespan":
                await self._live(receive, send)
            case "websocket":
                await receive()  # that a client would like to connect
                await send({"type": "websocket.close", "code": 1008})
            case other:
                raise NotImplementedError(f"the ASGI scope {other!r} is not served")

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = AsgiExchange(scope, receive, send, self._limits, self._watch)
        head = self._judge(scope)
        if isinstance(head, Reply):
            exchange.answer(head)
        else:
            try:
                await self._read_and_handle(head, receive, exchange)
            except ClientGoneError:
                return
        await exchange.run()

    async def _read_and_handle(self, head: _Head, receive: Receive, exchange: AsgiExchange) -> None:
        """Raises ClientGoneError."""
        app, request = self._app, head.request
        limit = app.body_limit(head.judged)
        most = least(self._limits.max_message_bytes, limit.max_bytes)
        reservation = Reservation(self.budget.for_senders(anonymous=limit.anonymous))
        judged, first = head.judged, None
        try:
            if most is not None and request.length > most:
                raise BodyTooLargeError
            if "expect" not in request.fields:  # to receive is to ask for the body
                first = await receive()
            if first is None or first.get("more_body"):
                judged = await self._admit(head, exchange)
            if isinstance(judged, Reply):
                exchange.answer(judged)
                return
            body = await read_body(receive, most, reservation, first)
        except BodyTooLargeError:
            assert most is not None
            exchange.answer(app.too_large(request, most))
        except NoMemoryError:
            exchange.answer(app.exhausted(request))
        else:
            exchange.reservation = reservation
            self._handle(judged, body, exchange)

    async def _admit(self, head: _Head, exchange: AsgiExchange) -> Any:
        """Return what the application makes of a request before its body is read."""
        try:
            verdict = self._app.admit(head.judged, exchange.channel)
            return await verdict if isawaitable(verdict) else verdict
        except Exception:
            log.exception("a request could not be admitted")
            return CRASHED

    def _judge(self, scope: Scope) -> Reply | _Head:
        key = (
            scope["method"],
            scope["path"],
            scope.get("root_path", ""),
            scope.get("query_string", b""),
            client_of(scope)[0],
            bound_of(scope),
            *map(tuple, scope["headers"]),  # some servers have lists there
        )
        known = self._known.get(key)
        if known is not None:
            return known
        try:
            request = request_in(scope, place_of(scope, self._path))
        except MalformedError as error:
            return text_reply(error.status, error.reason)
        judged = self._app.judge(request)
        if isinstance(judged, Reply):
            return judged
        head = _Head(request, judged)
        if sum(len(name) + len(value) for name, value in scope["headers"]) <= MAX_KNOWN_HEAD_BYTES:
            if len(self._known) >= MAX_KNOWN_HEADS:
                self._known.clear()
            self._known[key] = head
        return head

    def _handle(self, judged: Any, body: bytes, exchange: AsgiExchange) -> None:
        try:
            self._app.handle(judged, body, exchange)
        except Exception:
            log.exception("a request could not be handled")
            exchange.fail()

    async def _close(self) -> None:
        await self._app.close(self._drain)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Take part in the server's start and end, where this is the whole application."""
        while True:
            event = await receive()
            if event["type"] == "lifespan.shutdown":
                await self._close()
                await send({"type": "lifespan.shutdown.complete"})
                return
            try:
                await self._app.start()
            except Exception:
                log.exception("the application could not be started")
                await send({"type": "lifespan.startup.failed", "message": "it could not start"})
                return
            await send({"type": "lifespan.startup.complete"})
