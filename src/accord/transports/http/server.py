"""HTTP servers: JSON-RPC on one path, and applications that answer HTTP themselves."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any, Final, cast

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.messages import Failure, Id, Invalid, InvalidMessageReply, Success
from accord.jsonrpc.runtime.requests import Cancellable
from accord.transports.http.admission import Head, HeadRules
from accord.transports.http.connection import CallSite, HttpConnection, Site
from accord.transports.http.heads import QUERY
from accord.transports.http.replies import (
    CLOSE,
    CRASHED,
    NO_CONTENT,
    Reply,
    answer_too_large,
    lacking,
    start,
)
from accord.transports.http.requests import Dispatch, Wait, count_unasked
from accord.transports.http.web_app import JSON, WebApp, WebRules
from accord.transports.options import Options, Reservation
from accord.transports.sockets import Arrivals, address_of, is_wildcard, listen
from accord.transports.urls import WebAddress, is_loopback, parse_served_address

log = logging.getLogger("accord.transports.http")


class CallConnection(HttpConnection):
    """A connection whose requests go to a dispatcher; implements `RequestSource`."""

    __slots__ = ("_head",)

    _site: CallSite

    def __init__(self, site: CallSite) -> None:
        super().__init__(site)
        self._head: Head | None = None

    def _handle(self, head: Head, body: bytes) -> None:
        self._head = head
        reader = self._reader
        self._reservation, reader.reservation = reader.reservation, None
        try:
            answer = self._site.handle(body, self)
        except Exception:
            log.exception("a request of %s could not be handled", self._info.address)
            self._release()
            self._put_reply(CRASHED.adding(head.cors))
            return
        if type(answer) is bytes or answer is None or type(answer) is InvalidMessageReply:
            self._release()
            self._put(head, answer)
        else:
            self._running = cast(Cancellable, answer)

    # The dispatcher's callbacks: see `RequestSource`

    def context(self, method: str, id: Id | UnsetType) -> Context:
        assert self._head is not None
        request = self._head.request
        state = {QUERY: request.query.encode("ascii")} if request.query else {}
        return Context(method, id, channel=self._info, headers=request.fields, state=state)

    def answer(self, data: bytes | None) -> None:
        if self._running is None:  # the client is gone
            return
        self._running = None
        self._release()
        assert self._head is not None
        self._put(self._head, data)
        self._go_on()

    def settle(self, response: Success | Failure | Invalid) -> None:
        count_unasked(self._site.statistics, response)

    # Writing

    def _put(self, head: Head, answer: bytes | None) -> None:
        site = self._site
        if answer is not None and len(answer) > site.limits.max_queued_bytes:
            self._put_reply(self._answer_too_large(len(answer)).adding(head.cors))
            return
        extra = head.extra
        if head.close:
            self._last = Wait.END
        elif site.leaving:
            self._last = Wait.END
            extra = head.cors + CLOSE
        starts = site.starts
        if answer is None:
            response = b"%b%b\r\n" % (starts.nothing, extra)
        elif not extra and type(answer) is bytes:
            length = len(answer)
            response = (starts.known(length) or starts.of_length(length)) + answer
        else:
            start = starts.refused if type(answer) is InvalidMessageReply else starts.answer
            response = b"%bcontent-length: %d\r\n%b\r\n%b" % (start, len(answer), extra, answer)
        self._out.append(response)
        self._out_bytes += len(response)

    def _answer_too_large(self, size: int) -> Reply:
        most = self._site.limits.max_queued_bytes
        log.warning("%s is not answered: %d bytes are over the limit", self._info.address, size)
        return answer_too_large(size, most)


async def listen_http(url: str, dispatch: Dispatch, options: Options) -> HttpListener:
    """Serve `dispatch` at `url`, such as `http://127.0.0.1:8000/rpc`; port 0 picks a free one.

    Raises ConnectError if it cannot listen.
    """
    address = parse_served_address(url)

    def make(at: WebAddress) -> HttpListener:
        site = CallSite(at.scheme, at.path, dispatch, options)
        return HttpListener(at, site, lambda: CallConnection(site), options)

    return await listen(address, options, make)


class HttpListener:
    """A listening HTTP server. `close` ends it together with its connections."""

    def __init__(
        self,
        address: WebAddress,
        site: Site,
        connection: Callable[[], HttpConnection],
        options: Options,
    ) -> None:
        self.url = str(address)
        self._site = site
        self._arrivals = Arrivals(
            address,
            connection,
            options,
            has_room=lambda: self._site.has_room_for(self._arrivals.under_way),
        )

    async def start(self, sockets: list[socket.socket]) -> None:
        await self._arrivals.start(sockets)

    @property
    def connections(self) -> int:
        return len(self._site.connections)

    @property
    def buffered_bytes(self) -> int:
        """Number of bytes held for bodies of requests."""
        return self._site.budget.all.held

    def announce_end(self) -> None:
        """Go on serving, but end each connection with its next answer.

        The answers announce this, so that clients then connect elsewhere without an error.
        """
        self._site.leaving = True

    async def close(self) -> None:
        """Stop accepting, let running requests be answered, then end.

        Connections end with their listener, so this waits until the last one has ended. If this is
        cancelled, it cuts off the remaining connections.
        """
        await self._arrivals.close()
        await self._site.close()


web_log = logging.getLogger("accord.transports.web")

MAX_ADDRESSES: Final = 64
"""Maximum number of local addresses whose rules are cached."""


class WebSite(Site):
    """The state that the connections of an application share."""

    def __init__(self, address: WebAddress, app: WebApp[Any], options: Options) -> None:
        self.app = app
        self._address = address
        self._is_wildcard = is_wildcard(address.host)
        self._by_bound: dict[tuple[bool, str], WebRules] = {}

        def rules(loopback: bool, bound: str = "") -> WebRules:
            return WebRules(
                app,
                path=address.path,
                max_body=options.limits.max_message_bytes,
                loopback=loopback,
                bound=bound or f"{address.scheme}://{address.authority}",
            )

        self._make_rules = rules
        super().__init__(address.scheme, rules, options)

    def rules_for(self, transport: asyncio.BaseTransport) -> HeadRules:
        """Return the rules for the requests that arrive over a connection.

        A server that listens on all addresses of the machine has separate rules for each address,
        as its requests contain the address that they reached.
        """
        reached = transport.get_extra_info("sockname") if self._is_wildcard else None
        if not reached:
            return super().rules_for(transport)
        peer = transport.get_extra_info("peername")
        loopback = bool(peer) and is_loopback(peer[0])
        host = address_of(reached[0])
        found = self._by_bound.get((loopback, host))
        if found is None:
            at = replace(self._address, host=host)
            found = self._make_rules(loopback, f"{at.scheme}://{at.authority}")
            if len(self._by_bound) < MAX_ADDRESSES:
                self._by_bound[loopback, host] = found
        return found


class WebConnection(HttpConnection):
    """One connection whose requests go to an application."""

    __slots__ = ("_flushing", "_inside")

    _site: WebSite

    def __init__(self, site: WebSite) -> None:
        super().__init__(site)
        self._inside = False
        """True while `handle` of the application is running, in the call stack of this code."""
        self._flushing = False

    def _handle(self, head: Head, body: bytes) -> None:
        reader = self._reader
        exchange = ConnectionExchange(self, head, self._info, reader.reservation)
        reader.reservation = None
        self._running = exchange
        self._inside = True
        try:
            self._site.app.handle(head.judged, body, exchange)
        except Exception:  # noqa: BLE001 - the application may raise anything
            web_log.exception("a request of %s could not be handled", self._info.address)
            exchange.fail()
        finally:
            self._inside = False

    def _admit(self, head: Head) -> None:
        try:
            verdict = self._site.app.admit(head.judged, self._info)
        except Exception:  # noqa: BLE001 - the application may raise anything
            self._admission_failed()
            verdict = CRASHED
        if isawaitable(verdict):
            self._admitting = True
            task = asyncio.get_running_loop().create_task(self._decide(head, verdict))
            self._running = cast(Cancellable, task)
        else:
            self._conclude(head, verdict)

    async def _decide(self, head: Head, verdict: Awaitable[Any]) -> None:
        try:
            found = await verdict
        except Exception:  # noqa: BLE001 - the application may raise anything
            self._admission_failed()
            found = CRASHED
        if self._admitting:  # else the client is gone
            self._running = None
            self._admitting = False
            self._conclude(head, found)
            self._serve()

    def _conclude(self, head: Head, found: Any) -> None:
        """Apply the result of the application's `admit`, a refusal or a value for `handle`."""
        if isinstance(found, Reply):
            self._decided(head, replace(found, head_only=head.request.method == "HEAD"))
        else:
            self._decided(replace(head, judged=found), None)

    def _admission_failed(self) -> None:
        web_log.error("a request of %s could not be admitted", self._info.address)

    # What the exchange that is being answered says

    def put_whole(self, head: Head, status: int, headers: bytes, body: bytes) -> None:
        """Queue a whole response."""
        starts = self._site.starts
        extra = self._persistence(head) if head.close or self._site.leaving else head.extra
        size = len(body)
        if status == 200 and headers is JSON and not extra and head.request.method != "HEAD":
            response = (starts.known(size) or starts.of_length(size)) + body
        else:
            length = b"" if status in NO_CONTENT else b"content-length: %d\r\n" % size
            lines = headers + lacking(headers, starts.always)
            response = b"%b%b%b%b\r\n" % (start(status, starts.date), lines, length, extra)
            if length and head.request.method != "HEAD":
                response += body
        self._out.append(response)
        self._out_bytes += len(response)
        self._running = None
        if not self._inside:
            self._go_on()

    def put_start(self, head: Head, status: int, headers: bytes) -> None:
        """Queue the head of a response whose body is sent in pieces."""
        if head.request.minor == 1:
            lines = b"transfer-encoding: chunked\r\n" + self._persistence(head)
        else:  # RFC 9112, section 6.3: HTTP/1.0 knows only the end of the connection
            self._last = Wait.END
            lines = CLOSE
        starts = self._site.starts
        headers += lacking(headers, starts.always)
        self.put_piece(b"%b%b%b\r\n" % (start(status, starts.date), headers, lines))

    def put_piece(self, data: bytes) -> None:
        """Queue a part of a response.

        All parts that are queued in one iteration of the event loop are written together.
        """
        self._out.append(data)
        self._out_bytes += len(data)
        waiting = self._out_bytes + self._transport.get_write_buffer_size()
        if waiting > self._site.limits.max_queued_bytes:
            web_log.warning("%s is cut off: it does not read its stream", self._info.address)
            self._out.clear()
            self.abort()
        elif not self._inside and not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self._flush_pieces)

    def end_pieces(self, ending: bytes) -> None:
        """End a response that is sent in pieces."""
        if ending:
            self._out.append(ending)
        if self._site.leaving:
            self._last = Wait.END
        self._running = None
        if not self._inside:
            self._serve()

    def _flush_pieces(self) -> None:
        self._flushing = False
        if self._transport.is_closing():  # lost since they were put: uvloop would raise
            self._out.clear()
        elif self._out:
            self._flush()

    def _persistence(self, head: Head) -> bytes:
        if head.close:
            self._last = Wait.END
        elif self._site.leaving:
            self._last = Wait.END
            return CLOSE
        return head.extra


