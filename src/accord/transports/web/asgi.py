"""`WebAsgi`: an application of ours under any ASGI server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

from accord.jsonrpc.channel import ChannelInfo
from accord.jsonrpc.limits import Limits
from accord.jsonrpc.peer import DEFAULT_DRAIN
from accord.transports.asgi.exchange import BodyTooLargeError, ClientGoneError, read_body
from accord.transports.asgi.protocol import Receive, Scope, Send
from accord.transports.asgi.scope import channel_info, client_of, place_of
from accord.transports.http.fields import Fields
from accord.transports.http.heads import MalformedError, content_length, sift
from accord.transports.http.replies import CRASHED, NO_CONTENT, Reply, pairs_in, text_reply
from accord.transports.origins import is_loopback
from accord.transports.web.app import JSON, LivingApp, WebRequest

log = logging.getLogger("accord.transports.web")


class WebAsgi:
    """Serves an application inside any ASGI application, or as one.

    It answers at where it is mounted, with or without a slash behind it, and never redirects;
    `path` says where it is in what reaches it, for servers and routers that leave the path as
    it is. It needs no lifespan. Needs asyncio.
    """

    __accord_endpoint__: ClassVar = True

    def __init__(
        self,
        app: LivingApp[Any],
        *,
        path: str = "/",
        limits: Limits | None = None,
        drain: float = DEFAULT_DRAIN,
    ) -> None:
        self._app = app
        self._path = path.rstrip("/")
        self._limits = Limits() if limits is None else limits
        self._drain = drain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                with contextlib.suppress(ClientGoneError):
                    await self._serve(scope, receive, send)
            case "lifespan":
                await self._live(receive, send)
            case "websocket":
                await receive()  # that a client would like to connect
                await send({"type": "websocket.close", "code": 1008})
            case other:
                raise NotImplementedError(f"the ASGI scope {other!r} is not served")

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = AsgiExchange(scope, receive, send, self._limits)
        judged = self._judge(scope)
        if isinstance(judged, Reply):
            exchange.answer(judged)
        else:
            request, verdict = judged
            most = self._limits.max_message_bytes
            try:
                if most is not None and request.length > most:
                    raise BodyTooLargeError
                body = await read_body(receive, most)
            except BodyTooLargeError:
                assert most is not None
                exchange.answer(self._app.too_large(request, most))
            else:
                self._handle(verdict, body, exchange)
        await exchange.run()

    def _judge(self, scope: Scope) -> Reply | tuple[WebRequest, Any]:
        try:
            request = self._request(scope)
        except MalformedError as error:
            return text_reply(error.status, error.reason)
        judged = self._app.judge(request)
        return judged if isinstance(judged, Reply) else (request, judged)

    def _request(self, scope: Scope) -> WebRequest:
        """Raises MalformedError."""
        fields, _ = sift(scope["headers"])
        length = fields.get(b"content-length")
        return WebRequest(
            scope["method"],
            scope["path"],
            place_of(scope, self._path),
            scope.get("query_string", b"").decode("latin-1"),
            Fields(scope["headers"]),
            -1 if length is None else content_length(length),
            is_loopback(client_of(scope)[0]),
        )

    def _handle(self, judged: Any, body: bytes, exchange: AsgiExchange) -> None:
        try:
            self._app.handle(judged, body, exchange)
        except Exception:
            log.exception("a request could not be handled")
            exchange.fail()

    async def _live(self, receive: Receive, send: Send) -> None:
        """Take part in the server's start and end, where this is the whole application."""
        while True:
            event = await receive()
            if event["type"] == "lifespan.shutdown":
                await self._app.close(self._drain)
                await send({"type": "lifespan.shutdown.complete"})
                return
            try:
                await self._app.start()
            except Exception:
                log.exception("the application could not be started")
                await send({"type": "lifespan.startup.failed", "message": "it could not start"})
                return
            await send({"type": "lifespan.startup.complete"})


class AsgiExchange:
    """A request that came over ASGI; implements `Exchange` and `Stream`.

    What is to be sent is queued, and sent by `run`, the coroutine that the server awaits.
    """

    __slots__ = (
        "__dict__",
        "_done",
        "_gone",
        "_limits",
        "_pieces",
        "_queue",
        "_queued",
        "_receive",
        "_scope",
        "_send",
        "_streaming",
        "_wake",
        "on_gone",
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send, limits: Limits) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._limits = limits
        self._queue: list[dict[str, Any]] = []
        self._pieces: list[bytes] = []
        """Of the body; they leave together, behind the queue."""
        self._queued = 0
        self._streaming = False
        self._done = False
        """Whether the last event is in the queue."""
        self._gone = False
        self._wake: asyncio.Future[None] | None = None
        self.on_gone: Callable[[], None] | None = None

    @cached_property
    def channel(self) -> ChannelInfo:
        return channel_info(self._scope)

    # What the application says

    def answer(self, reply: Reply) -> None:
        self.reply(reply.body, status=reply.status, headers=reply.headers)

    def reply(self, body: bytes, *, status: int = 200, headers: bytes = JSON) -> None:
        assert not self._streaming, "a request is answered once"
        lines = headers
        if status not in NO_CONTENT:
            lines += b"content-length: %d\r\n" % len(body)
        self._start(status, lines)
        # RFC 9110, section 9.3.2: HEAD tells about a body that is not sent.
        unsent = self._scope["method"] == "HEAD" or status in NO_CONTENT
        self._end(b"" if unsent else body)

    def stream(self, *, status: int = 200, headers: bytes = JSON) -> AsgiExchange:
        assert not self._streaming, "a request is answered once"
        self._streaming = True
        self._start(status, headers)
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
        """The application failed: say so, or cut what it has begun."""
        if self._streaming:
            self._leave()
        else:
            self.answer(CRASHED)

    def _start(self, status: int, lines: bytes) -> None:
        headers = pairs_in(lines)
        self._put({"type": "http.response.start", "status": status, "headers": headers})

    def _end(self, body: bytes) -> None:
        self._done = True
        self.on_gone = None  # whoever would be told often refers to this, and would live on
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
        """Send what is to be sent until the request is answered or its client is gone."""
        listening: asyncio.Task[None] | None = None
        try:
            while not self._gone:
                await self._send_queue()
                if self._done:
                    return
                if listening is None:
                    listening = asyncio.get_running_loop().create_task(self._await_disconnect())
                self._wake = asyncio.get_running_loop().create_future()
                if not self._queue and not self._pieces and not self._gone:
                    await self._wake
        except (OSError, TimeoutError):  # ASGI, HTTP since version 2.4: the client is gone
            self._leave()
        except asyncio.CancelledError:
            self._leave()
            raise
        finally:
            if listening is not None:
                listening.cancel()

    async def _send_queue(self) -> None:
        while (self._queue or self._pieces) and not self._gone:
            if self._queue:
                event = self._queue.pop(0)
            else:
                body = b"".join(self._pieces)
                self._pieces.clear()
                event = {"type": "http.response.body", "body": body, "more_body": True}
            self._queued = sum(map(len, self._pieces))
            async with asyncio.timeout(self._limits.write_stall_seconds):
                await self._send(event)

    async def _await_disconnect(self) -> None:
        with contextlib.suppress(Exception):  # a server that cannot tell: then nobody listens
            while (await self._receive())["type"] != "http.disconnect":
                pass
            if not self._done:
                self._leave()

    def _leave(self) -> None:
        """The client is gone."""
        if self._gone:
            return
        self._gone = True
        self._queue.clear()
        self._pieces.clear()
        self._awake()
        gone, self.on_gone = self.on_gone, None
        if gone is not None:
            gone()
