"""Our own HTTP server for an application: a listener and the connections of its clients."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.runtime.requests import Cancellable
from accord.transports.http.admission import Head, HeadRules
from accord.transports.http.connection import HttpConnection, Site
from accord.transports.http.replies import CLOSE, CRASHED, NO_CONTENT, Reply, lacking, start
from accord.transports.http.requests import Wait
from accord.transports.http.server import HttpListener
from accord.transports.options import Options, Reservation
from accord.transports.sockets import address_of, is_wildcard, listen
from accord.transports.urls import WebAddress, is_loopback, parse_served_address
from accord.transports.web.app import JSON, WebApp, WebRules

log = logging.getLogger("accord.transports.web")

MAX_ADDRESSES: Final = 64
"""For how many addresses of the machine rules are kept."""


class WebSite(Site):
    """What the connections of an application share."""

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
        """Return the rules for the requests of a connection. A server that listens on all addresses
        of the machine has some for each: its requests are to know which one they reached."""
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
    """One connection, from its acceptance to its end."""

    __slots__ = ("_flushing", "_inside")

    _site: WebSite

    def __init__(self, site: WebSite) -> None:
        super().__init__(site)
        self._inside = False
        """Whether a request is just being handed to the application."""
        self._flushing = False

    def _handle(self, head: Head, body: bytes) -> None:
        reader = self._reader
        exchange = ConnectionExchange(self, head, self._info, reader.reservation)
        reader.reservation = None
        self._running = exchange
        self._inside = True
        try:
            self._site.app.handle(head.judged, body, exchange)
        except Exception:
            log.exception("a request of %s could not be handled", self._info.address)
            exchange.fail()
        finally:
            self._inside = False

    def _admit(self, head: Head) -> None:
        try:
            verdict = self._site.app.admit(head.judged, self._info)
        except Exception:
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
        except Exception:
            self._admission_failed()
            found = CRASHED
        if self._admitting:  # else the client is gone
            self._running = None
            self._admitting = False
            self._conclude(head, found)
            self._serve()

    def _conclude(self, head: Head, found: Any) -> None:
        """Go on with what the application made of a request's head."""
        if isinstance(found, Reply):
            self._decided(head, replace(found, head_only=head.request.method == "HEAD"))
        else:
            self._decided(replace(head, judged=found), None)

    def _admission_failed(self) -> None:
        log.error("a request of %s could not be admitted", self._info.address)

    # What the exchange that is being answered says

    def put_whole(self, head: Head, status: int, headers: bytes, body: bytes) -> None:
        """A whole response."""
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
        """The head of a response in pieces."""
        if head.request.minor == 1:
            lines = b"transfer-encoding: chunked\r\n" + self._persistence(head)
        else:  # RFC 9112, section 6.3: HTTP/1.0 knows only the end of the connection
            self._last = Wait.END
            lines = CLOSE
        starts = self._site.starts
        headers += lacking(headers, starts.always)
        self.put_piece(b"%b%b%b\r\n" % (start(status, starts.date), headers, lines))

    def put_piece(self, data: bytes) -> None:
        """A part of a response; it leaves with the other parts of this turn of the loop."""
        self._out.append(data)
        self._out_bytes += len(data)
        waiting = self._out_bytes + self._transport.get_write_buffer_size()
        if waiting > self._site.limits.max_queued_bytes:
            log.warning("%s is cut off: it does not read its stream", self._info.address)
            self._out.clear()
            self.abort()
        elif not self._inside and not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self._flush_pieces)

    def end_pieces(self, ending: bytes) -> None:
        """The response is complete."""
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
    """Memory of the request's body, until it is answered."""
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
        """The client is gone."""
        self._connection = None
        gone, self.on_gone = self.on_gone, None
        if gone is not None:
            gone()

    def fail(self) -> None:
        """The application failed: say so, or cut what it has begun."""
        if not self._streaming:
            self.reply(CRASHED.body, status=CRASHED.status)
        elif self._connection is not None:
            self._connection.abort()


async def listen_web(url: str, app: WebApp[Any], options: Options) -> HttpListener:
    """Serve `app` at `url`, such as `http://127.0.0.1:8000/mcp`; port 0 picks a free one.

    The application is asked about other paths of the same address too. Whoever closes the
    listener closes the application with it, or waits for streams that nobody ends. Raises
    ConnectError when that cannot be.
    """

    def make(at: WebAddress) -> HttpListener:
        site = WebSite(at, app, options)
        return HttpListener(at, site, lambda: WebConnection(site), options)

    return await listen(parse_served_address(url), options, make)
