"""A channel over a byte stream, carried by any transport with asyncio's interface.

The channel splits input into messages, joins output into few writes, and enforces the limits
against slow readers and slow writers at the other end. It knows neither the content of messages
nor the way the connection was made.

Buffers:

    incoming   one incomplete message (in the framer) and, at a server, the rest of one read while
               the client takes no answers; a server's connections share a memory budget for both
    outgoing   `max_queued_bytes` at most; the connection is cut if more is queued

A server stops reading while its writes are blocked: it makes no new answers for a client that does
not read them. A client continues to read: otherwise two ends that both write much would wait for
each other forever. The outgoing queue of a client is bounded as well.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol, cast
from weakref import WeakKeyDictionary

from msgspec import Struct

from accord.jsonrpc.protocol.channel import ChannelInfo, Limits, Receiver
from accord.jsonrpc.protocol.errors import (
    ConnectionLostError,
    FramingError,
    RpcError,
    TransportError,
    own_error,
)
from accord.jsonrpc.protocol.framing import ContentLengthFramer, Framer, NewlineFramer, Piece
from accord.jsonrpc.protocol.messages import encode_failure
from accord.transports.options import Framing, MemoryBudget, Reservation

log = logging.getLogger("accord.transports")

CHUNK = 64 * 1024
"""Maximum bytes per read or write, and the high-water mark of a transport's write buffer."""

_FRAMERS: dict[Framing, Callable[[int | None], Framer]] = {
    "newline": NewlineFramer,
    "content-length": ContentLengthFramer,
}
_NOTHING = memoryview(b"")
NO_MEMORY = "too many large messages are being received: this one is skipped, try again later"
_CHECKS_PER_LIMIT = 4
"""Number of checks within a time limit, so that a limit is exceeded by a quarter at most."""


class StreamSettings(Struct, frozen=True, kw_only=True):
    """The settings shared by the channels of a listener, or those of a client's channel."""

    framing: Framing = "newline"
    limits: Limits = Limits()
    budget: MemoryBudget | None = None
    """Memory for incomplete messages, shared by all connections of a server."""
    serving: bool = False
    """True at a server. A server stops reading while its writes are blocked, and can still send its
    answers after the end of input."""
    message_seconds: float | None = None
    """Time limit for the rest of a message after its first byte."""
    linger_seconds: float = 0.0
    """Seconds that `close` waits until the other end has closed the connection as well. A socket
    that is closed while the other end still sends can lose the data that was written to it last."""
    close_stall_seconds: float | None = None
    """Seconds that writing may make no progress after this end began to close; None for the usual
    limit, `write_stall_seconds`."""

    def framer(self) -> Framer:
        """Return the framer of a new connection."""
        return _FRAMERS[self.framing](self.limits.max_message_bytes)

    @property
    def check_seconds(self) -> float:
        stall = self.limits.write_stall_seconds
        shortest = stall if self.message_seconds is None else min(stall, self.message_seconds)
        return shortest / _CHECKS_PER_LIMIT


class Owner(Protocol):
    """The owner of a channel, notified when the channel opens and ends."""

    def opened(self, channel: StreamChannel, transport: asyncio.Transport) -> None: ...

    def ended(self, channel: StreamChannel) -> None: ...