class ConnectionExchange(Struct, eq=False):
    """A request that came over a connection; implements `Exchange` and `Stream`."""

    _connection: WebConnection | None
    _head: Head
    channel: ChannelInfo
    _reservation: Reservation | None = None
    """The memory reserved for the request's body, released when the request is answered."""
    _streaming: bool = False
    on_gone: Callable[[], None] | None = None

    def reply(self, body: bytes, *, status: int = 200, headers: bytes = JSON) -> None:
        assert not self._streaming, "a request is answered once"
        connection, self._connection = self._connection, None
        self.on_gone = None  # whoever would be told often refers to this, and would live on
        if self._reservation is not None:
            self._reservation.release()
        if connection is not None:
            connection.put_whole(self._head, status, headers, body)

    def stream(self, *, status: int = 200, headers: bytes = JSON) -> ConnectionExchange:
        assert not self._streaming, "a request is answered once"
        self._streaming = True
        if self._connection is not None:
            self._connection.put_start(self._head, status, headers)
        return self

    def write(self, data: bytes) -> None:
        if self._connection is not None and data:
            piece = b"%x\r\n%b\r\n" % (len(data), data) if self._head.request.minor == 1 else data
            self._connection.put_piece(piece)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        self.on_gone = None
        if self._reservation is not None:
            self._reservation.release()
        if connection is not None:
            connection.end_pieces(b"0\r\n\r\n" if self._head.request.minor == 1 else b"")

    def cancel(self) -> None:
        """Notify the application that the client has disconnected."""
        self._connection = None
        gone, self.on_gone = self.on_gone, None
        if gone is not None:
            gone()

    def fail(self) -> None:
        """Answer 500 because the application failed, or cut off a response already begun."""
        if not self._streaming:
            self.reply(CRASHED.body, status=CRASHED.status)
        elif self._connection is not None:
            self._connection.abort()


async def listen_web(url: str, app: WebApp[Any], options: Options) -> HttpListener:
    """Serve `app` at `url`, such as `http://127.0.0.1:8000/mcp`; port 0 picks a free one.

    The application also judges requests for other paths of the same address. The caller must close
    the application together with the listener; otherwise the listener waits for open streams.
    Raises ConnectError if the URL cannot be listened on.
    """

    def make(at: WebAddress) -> HttpListener:
        site = WebSite(at, app, options)
        return HttpListener(at, site, lambda: WebConnection(site), options)

    return await listen(parse_served_address(url), options, make)
