"""A channel over an open WebSocket, at either end: messages and control frames."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final, assert_never, cast

from accord.jsonrpc.protocol.channel import ChannelInfo, Receiver
from accord.jsonrpc.protocol.errors import (
    ConnectionLostError,
    FramingError,
    RpcError,
    TransportError,
    own_error,
)
from accord.jsonrpc.protocol.framing import Piece
from accord.transports.options import MemoryBudget, Options
from accord.transports.stream.channel import Owner, StreamChannel, StreamSettings
from accord.transports.websocket.frames import (
    Close,
    CloseCode,
    FrameReader,
    Message,
    Opcode,
    Ping,
    Pong,
    TooLarge,
    Violation,
    close_payload,
    frame_header,
    mask,
)


class Binary(bytes):
    """A message in a binary frame, received or to be sent; other messages are text."""

    __slots__ = ()


class Framed(bytes):
    """An encoded frame, such as a ping, that is queued for sending among the messages."""

    __slots__ = ()


class WebSocketFramer:
    """The framing of one WebSocket.

    `keys` yields the masking keys of a client; it is None at a server.
    """

    __slots__ = ("_keys", "_max_bytes", "_reader", "heard")

    def __init__(self, max_bytes: int | None, keys: Iterator[bytes] | None = None) -> None:
        self._max_bytes = max_bytes
        self._keys = keys
        self._reader = FrameReader(masked=keys is None, max_message_bytes=max_bytes)
        self.heard = True
        """True if data has arrived since the channel last set this to False."""

    @property
    def pending(self) -> bool:
        return self._reader.unfinished is not None

    @property
    def unfinished(self) -> object:
        """An object that identifies the incomplete message; None between messages."""
        return self._reader.unfinished

    @property
    def held(self) -> int:
        return self._reader.held

    def skip(self) -> None:
        self._reader.skip()

    def feed(self, data: bytes) -> list[Piece]:
        """Return the pieces that `data` completes, in order.

        A piece is a message, an error, or a `Ping` or `Close` frame, which `WebSocketChannel`
        handles.
        """
        self.heard = True
        pieces: list[Any] = []
        for event in self._reader.receive(data):
            match event:
                case Message(text=True):
                    pieces.append(event.data)
                case Message():
                    pieces.append(Binary(event.data))
                case Ping() | Close():
                    pieces.append(event)
                case TooLarge():
                    pieces.append(self._too_large(event))
                case Violation():
                    pieces.append(_violation(event))
                case Pong():
                    pass
                case _:
                    assert_never(event)
        return pieces

    def frame(self, messages: Sequence[bytes]) -> bytes:
        out: list[bytes] = []
        for message in messages:
            if type(message) is Framed:
                out.append(message)
            elif type(message) is Binary:
                self._frame(Opcode.BINARY, message, out)
            else:  # bytes, or a subclass with a meaning for other transports
                self._frame(Opcode.TEXT, message, out)
        return b"".join(out)

    def control(self, opcode: int, payload: bytes) -> Framed:
        """Return an encoded control frame, to be queued among the messages."""
        out: list[bytes] = []
        self._frame(opcode, payload, out)
        return Framed(b"".join(out))

    def _frame(self, opcode: int, payload: bytes, out: list[bytes]) -> None:
        if self._keys is None:
            out += (frame_header(opcode, len(payload)), payload)
        else:
            # Section 5.3: a new, unpredictable key for each frame
            key = next(self._keys)
            header = frame_header(opcode, len(payload), masked=True)
            out += (header, key, mask(payload, key))

    def _too_large(self, event: TooLarge) -> RpcError:
        return own_error(
            "message_too_large",
            f"message of {event.size:,} bytes is over the limit of {self._max_bytes:,}",
            maxSize=self._max_bytes,
            unit="bytes",
        )


def _violation(event: Violation) -> FramingError:
    return FramingError(
        f"the other end breaks the WebSocket protocol: {event.reason}",
        advice="Check that the other end speaks WebSocket as RFC 6455 defines it.",
        data={"code": int(event.code), "reason": event.reason},
    )


log = logging.getLogger("accord.transports")

CLOSE_SECONDS: Final = 5.0
"""Time in seconds that the other end has for its part of the closing handshake."""
_ORDERLY: Final = frozenset((CloseCode.NORMAL, CloseCode.GOING_AWAY, CloseCode.NO_STATUS))


class WebSocketSettings(StreamSettings, frozen=True, kw_only=True):
    """The settings shared by the channels of a listener, or those of a client's channel."""

    ping_seconds: float | None = None
    """Interval between pings, and the time limit for a sign of life after each."""

    def framer(self) -> WebSocketFramer:
        keys = None if self.serving else _masking_keys()
        return WebSocketFramer(self.limits.max_message_bytes, keys)

    @classmethod
    def of(cls, options: Options, *, serving: bool) -> WebSocketSettings:
        return cls(
            limits=options.limits,
            budget=MemoryBudget(options.server_limits.max_buffered_bytes) if serving else None,
            serving=serving,
            message_seconds=options.server_limits.message_seconds if serving else None,
            linger_seconds=CLOSE_SECONDS,
            ping_seconds=options.ping_seconds,
        )