class StreamChannel(asyncio.BufferedProtocol):
    """A channel over one byte stream."""

    __slots__ = (
        "_arriving_since",
        "_backlog",
        "_buffer",
        "_close_by",
        "_close_taken",
        "_close_timer",
        "_ending",
        "_eof",
        "_error",
        "_flush_due",
        "_framer",
        "_handed",
        "_held",
        "_loop",
        "_lost",
        "_outgoing",
        "_outgoing_bytes",
        "_owner",
        "_paused",
        "_receiver",
        "_reservation",
        "_settings",
        "_stalled_since",
        "_taken",
        "_transport",
        "_unsent",
        "_watch_timer",
        "info",
        "writable",
    )

    def __init__(
        self, info: ChannelInfo, settings: StreamSettings, owner: Owner | None = None
    ) -> None:
        self.info = info
        self.writable = True
        self._settings = settings
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._buffer = receive_buffer(self._loop)
        self._framer = settings.framer()
        self._transport: asyncio.Transport
        self._receiver: Receiver | None = None
        self._error: TransportError | None = None
        # Incoming
        self._held = True  # delivery is paused: not started yet, or writing is blocked
        self._backlog: list[Piece] = []
        self._eof = False
        self._arriving_since: float | None = None
        budget = settings.budget
        self._reservation = None if budget is None else Reservation(budget)
        # Outgoing
        self._outgoing: list[bytes] = []
        self._outgoing_bytes = 0
        self._flush_due = False  # a flush is scheduled: at the end of this callback or loop turn
        self._unsent = _NOTHING
        self._paused = False  # the transport's write buffer is above its high-water mark
        self._handed = 0  # bytes given to the transport so far
        self._taken = 0  # bytes that had left the transport at the last check
        self._stalled_since = 0.0
        self._watch_timer: asyncio.TimerHandle | None = None
        # Ending
        self._ending = False
        self._lost = False
        self._close_by = 0.0
        self._close_taken = 0  # bytes that had left the transport at the last check of `close`
        self._close_timer: asyncio.TimerHandle | None = None

    # Channel

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        if self._lost:
            self._loop.call_soon(receiver.connection_lost, self._error)
        else:
            self._release()

    def send(self, data: bytes) -> None:
        if self._ending:
            return
        if self._paused and self._queued() > self._settings.limits.max_queued_bytes:
            self._fail(
                f"{self._queued():,} bytes wait to be written, over the limit of "
                f"{self._settings.limits.max_queued_bytes:,}"
            )
            return
        self._outgoing.append(data)
        self._outgoing_bytes += len(data)
        if self._outgoing_bytes >= CHUNK:
            self._flush()
        elif not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush)

    def close(self) -> None:
        if self._ending:
            return
        self._flush()
        self._ending = True
        self._backlog.clear()
        now = self._loop.time()
        self._close_by = now + self._settings.limits.write_stall_seconds
        self._await_writing(now)
        self._close_if_written()

    def abort(self) -> None:
        self._ending = True
        if not self._lost:
            self._transport.abort()

    # Callbacks of the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=CHUNK)
        self._transport.pause_reading()  # until `start`; uvloop needs it again, see _deliver
        if self._owner is not None:
            self._owner.opened(self, self._transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        # The buffer is shared by all channels of the loop, so copy the data before anything else.
        self.data_received(self._buffer[:nbytes].tobytes())

    def data_received(self, data: bytes) -> None:
        if self._ending:
            return
        pieces = self._framer.feed(data)
        if pieces:
            self._deliver(pieces)
        if self._framer.pending:
            self._await_rest(is_new=bool(pieces))
        elif self._arriving_since is None:
            return
        else:
            self._arriving_since = None
        if self._reservation is not None:
            self._reserve(self._reservation)

    def eof_received(self) -> bool:
        """Handle the end of input; return True to keep the connection open for writing."""
        self._eof = True
        if self._ending:
            return False
        if self._framer.pending:
            self._error = _cut_short()
        elif self._settings.serving and self._transport.can_write_eof():
            if not self._held:
                self._tell_input_ended()
            return True
        self.close()
        return False

    def pause_writing(self) -> None:
        self._paused = True
        self._taken = self._left()
        self._stalled_since = self._loop.time()
        self._watch()
        if self._settings.serving:
            self._hold()
        if self.writable:
            self._tell_writable(False)

    def resume_writing(self) -> None:
        self._paused = False
        self._write_unsent()
        self._flush()
        if self._ending:
            self._close_if_written()
        elif not self._paused:
            self._tell_writable(True)
            if self._held:
                self._release()

    def connection_lost(self, exc: Exception | None) -> None:
        self._error = self._reason(exc)
        self._lost = self._ending = True
        for timer in (self._watch_timer, self._close_timer):
            if timer is not None:
                timer.cancel()
        self._outgoing.clear()
        self._backlog.clear()
        if self._reservation is not None:
            self._framer.skip()
            self._reservation.release()
        self._unsent = _NOTHING
        if self._owner is not None:
            self._owner.ended(self)
        if self._receiver is not None:
            try:
                self._receiver.connection_lost(self._error)
            except Exception:
                log.exception("a receiver failed in connection_lost")

    def _reason(self, exc: Exception | None) -> TransportError | None:
        if isinstance(exc, TransportError):
            return exc
        if self._error is not None:
            return self._error
        if exc is None:
            return _cut_short() if self._framer.pending and not self._ending else None
        if self._close_timer is not None and not self._queued():
            return None  # all data had left before we closed: a reset by the other end is no error
        where = f" to {self.info.address}" if self.info.address else ""
        error = ConnectionLostError(f"the connection{where} was lost: {exc}")
        error.__cause__ = exc
        return error

    # Incoming

    def _deliver(self, pieces: list[Piece]) -> None:
        """Pass `pieces` to the receiver, and send its answers in one write at the end."""
        if self._held:
            self._backlog += pieces
            self._transport.pause_reading()
            return
        receiver = cast(Receiver, self._receiver)
        self._flush_due = True
        taken = 0
        try:
            for piece in pieces:
                if self._ending or self._held:
                    break
                taken += 1
                if isinstance(piece, bytes):
                    receiver.message_received(piece)
                else:
                    self._handle(piece)
        except Exception as error:  # noqa: BLE001 - a receiver may raise anything
            self._receiver_failed(error)
        if taken < len(pieces) and not self._ending:
            self._backlog = pieces[taken:]
        self._flush()

    def _reserve(self, reservation: Reservation) -> None:
        """Update the reservation of memory for incoming messages.

        If the budget is exhausted, drop the incomplete message.
        """
        held = self._framer.held
        if self._backlog:
            held += sum(len(each) for each in self._backlog if isinstance(each, bytes))
        if held == reservation.size or reservation.resize(held) or self._ending:
            return
        self._framer.skip()
        self._deliver([own_error("busy", NO_MEMORY, retryAfter=1)])

    def _handle(self, piece: RpcError) -> None:
        """Handle a piece of input that is not a message."""
        if isinstance(piece, FramingError):
            self._refuse_framing(piece)
        else:
            cast(Receiver, self._receiver).message_refused(piece)

    def _refuse_framing(self, error: FramingError) -> None:
        """Report broken framing and end the connection: nothing after it can be read."""
        where = self.info.address or "a peer"
        log.warning("the connection to %s ends, its framing is broken: %s", where, error.message)
        if not self._settings.serving:
            self._cut(error)
            return
        self._error = error
        refused = own_error("parse_error", f"Parse error: {error.message}")
        self.send(encode_failure(None, refused))
        self.close()

    def _hold(self) -> None:
        """Pause reading and delivery until `_release`."""
        self._held = True
        self._transport.pause_reading()

    def _release(self) -> None:
        self._held = False
        if self._arriving_since is not None:
            self._arriving_since = self._loop.time()  # the pause was not the sender's fault
        backlog, self._backlog = self._backlog, []
        if backlog:
            self._deliver(backlog)
            if self._reservation is not None:
                self._reserve(self._reservation)
        self._read_on()

    def _read_on(self) -> None:
        if self._held or self._ending:
            return
        if self._eof:
            self._tell_input_ended()
        elif not self._transport.is_closing():
            self._transport.resume_reading()

    def _await_rest(self, *, is_new: bool) -> None:
        if self._settings.message_seconds is not None and (is_new or self._arriving_since is None):
            self._arriving_since = self._loop.time()
            self._watch()

    def _tell_input_ended(self) -> None:
        try:
            cast(Receiver, self._receiver).input_ended()
        except Exception as error:  # noqa: BLE001 - a receiver may raise anything
            self._receiver_failed(error)

    def _tell_writable(self, writable: bool) -> None:
        self.writable = writable
        try:
            cast(Receiver, self._receiver).writable_changed(writable)
        except Exception as error:  # noqa: BLE001 - a receiver may raise anything
            self._receiver_failed(error)

    def _receiver_failed(self, error: Exception) -> None:
        log.error("a receiver failed, its connection is cut", exc_info=error)
        self._fail("what receives the messages of this connection failed")

    # Outgoing

    def _flush(self) -> None:
        self._flush_due = False
        if self._paused or not self._outgoing or self._lost:
            return
        data = self._framer.frame(self._outgoing)
        self._outgoing.clear()
        self._outgoing_bytes = 0
        if len(data) <= CHUNK:
            self._handed += len(data)
            self._transport.write(data)
        else:
            self._unsent = memoryview(data)
            self._write_unsent()

    def _write_unsent(self) -> None:
        """Write large data in chunks, so that progress can be seen.

        Under TLS a transport does not show how much of one write has been sent.
        """
        while self._unsent and not self._paused:
            chunk, self._unsent = self._unsent[:CHUNK], self._unsent[CHUNK:]
            self._handed += len(chunk)
            self._transport.write(chunk)

    def _queued(self) -> int:
        waiting = self._transport.get_write_buffer_size()
        return self._outgoing_bytes + len(self._unsent) + waiting

    # Time: one timer while a message is incomplete or writing is blocked

    def _watch(self) -> None:
        if self._watch_timer is None:
            self._watch_timer = self._loop.call_later(self._settings.check_seconds, self._check)

    def _check(self) -> None:
        self._watch_timer = None
        now = self._loop.time()
        if self._paused and self._is_stuck(now):
            seconds = self._settings.limits.write_stall_seconds
            self._fail(f"the other end has taken nothing for {seconds:g} s")
        elif self._is_overdue(now):
            seconds = cast(float, self._settings.message_seconds)
            self._fail(f"a message did not arrive whole within {seconds:g} s")
        elif self._paused or self._arriving_since is not None:
            self._watch()

    def _is_overdue(self, now: float) -> bool:
        """Return whether an incomplete message has exceeded its time limit."""
        since, seconds = self._arriving_since, self._settings.message_seconds
        if since is None or seconds is None or self._held:
            return False
        return now - since >= seconds

    def _is_stuck(self, now: float) -> bool:
        taken = self._left()
        if taken != self._taken:
            self._taken, self._stalled_since = taken, now
        return now - self._stalled_since >= self._settings.limits.write_stall_seconds

    # Ending

    def _fail(self, why: str) -> None:
        self._cut(ConnectionLostError(f"connection cut: {why}"))

    def _cut(self, error: TransportError) -> None:
        if self._error is None:
            self._error = error
        self.abort()

    def _close_if_written(self) -> None:
        if self._outgoing or self._unsent:
            return
        if self._eof or not self._settings.linger_seconds or not self._transport.can_write_eof():
            self._transport.close()
            return
        self._transport.write_eof()
        self._transport.resume_reading()  # to see the other end close
        self._linger()

    def _await_writing(self, now: float) -> None:
        stall = self._settings.close_stall_seconds
        until = self._close_by if stall is None else min(self._close_by, now + stall)
        self._close_taken = self._left()
        self._close_timer = self._loop.call_at(until, self._writing_overdue)

    def _writing_overdue(self) -> None:
        now = self._loop.time()
        if now < self._close_by and self._left() != self._close_taken:
            self._await_writing(now)
        else:
            self._close_overdue()

    def _left(self) -> int:
        """Return the number of bytes that the transport has sent so far."""
        return self._handed - self._transport.get_write_buffer_size()

    def _linger(self) -> None:
        cast(asyncio.TimerHandle, self._close_timer).cancel()
        self._close_taken = self._left()
        until = min(self._close_by, self._loop.time() + self._settings.linger_seconds)
        self._close_timer = self._loop.call_at(until, self._linger_over)

    def _linger_over(self) -> None:
        if not self._queued():
            self._transport.close()
        elif self._loop.time() >= self._close_by or self._is_left_alone:
            self._close_overdue()
        else:
            self._linger()

    @property
    def _is_left_alone(self) -> bool:
        """True if `close_stall_seconds` is set, and nothing was sent since the last check."""
        return self._settings.close_stall_seconds is not None and self._left() == self._close_taken

    def _close_overdue(self) -> None:
        if queued := self._queued():
            stall = self._settings.close_stall_seconds
            seconds = self._settings.limits.write_stall_seconds if stall is None else stall
            self._fail(f"{queued:,} bytes were not taken within {seconds:g} s of closing")
        else:
            self._transport.abort()


def _cut_short() -> ConnectionLostError:
    return ConnectionLostError("the connection ended in the middle of a message")


_buffers: WeakKeyDictionary[asyncio.AbstractEventLoop, memoryview] = WeakKeyDictionary()


def receive_buffer(loop: asyncio.AbstractEventLoop) -> memoryview:
    """Return the receive buffer that all channels of an event loop share.

    An idle channel needs no buffer of its own.
    """
    buffer = _buffers.get(loop)
    if buffer is None:
        buffer = _buffers[loop] = memoryview(bytearray(CHUNK))
    return buffer
