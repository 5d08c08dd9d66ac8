"""`WebAsgi`: a `LivingApp` as an ASGI application.

One timer watches all requests in progress. Under uvicorn, applications are closed before the server
stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
from collections.abc import Awaitable, Callable
from functools import lru_cache
from inspect import isawaitable
from types import FrameType
from typing import Any, ClassVar, Final, Protocol, TypeAlias

from msgspec import Struct

from accord.jsonrpc.protocol.channel import ChannelInfo, Limits
from accord.jsonrpc.runtime.peer import DEFAULT_DRAIN
from accord.transports.asgi.scope import (
    BodyTooLargeError,
    ClientGoneError,
    NoMemoryError,
    Receive,
    Scope,
    Send,
    bound_of,
    channel_info,
    client_of,
    place_of,
    read_body,
    request_in,
)
from accord.transports.http.admission import MAX_KNOWN_HEAD_BYTES, MAX_KNOWN_HEADS
from accord.transports.http.heads import MalformedError, Pairs, WebRequest
from accord.transports.http.replies import CRASHED, NO_CONTENT, Reply, pairs_in, text_reply
from accord.transports.http.requests import BodyBudget
from accord.transports.http.web_app import JSON, LivingApp, least
from accord.transports.options import MAX_BUFFERED_BYTES, Reservation

EVERY_SECONDS: Final = 0.05
"""Seconds between two runs of the timer that checks requests in progress. Requests that end sooner
are never checked."""


class Watched(Protocol):
    """A request in progress that a timer checks for timeouts."""

    def look(self, now: float) -> None:
        """Check the request for timeouts; a `Watch` calls this while it is in progress."""


class Watch:
    """A timer that repeatedly checks the requests in progress of one application."""

    def __init__(self) -> None:
        self._watched: set[Watched] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop of the running timer; None while there is no timer."""

    def add(self, each: Watched, loop: asyncio.AbstractEventLoop) -> None:
        self._watched.add(each)
        if self._loop is not loop:
            self._loop = loop
            loop.call_later(EVERY_SECONDS, self._look, loop)

    def discard(self, each: Watched) -> None:
        self._watched.discard(each)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is not loop:
            return
        now = loop.time()
        for each in tuple(self._watched):
            each.look(now)
        if self._watched:
            loop.call_later(EVERY_SECONDS, self._look, loop)
        else:
            self._loop = None


log = logging.getLogger("accord.transports.web")

Close: TypeAlias = Callable[[], Awaitable[None]]

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

_current: StopSignals | None = None
"""The installed signal handlers; None if none are installed. One `StopSignals` is enough: only the
main thread handles signals, and it runs one event loop at a time."""


def close_before_stop(close: Close) -> None:
    """Await `close` on a signal, before the signal stops uvicorn.

    Under a server other than uvicorn, this does nothing: the other tested servers stop mounted
    applications themselves.
    """
    global _current
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    if _current is None or _current.loop is not loop:
        _current = StopSignals(loop)
        _current.install()
    _current.add(close)


class StopSignals:
    """Signal handlers that close applications, then call the handlers of uvicorn."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._servers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        """The server's own handlers, by signal number."""
        self._closes: list[Close] = []
        self._closing: asyncio.Task[None] | None = None
        self._signalled = False

    def install(self) -> None:
        for number in SIGNALS:
            handler = signal.getsignal(number)
            # uvicorn's handlers are methods of the server, which has this flag; when it ends, it
            # puts back what was there before them.
            if callable(handler) and hasattr(getattr(handler, "__self__", None), "should_exit"):
                self._servers[number] = handler
                signal.signal(number, self._handle)

    def add(self, close: Close) -> None:
        self._closes.append(close)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        # A second signal means: do not wait for the applications to close.
        if self._signalled or not self.loop.is_running():
            self._servers[number](number, frame)
            return
        self._signalled = True
        self.loop.call_soon_threadsafe(self._begin, number)

    def _begin(self, number: int) -> None:
        self._closing = self.loop.create_task(self._close(number))

    async def _close(self, number: int) -> None:
        try:
            closes = (close() for close in self._closes)
            for error in await asyncio.gather(*closes, return_exceptions=True):
                if isinstance(error, BaseException):
                    log.error("an application could not be closed", exc_info=error)
        finally:
            self._servers[number](number, None)


