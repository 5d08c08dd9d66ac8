"""WebSocket as the framing of a byte stream: messages and control frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, assert_never

from accord.jsonrpc.protocol.errors import FramingError, RpcError, own_error
from accord.jsonrpc.protocol.framing import Piece
from accord.transports.websocket.frames import (
    Close,
    FrameReader,
    Message,
    Opcode,
    Ping,
    Pong,
    TooLarge,
    Violation,
    frame_header,
)
from accord.transports.websocket.masking import mask


class Binary(bytes):
    """A message received in a binary frame, or to be sent in one; all others are text."""

    __slots__ = ()


class Framed(bytes):
    """An encoded frame that is queued among the messages."""

    __slots__ = ()


class WebSocketFramer:
    """The framing of one connection. `keys` are the masking keys of a client."""

    __slots__ = ("_keys", "_max_bytes", "_reader", "heard")

    def __init__(self, max_bytes: int | None, keys: Iterator[bytes] | None = None) -> None:
        self._max_bytes = max_bytes
        self._keys = keys
        self._reader = FrameReader(masked=keys is None, max_message_bytes=max_bytes)
        self.heard = True
        """Whether data was received since this was last set to False."""

    @property
    def pending(self) -> bool:
        return self._reader.unfinished is not None

    @property
    def unfinished(self) -> object:
        """Identity of the incomplete message; None between messages."""
        return self._reader.unfinished

    @property
    def held(self) -> int:
        return self._reader.held

    def skip(self) -> None:
        self._reader.skip()

    def feed(self, data: bytes) -> list[Piece]:
        """Return the pieces that `data` completes, in order.

        Besides the usual pieces of a framing these can be `Ping` and `Close` frames, which
        `WebSocketChannel` handles.
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