class WebSocketChannel(StreamChannel):
    """One end of an open WebSocket; `adopt` takes the connection over after the handshake."""

    __slots__ = (
        "_arriving",
        "_broken",
        "_close_came",
        "_frames",
        "_late_pong",
        "_ping_timer",
        "farewell",
    )
    _settings: WebSocketSettings

    def __init__(
        self, info: ChannelInfo, settings: WebSocketSettings, owner: Owner | None = None
    ) -> None:
        super().__init__(info, settings, owner)
        self._frames = cast(WebSocketFramer, self._framer)
        self._late_pong: bytes | None = None
        self._arriving: object = None
        self._ping_timer: asyncio.TimerHandle | None = None
        self._close_came = False
        self._broken = False
        self.farewell = CloseCode.NORMAL
        """The WebSocket close code that `close` sends to the other end."""

    def adopt(self, transport: asyncio.Transport, early: bytes) -> None:
        """Take over a connection after the handshake.

        `early` is data of the WebSocket that arrived together with the handshake.
        """
        transport.set_protocol(self)
        self.connection_made(transport)
        if early:
            self.data_received(early)

    def start(self, receiver: Receiver) -> None:
        super().start(receiver)
        self._schedule_ping()

    def close(self) -> None:
        self._close(self.farewell)

    # Callbacks of the transport

    def data_received(self, data: bytes) -> None:
        if not self._ending:
            super().data_received(data)
            return
        pieces = self._frames.feed(data)
        self._frames.skip()  # only a close frame is still of use
        if any(isinstance(piece, Close | FramingError) for piece in pieces):
            self._close_came = True
            self._close_if_written()

    def eof_received(self) -> bool:
        if not self._ending:
            self._error = ConnectionLostError("the connection ended without a close frame")
        self._eof = True
        self._ending = True
        return False

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._late_pong is not None:
            self.send(self._late_pong)
            self._late_pong = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        super().connection_lost(exc)

    def _reason(self, exc: Exception | None) -> TransportError | None:
        error = super()._reason(exc)
        if isinstance(error, ConnectionLostError) and error.data is None:
            error.data = {"code": int(CloseCode.ABNORMAL), "reason": ""}
        return error

    # Incoming

    def _handle(self, piece: RpcError | Ping | Close) -> None:
        match piece:
            case Ping():
                self._pong(piece.data)
            case Close():
                self._close_came = True
                if piece.code not in _ORDERLY:
                    self._error = _closed_by(piece)
                # Section 5.5.1: an endpoint that receives a close frame MUST answer with one
                self._close(piece.code)
            case FramingError():
                where = self.info.address or "a peer"
                log.warning(
                    "the connection to %s ends, its framing is broken: %s", where, piece.message
                )
                self._error = piece
                self._broken = True
                # Section 7.1.7: tell the other end why, and read no more
                self._close(piece.data["code"], piece.data["reason"])
            case _:
                super()._handle(piece)

    def _await_rest(self, *, is_new: bool) -> None:
        """Start the time limit of a new message; control frames in it do not extend it."""
        arriving = self._frames.unfinished
        super()._await_rest(is_new=arriving is not self._arriving)
        self._arriving = arriving

    # Pings

    def _pong(self, data: bytes) -> None:
        # Section 5.5.3: an endpoint MAY send a pong for only the most recent ping. It does so
        # while writing is blocked, or pings could fill the memory
        pong = self._frames.control(Opcode.PONG, data)
        if self._paused:
            self._late_pong = pong
        else:
            self.send(pong)

    def _schedule_ping(self) -> None:
        if self._settings.ping_seconds is not None and not self._ending:
            self._ping_timer = self._loop.call_later(self._settings.ping_seconds, self._ping)

    def _ping(self) -> None:
        if self._ending:
            return
        if self._held:
            self._frames.heard = True  # reading is paused, so silence proves nothing
        elif not self._frames.heard:
            self._fail(f"no answer to a ping within {self._settings.ping_seconds:g} s")
            return
        else:
            self._frames.heard = False
            self.send(self._frames.control(Opcode.PING, b""))
        self._schedule_ping()

    # Ending

    def _close(self, code: int, reason: str = "") -> None:
        if not self._ending:
            self.send(self._frames.control(Opcode.CLOSE, close_payload(code, reason)))
            super().close()

    def _close_if_written(self) -> None:
        if self._broken:
            # Closing with unread bytes resets the connection, and can lose our close frame.
            # A stream ends its own sending side first, which avoids that
            super()._close_if_written()
        elif not self._outgoing and not self._unsent:
            if self._close_came and self._settings.serving:
                self._transport.close()
            else:
                self._transport.resume_reading()
                self._linger()


def _closed_by(close: Close) -> ConnectionLostError:
    reason = f": {close.reason}" if close.reason else ""
    return ConnectionLostError(
        f"the other end closed the WebSocket with code {close.code}{reason}",
        data={"code": close.code, "reason": close.reason},
    )


def _masking_keys() -> Iterator[bytes]:
    while True:
        pool = os.urandom(256)
        for position in range(0, len(pool), 4):
            yield pool[position : position + 4]