class AsgiExchange(Struct, eq=False):
    """A request that came over ASGI; implements `Exchange`, `Stream` and `Watched`.

    Output is queued, and sent by `run`, the coroutine that the server awaits. It is noticed that
    the client has disconnected only after the `Watch` has first checked the request.
    """

    _scope: Scope
    _receive: Receive
    _send: Send
    _limits: Limits
    _watch: Watch
    _queue: list[dict[str, Any]] = []
    _pieces: list[bytes] = []
    """Pieces of a streamed body, sent together once the queue is empty."""
    _queued: int = 0
    _streaming: bool = False
    _done: bool = False
    """True once the end of the response has been queued."""
    _gone: bool = False
    _wake: asyncio.Future[None] | None = None
    _runner: asyncio.Task[Any] | None = None
    """The task that awaits `run`, which sends the response."""
    _sending: float | None = None
    """The time at which the sending of the current event began; None while none is being sent."""
    _stalled: bool = False
    _listening: asyncio.Task[None] | None = None
    on_gone: Callable[[], None] | None = None
    reservation: Reservation | None = None
    """The memory reserved for the request's body, released when the request is answered."""

    @property
    def channel(self) -> ChannelInfo:
        return channel_info(self._scope)

    # What the application says

    def answer(self, reply: Reply) -> None:
        self.reply(reply.body, status=reply.status, headers=reply.headers)

    def reply(self, body: bytes, *, status: int = 200, headers: bytes = JSON) -> None:
        assert not self._streaming, "a request is answered once"
        pairs = [*_known_pairs(headers)]
        if status not in NO_CONTENT:
            pairs.append((b"content-length", b"%d" % len(body)))
        self._start(status, pairs)
        # RFC 9110, section 9.3.2: HEAD tells about a body that is not sent.
        unsent = self._scope["method"] == "HEAD" or status in NO_CONTENT
        self._end(b"" if unsent else body)

    def stream(self, *, status: int = 200, headers: bytes = JSON) -> AsgiExchange:
        assert not self._streaming, "a request is answered once"
        self._streaming = True
        self._start(status, [*_known_pairs(headers)])
        # Servers wait with the head for the first piece of the body.
        self._put({"type": "http.response.body", "body": b"", "more_body": True})
        return self

    def write(self, data: bytes) -> None:
        if self._done or self._gone or not data:
            return
        self._queued += len(data)
        if self._queued > self._limits.max_queued_bytes:
            log.warning("a client is cut off: it does not read its stream")
            self._leave()
            return
        self._pieces.append(data)
        self._awake()

    def close(self) -> None:
        if not self._done and not self._gone:
            self._end(b"")

    def fail(self) -> None:
        """Answer 500 because the application failed, or cut off a response already begun."""
        if self._streaming:
            self._leave()
        else:
            self.answer(CRASHED)

    def _start(self, status: int, headers: Pairs) -> None:
        self._put({"type": "http.response.start", "status": status, "headers": headers})

    def _end(self, body: bytes) -> None:
        self._done = True
        self.on_gone = None  # whoever would be told often refers to this, and would live on
        if self.reservation is not None:
            self.reservation.release()
        if self._pieces:
            body = b"".join((*self._pieces, body))
            self._pieces.clear()
        self._put({"type": "http.response.body", "body": body})

    def _put(self, event: dict[str, Any]) -> None:
        self._queue.append(event)
        self._awake()

    def _awake(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    # What the server awaits

    async def run(self) -> None:
        """Send the output until the request is answered or its client is gone."""
        loop = asyncio.get_running_loop()
        runner = self._runner = asyncio.current_task(loop)
        assert runner is not None
        self._watch.add(self, loop)
        try:
            while not self._gone:
                await self._send_queue(loop)
                if self._done:
                    return
                self._wake = loop.create_future()
                if not self._queue and not self._pieces and not self._gone:
                    await self._wake
        except OSError:  # ASGI, HTTP since version 2.4: the client is gone
            self._leave()
        except asyncio.CancelledError:
            self._leave()
            if not self._stalled or runner.uncancel() > 0:
                raise
        finally:
            self._watch.discard(self)
            if self._listening is not None:
                self._listening.cancel()

    async def _send_queue(self, loop: asyncio.AbstractEventLoop) -> None:
        while (self._queue or self._pieces) and not self._gone:
            if self._queue:
                event = self._queue.pop(0)
            else:
                body = b"".join(self._pieces)
                self._pieces.clear()
                event = {"type": "http.response.body", "body": body, "more_body": True}
            self._queued = sum(map(len, self._pieces)) if self._pieces else 0
            self._sending = loop.time()
            await self._send(event)
            self._sending = None

    def look(self, now: float) -> None:
        """Cancel a send that takes too long; otherwise begin to wait for a disconnect."""
        if self._sending is not None:
            if now - self._sending >= self._limits.write_stall_seconds and not self._stalled:
                assert self._runner is not None
                self._stalled = True
                self._runner.cancel()
        elif self._listening is None:
            listening = self._await_disconnect()
            self._listening = asyncio.get_running_loop().create_task(listening)

    async def _await_disconnect(self) -> None:
        with contextlib.suppress(Exception):  # a server that cannot tell: then nobody listens
            while (await self._receive())["type"] != "http.disconnect":
                pass
            if not self._done:
                self._leave()

    def _leave(self) -> None:
        """Drop the queued output because the client is gone, and notify the application."""
        if self._gone:
            return
        self._gone = True
        self._queue.clear()
        self._pieces.clear()
        self._awake()
        gone, self.on_gone = self.on_gone, None
        if gone is not None:
            gone()


@lru_cache(maxsize=256)
def _known_pairs(lines: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """Return header lines as pairs, with the names in lower case as ASGI requires.

    The result is cached, as responses repeat their headers.
    """
    return tuple((name.lower(), value) for name, value in pairs_in(lines))


class _Head(Struct, frozen=True):
    """The head of an admitted request, and the value that the application returned for it."""

    request: WebRequest
    judged: Any


class WebAsgi:
    """An ASGI application that serves a `LivingApp`, alone or mounted in another one.

    It answers at the path of the mount, with or without a slash after it, and never redirects;
    `path` is its path within the ASGI application, for servers and routers that do not strip it. It
    needs no lifespan events: a signal closes the application before it stops uvicorn. Under any
    server, the application is closed at the latest when the event loop ends. Needs asyncio.
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
        """The event loop that serves this application."""
        self.budget = BodyBudget(max_buffered_bytes)
        """The memory budget for the bodies of requests, shared by all clients."""
        self._known: dict[Any, _Head] = {}
        """A cache of the heads of admitted requests, as clients repeat themselves. The key has
        everything that the decision of the application depends on."""

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
        """Admit a request, read its body, and pass it to the application.

        Raises ClientGoneError if the client disconnects.
        """
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
        """Return the application's decision on a request whose body is not read yet.

        This is a refusal, or a value for `handle`.
        """
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
        """Handle the lifespan events of the ASGI server: startup and shutdown.

        The server sends them only if this is the whole application.
        """
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
