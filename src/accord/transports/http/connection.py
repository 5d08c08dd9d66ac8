"""The connection of one client of an HTTP server, and the `Site` of a listener.

A connection reads requests, passes them on, and writes the answers in order. The site is the state
that all connections of a listener share: rules, limits, a coarse clock and a receive buffer.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from email.utils import formatdate
from math import inf
from typing import Final, Protocol, cast

from accord.jsonrpc.protocol.errors import own_error
from accord.jsonrpc.runtime.requests import Cancellable
from accord.transports.http.admission import Head, HeadRules, Rules
from accord.transports.http.replies import (
    CLOSE,
    CONTINUE,
    Reply,
    Starts,
    always_lines,
    encode_reply,
    failure_reply,
    text_reply,
)
from accord.transports.http.requests import BodyBudget, Dispatch, RequestReader, Wait
from accord.transports.options import Options, Reservation
from accord.transports.sockets import describe, tune
from accord.transports.urls import is_loopback

READ_BYTES: Final = 64 * 1024
"""Most bytes taken from a socket at once."""
MAX_TURNED_AWAY: Final = 64
"""Maximum number of connections over the limit that are refused with a reason at a time; further
ones are cut off."""
LINGER_SECONDS: Final = 2.0


class SiteConnection(Protocol):
    """The part of a connection that its site uses."""

    since: float
    """The time at which the connection began to wait for its current event (`wait`)."""

    @property
    def wait(self) -> Wait: ...

    def retire(self) -> None:
        """End the connection after the running request is answered."""

    def waited_too_long(self) -> None:
        """Handle a timeout: end the connection, or answer that the client took too long."""

    def abort(self) -> None:
        """End the connection now."""


class Site:
    """The state that all connections of one listener share."""

    def __init__(self, scheme: str, rules: Callable[[bool], HeadRules], options: Options) -> None:
        """Create a site.

        `rules(True)` returns the rules for clients on loopback, `rules(False)` those for all
        others.
        """
        self.scheme = scheme
        self.limits = options.limits
        self.server_limits = options.server_limits
        self._rules = {loopback: rules(loopback) for loopback in (False, True)}
        self.buffer = memoryview(bytearray(READ_BYTES))
        """The receive buffer of all connections; each copies its data out before the next read."""
        self.budget = BodyBudget(options.server_limits.max_buffered_bytes)
        """The memory budget for the bodies of requests, shared by all connections."""
        self.connections: set[SiteConnection] = set()
        self._turned_away: set[SiteConnection] = set()
        self.closing = False
        self.leaving = False
        """True while every answer has `Connection: close` and is the last of its connection."""
        self._patience = _timeouts(options)
        self._shortest = min(self._patience.values())
        self._loop = asyncio.get_running_loop()
        self._interval = min(1.0, max(0.01, self._shortest / 4))
        self._timer: asyncio.TimerHandle | None = None
        self._empty = asyncio.Event()
        self._empty.set()
        self._always = always_lines(options.answer_headers)
        self._second = 0
        self._tick()

    def rules_for(self, transport: asyncio.BaseTransport) -> HeadRules:
        """Return the rules for the requests that arrive over a connection."""
        peer = transport.get_extra_info("peername")
        return self._rules[bool(peer) and is_loopback(peer[0])]

    def join(self, connection: SiteConnection) -> bool:
        """Add a connection; return False if it exceeds the limit on connections."""
        room = len(self.connections) < self.server_limits.max_connections
        (self.connections if room else self._turned_away).add(connection)
        self._empty.clear()
        if self._timer is None:
            self._tick()
            self._timer = self._loop.call_later(self._interval, self._sweep)
        return room

    def leave(self, connection: SiteConnection) -> None:
        self.connections.discard(connection)
        self._turned_away.discard(connection)
        if not self.connections and not self._turned_away:
            self._empty.set()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def has_room_for(self, arriving: int) -> bool:
        """Return whether another connection can be accepted.

        Above the limit on connections, some are accepted to be refused with a reason. `arriving` is
        the number of connections that are still in their TLS handshake.
        """
        most = self.server_limits.max_connections + MAX_TURNED_AWAY
        return len(self.connections) + len(self._turned_away) + arriving < most

    @property
    def overcrowded(self) -> bool:
        """True if more than `MAX_TURNED_AWAY` connections are being refused with a reason."""
        return len(self._turned_away) > MAX_TURNED_AWAY

    async def close(self) -> None:
        """Wait until running requests are answered and all connections have ended.

        If this is cancelled, it cuts off the remaining connections.
        """
        self.closing = self.leaving = True
        for connection in tuple(self.connections):
            connection.retire()
        try:
            await self._empty.wait()
        except asyncio.CancelledError:
            for connection in (*self.connections, *self._turned_away):
                connection.abort()
            raise

    def _sweep(self) -> None:
        self._timer = self._loop.call_later(self._interval, self._sweep)
        self._tick()
        recent = self.now - self._shortest - self._interval
        for connection in (*self.connections, *self._turned_away):
            since = connection.since  # may lie up to one interval before the truth
            if since > recent:
                continue
            if self.now - since >= self._patience[connection.wait] + self._interval:
                connection.waited_too_long()

    def _tick(self) -> None:
        self.now = self._loop.time()
        second = int(time.time())
        if second != self._second:
            self._second = second
            self.starts = Starts(formatdate(second, usegmt=True), self._always)


class CallSite(Site):
    """The site of a JSON-RPC endpoint, whose requests are calls."""

    def __init__(self, scheme: str, path: str, dispatch: Dispatch, options: Options) -> None:
        self.handle = dispatch.handle
        self.statistics = dispatch.statistics
        super().__init__(
            scheme,
            lambda loopback: Rules(
                path=path,
                max_body=options.limits.max_message_bytes,
                origins=options.origins,
                loopback=loopback,
                pages=options.pages,
            ),
            options,
        )


def _timeouts(options: Options) -> dict[Wait, float]:
    """Return the timeout of a connection for each kind of wait, in seconds."""
    limits = options.server_limits
    return {
        Wait.FIRST_BYTE: limits.header_seconds,
        Wait.NEXT_REQUEST: limits.idle_seconds,
        Wait.HEAD: limits.header_seconds,
        Wait.BODY: limits.body_seconds,
        Wait.ANSWER: inf,
        Wait.ROOM: options.limits.write_stall_seconds,
        Wait.LAST_WORDS: LINGER_SECONDS,
        Wait.END: options.limits.write_stall_seconds,
    }


log = logging.getLogger("accord.transports.http")

MAX_READ_AHEAD: Final = 64 * 1024
"""Most bytes kept of further requests while one request is being answered."""
MAX_UNWRITTEN: Final = 64 * 1024
"""Number of bytes of answers above which they are written before the next request is read."""
MAX_DROPPED: Final = 4 * 1024 * 1024
"""Maximum number of bytes read from a refused client that continues to send, in addition to the
maximum size of a message. They are read because many clients send a whole body before they read the
answer."""

_BUSY: Final = failure_reply(503, own_error("busy", "too many connections"), b"retry-after: 1\r\n")


class HttpConnection(asyncio.BufferedProtocol):
    """One connection of an HTTP server, from its acceptance to its end."""

    __slots__ = (
        "_admitting",
        "_dropped",
        "_ending",
        "_fresh",
        "_info",
        "_last",
        "_linger_until",
        "_out",
        "_out_bytes",
        "_reader",
        "_reading",
        "_reservation",
        "_running",
        "_site",
        "_transport",
        "_unread",
        "_waited",
        "_writable",
        "since",
    )

    def __init__(self, site: Site) -> None:
        self._site = site
        self._running: Cancellable | None = None
        self._admitting = False
        """True while an application decides whether to admit the sender of a body not yet read."""
        self._reservation: Reservation | None = None
        """The memory reserved for the body of the running request."""
        self._linger_until = 0.0
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._reading = True
        self._writable = True
        self._fresh = True
        """True until the first request of the connection."""
        self._last: Wait | None = None
        """The event to wait for after the last answer of this connection has been written; None
        until the last answer is queued."""
        self._ending: Wait | None = None
        """The event to wait for before the connection ends; None while requests are served."""
        self._waited = Wait.FIRST_BYTE
        self._unread = 0
        """Number of bytes that a slow client had left unread at the last check."""
        self._dropped = 0
        self.since = site.now
        """The time at which the current wait began."""

    @property
    def wait(self) -> Wait:
        """The kind of event that this connection waits for."""
        if self._ending is not None:
            return self._ending
        if not self._writable:
            return Wait.ROOM
        if self._running is not None:
            return Wait.ANSWER
        wait = self._reader.wait
        return Wait.FIRST_BYTE if self._fresh and wait is Wait.NEXT_REQUEST else wait

    # The transport's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        site = self._site
        self._info = describe(transport, site.scheme, duplex=False)
        tune(transport)
        self._reader = RequestReader(
            site.rules_for(transport),
            max_head=site.server_limits.max_header_bytes,
            max_body=site.limits.max_message_bytes,
            budget=site.budget,
        )
        if site.closing:
            self._transport.abort()
            return
        room = site.join(self)
        self.since = site.now
        if not room:
            self._turn_away()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._site.buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._ending is not None:
            self._drop(nbytes)
            return
        self._reader.feed(self._site.buffer[:nbytes].tobytes())
        if self._running is None and self._writable:
            self._serve()
        else:
            self._regulate()

    def eof_received(self) -> None:
        self._cancel()
        self._begin_to_end(Wait.END)  # the transport closes itself once all is written

    def pause_writing(self) -> None:
        self._writable = False
        self._unread = self._transport.get_write_buffer_size()
        self._regulate()

    def resume_writing(self) -> None:
        self._writable = True
        if self._ending is None:
            self._serve()

    def connection_lost(self, error: Exception | None) -> None:
        self._cancel()
        self._ending = Wait.END
        self._reader.discard()
        self._site.leave(self)

    # Serving

    def _serve(self) -> None:  # noqa: C901 - once per read: further calls would cost time
        """Serve the complete requests that have arrived, and write their answers together."""
        reader = self._reader
        progress = False
        while self._running is None and self._writable and self._last is None:
            found = reader.next()
            if found is None:
                break
            if type(found) is tuple:
                progress = True
                self._handle(found[0], found[1])
            elif type(found) is Reply:
                progress = True
                self._put_reply(found)
            else:
                self._fresh = False
                self._admit(cast(Head, found))
            if self._out_bytes > MAX_UNWRITTEN:
                self._flush()
        if reader.expected and self._running is None:
            reader.expected = False
            self._out.append(CONTINUE)
        if self._out:
            self._flush()
        if progress:
            self._fresh = False
            self._waited = Wait.NEXT_REQUEST if self._running is None else Wait.ANSWER
            self.since = self._site.now
        if self._running is None and (self._last is not None or reader.finished):
            self._end(self._last or Wait.LAST_WORDS)
        elif not progress or not self._reading or reader.buffered:
            self._regulate()

    def _go_on(self) -> None:
        """Write an answer that was not ready at once.

        Then serve the requests that arrived after its request.
        """
        reader = self._reader
        if reader.buffered or reader.finished or self._last is not None or not self._reading:
            self._serve()
            return
        # The common case, written out: `_serve` would do the same.
        self._waited = Wait.NEXT_REQUEST
        self.since = self._site.now
        self._flush()

    def _regulate(self) -> None:
        """Update the event that the connection waits for; pause or resume reading if necessary."""
        wait = self.wait
        if wait is not self._waited:
            self._waited = wait
            self.since = self._site.now
        reading = self._ending is not None or (
            self._writable
            and not self._admitting
            and (self._running is None or self._reader.buffered <= MAX_READ_AHEAD)
        )
        if reading is not self._reading:
            self._reading = reading
            if reading:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def _handle(self, head: Head, body: bytes) -> None:
        """Answer a request.

        Queues the answer now, or sets `_running` to answer later.
        """
        raise NotImplementedError

    def _admit(self, head: Head) -> None:
        """Decide whether the body of a request is read.

        Calls `_decided` now, or sets `_running` to an operation that calls it later.
        """
        raise NotImplementedError

    def _decided(self, head: Head, refusal: Reply | None) -> None:
        """Read the body of the request `head`, or answer with `refusal` and skip the body."""
        if refusal is None:
            self._reader.admit(head)
            return
        reply = self._reader.refuse(head, refusal)
        if reply is not None:
            self._put_reply(reply)

    # Writing

    def _put_reply(self, reply: Reply) -> None:
        if self._reader.finished or self._site.leaving:
            self._last = Wait.LAST_WORDS
            reply = reply.adding(CLOSE)
        starts = self._site.starts
        response = encode_reply(reply, starts.date, starts.always)
        self._out.append(response)
        self._out_bytes += len(response)

    def _flush(self) -> None:
        out = self._out
        self._transport.write(out[0] if len(out) == 1 else b"".join(out))
        out.clear()
        self._out_bytes = 0

    def _cancel(self) -> None:
        running, self._running = self._running, None
        self._admitting = False
        if running is not None:
            running.cancel()
        self._release()

    def _release(self) -> None:
        """Release the memory reserved for the running request."""
        if self._reservation is not None:
            self._reservation.release()
            self._reservation = None

    # Ending

    def waited_too_long(self) -> None:
        """End a wait that exceeded its timeout; called by the sweep."""
        match self.wait:
            case Wait.FIRST_BYTE | Wait.NEXT_REQUEST:
                self._end(Wait.END)
            case Wait.BODY if self._reader.skipping:
                self._end(Wait.END)  # it was answered already
            case Wait.HEAD | Wait.BODY:
                self._say_goodbye(text_reply(408, "The request took too long to arrive"))
            case Wait.LAST_WORDS:
                self._end(Wait.END)
            case Wait.ROOM | Wait.END:
                self._check_progress()
            case Wait.ANSWER:
                pass  # how long a handler may take is not decided here

    def retire(self) -> None:
        """End the connection because the listener closes.

        If a request is running or arriving, the connection ends after its answer.
        """
        if self.wait in (Wait.FIRST_BYTE, Wait.NEXT_REQUEST):
            self._end(Wait.END)

    def abort(self) -> None:
        """End the connection now, even with requests in flight."""
        self._transport.abort()

    def _turn_away(self) -> None:
        if self._site.overcrowded:
            self._transport.abort()
        else:
            self._say_goodbye(_BUSY)

    def _say_goodbye(self, reply: Reply) -> None:
        starts = self._site.starts
        self._out.append(encode_reply(reply.adding(CLOSE), starts.date, starts.always))
        self._flush()
        self._end(Wait.LAST_WORDS)

    def _end(self, wait: Wait) -> None:
        """Close the connection; first let a client that may still send read the last answer.

        Closing while bytes are unread makes the system send a reset, which can overtake the answer
        (RFC 9112, section 9.6).
        """
        self._begin_to_end(wait)
        if wait is Wait.END:
            self._transport.close()
        elif self._transport.can_write_eof():
            self._transport.write_eof()

    def _begin_to_end(self, wait: Wait) -> None:
        self._ending = wait
        self._reader.discard()
        self._unread = self._transport.get_write_buffer_size()
        self._linger_until = self._site.now + self._site.server_limits.body_seconds
        self._regulate()

    def _drop(self, nbytes: int) -> None:
        """Read and drop the data that a client goes on sending.

        A connection that is closed with unread data would be reset, and the client might never read
        our answer.
        """
        self._dropped += nbytes
        if self._dropped > MAX_DROPPED + (self._site.limits.max_message_bytes or 0):
            self._transport.abort()
        elif self._ending is Wait.LAST_WORDS and self._site.now < self._linger_until:
            self.since = self._site.now

    def _check_progress(self) -> None:
        unread = self._transport.get_write_buffer_size()
        if unread < self._unread:
            self._unread = unread
            self.since = self._site.now
            return
        if unread:
            log.warning("%s is cut off: it does not read its answers", self._info.address)
        self._transport.abort()
