"""WebSocket frames as values: bytes in, events out, and the bytes of frames to send.

Payloads are masked (RFC 6455, section 5.3) as fast as plain Python can.
"""

from __future__ import annotations

import codecs
import struct
import sys
from enum import IntEnum
from typing import Final, TypeAlias

from msgspec import Struct

Bytes: TypeAlias = bytes | bytearray | memoryview

_LANES_FROM = 400


def mask(payload: Bytes, key: Bytes) -> bytes:
    """Return `payload` masked with the four bytes of `key`; masking twice restores it."""
    if len(payload) < _LANES_FROM:
        return _mask_as_integers(payload, key)
    return _mask_in_lanes(payload, key)


def rotate(key: bytes, by: int) -> bytes:
    """Return `key` rotated for masking the part of a payload that starts at byte `by`."""
    by &= 3
    return key[by:] + key[:by]


def _mask_as_integers(payload: Bytes, key: Bytes) -> bytes:
    size = len(payload)
    keys = (bytes(key) * (size // 4 + 1))[:size]
    masked = int.from_bytes(payload, "little") ^ int.from_bytes(keys, "little")
    return masked.to_bytes(size, "little")


def _mask_in_lanes(payload: Bytes, key: Bytes) -> bytes:
    """Mask by four table translations, as every fourth byte meets the same key byte."""
    first, second, third, fourth = key
    lanes = bytearray(payload)
    lanes[::4] = lanes[::4].translate(_XOR[first])
    lanes[1::4] = lanes[1::4].translate(_XOR[second])
    lanes[2::4] = lanes[2::4].translate(_XOR[third])
    lanes[3::4] = lanes[3::4].translate(_XOR[fourth])
    return bytes(lanes)


_XOR = tuple(_mask_as_integers(bytes(range(256)), bytes([key]) * 4) for key in range(256))
"""For each value of a key byte, the table that masks a byte with it."""


class Opcode:
    """The kinds of frames, section 5.2. Plain integers: an `IntEnum` costs 70 ns a frame."""

    CONTINUATION: Final = 0x0
    TEXT: Final = 0x1
    BINARY: Final = 0x2
    CLOSE: Final = 0x8
    PING: Final = 0x9
    PONG: Final = 0xA


class CloseCode(IntEnum):
    """The reasons to close, section 7.4: the codes that this package uses itself."""

    NORMAL = 1000
    GOING_AWAY = 1001
    PROTOCOL_ERROR = 1002
    NO_STATUS = 1005
    ABNORMAL = 1006
    INVALID_DATA = 1007
    POLICY_VIOLATION = 1008


_FIN = 0x80
_MASKED = 0x80
_WHOLE_TEXT = _FIN | Opcode.TEXT
_MAX_CONTROL_BYTES = 125
_MAX_SMALL_FRAGMENTS = 4096
"""A message of n bytes may have this many fragments plus n/32. `MAX_SMALL_CHUNKS` limits the chunks
of HTTP bodies in the same way."""
_USUAL_FRAGMENT = 32
_SENDABLE_CODES = frozenset({1000, 1001, 1002, 1003, *range(1007, 1015), *range(3000, 5000)})
"""Codes that a close frame may contain (section 7.4, and the IANA registry of close codes). Not
among them are 1004, which is reserved, and 1005, 1006 and 1015, which are never sent."""


class Message(Struct, frozen=True, gc=False):
    """A complete message, joined from its fragments."""

    data: bytes
    text: bool


class TooLarge(Struct, frozen=True, gc=False):
    """A message above the size limit; none of it is kept, and reading continues."""

    size: int
    """Number of bytes announced when the limit was exceeded; further fragments may follow."""


class Ping(Struct, frozen=True, gc=False):
    """A ping, to be answered with a pong of the same data."""

    data: bytes


class Pong(Struct, frozen=True, gc=False):
    """A pong, which shows that the other end is alive."""

    data: bytes


class Close(Struct, frozen=True, gc=False):
    """A close frame; the code is 1005 if the frame contained no code."""

    code: int
    reason: str


class Violation(Struct, frozen=True, gc=False):
    """A breach of the protocol by the other end.

    The WebSocket must be closed with the code and the reason of this event.
    """

    code: int
    reason: str


Event: TypeAlias = Message | TooLarge | Ping | Pong | Close | Violation


def frame_header(opcode: int, size: int, *, masked: bool = False) -> bytes:
    """Return the header of an unfragmented frame; a masking key must follow if `masked`."""
    # Section 5.2: the minimal number of bytes MUST be used to encode the length
    bit = _MASKED if masked else 0
    if size <= 125:
        return bytes((_FIN | opcode, bit | size))
    if size <= 0xFFFF:
        return _SHORT.pack(_FIN | opcode, bit | 126, size)
    return _LONG.pack(_FIN | opcode, bit | 127, size)


def frame(opcode: int, payload: bytes, key: bytes | None = None) -> bytes:
    """Return an unfragmented frame, masked if a `key` is given, as clients must."""
    if key is None:
        return frame_header(opcode, len(payload)) + payload
    return frame_header(opcode, len(payload), masked=True) + key + mask(payload, key)


def close_payload(code: int, reason: str = "") -> bytes:
    """Return the payload of a close frame; a long reason is cut between two characters."""
    if code == CloseCode.NO_STATUS:
        return b""
    text = reason.encode()[: _MAX_CONTROL_BYTES - 2].decode(errors="ignore")
    return code.to_bytes(2, "big") + text.encode()


class FrameReader:
    """A parser of the input of one WebSocket into events.

    `masked` is True at a server, where incoming frames must be masked, and False at a client, where
    they must not be. `max_message_bytes` limits the size of a message.
    """

    __slots__ = ("_closed", "_frame", "_header", "_limit", "_mask_bit", "unfinished")

    def __init__(self, *, masked: bool, max_message_bytes: int | None) -> None:
        self._mask_bit = _MASKED if masked else 0
        self._limit = sys.maxsize if max_message_bytes is None else max_message_bytes
        self._header = b""
        self._frame: _Frame | None = None
        self.unfinished: _Assembly | None = None
        """The message of which only a part has arrived; None if there is none."""
        self._closed = False

    def receive(self, data: Bytes) -> list[Event]:
        """Return the events that `data` completes. No reference to `data` is kept."""
        events: list[Event] = []
        if self._closed:
            return events
        try:
            self._read(data, events)
        except _ViolationError as error:
            self._end()
            events.append(Violation(error.code, error.reason))
        return events

    @property
    def held(self) -> int:
        """Bytes kept of an incomplete message."""
        return 0 if self.unfinished is None else self.unfinished.held

    def skip(self) -> None:
        """Drop the incomplete message, and the rest of it when it arrives, without an event."""
        if self.unfinished is not None:
            self.unfinished.skip()

    def _read(self, data: Bytes, events: list[Event]) -> None:
        """Read frames, one in each iteration of the loop.

        A complete text in one frame, the common case, is handled inline for speed.
        """
        if self._header:
            data = self._header + data
            self._header = b""
        position = 0
        end = len(data)
        if self._frame is not None:
            position = self._read_payload(self._frame, data, 0, events)
        while end - position >= 2 and not self._closed:
            first = data[position]
            second = data[position + 1]
            plain = (
                first == _WHOLE_TEXT
                and second & _MASKED == self._mask_bit
                and self.unfinished is None
            )
            if not plain:
                self._check_header(first, second)
            start = position + _HEADER_BYTES[second]
            if start > end:
                break
            size = second & 0x7F
            if size > 125:
                size = _extended_size(data, position)
            stop = start + size
            if plain and stop <= end and size <= self._limit:
                payload = (
                    mask(data[start:stop], data[start - 4 : start])
                    if self._mask_bit
                    else bytes(data[start:stop])
                )
                if not payload.isascii():
                    _check_utf8(payload)
                events.append(Message(payload, True))
                position = stop
            else:
                key = bytes(data[start - 4 : start]) if self._mask_bit else None
                frame = self._begin(first, size, key, events)
                position = self._read_payload(frame, data, start, events)
        if not self._closed:
            self._header = bytes(data[position:])

    def _check_header(self, first: int, second: int) -> None:
        opcode = first & 0x0F
        if first & 0x70:
            # Section 5.2: MUST be 0 unless an extension is negotiated
            raise _ViolationError("reserved bits are set")
        if second & _MASKED != self._mask_bit:
            # Section 5.1: a client MUST mask all frames, a server MUST NOT mask any
            wrong = "not masked" if self._mask_bit else "masked"
            raise _ViolationError(f"frame is {wrong}")
        match opcode:
            case Opcode.CLOSE | Opcode.PING | Opcode.PONG:
                # Section 5.5: control frames have at most 125 bytes and are not fragmented
                if not first & _FIN:
                    raise _ViolationError("control frame is fragmented")
                if second & 0x7F > _MAX_CONTROL_BYTES:
                    raise _ViolationError("control frame is over 125 bytes")
            case Opcode.CONTINUATION:
                if self.unfinished is None:
                    raise _ViolationError("continuation of no message")
            case Opcode.TEXT | Opcode.BINARY:
                if self.unfinished is not None:
                    raise _ViolationError("message begins within another one")
            case _:
                raise _ViolationError(f"opcode {opcode:#x} is reserved")

    def _begin(self, first: int, size: int, key: bytes | None, events: list[Event]) -> _Frame:
        opcode = first & 0x0F
        if opcode >= Opcode.CLOSE:
            return _Frame(_Assembly(opcode), final=True, size=size, key=key)
        if self.unfinished is None:
            self.unfinished = _Assembly(opcode)
        if self.unfinished.announce(size, self._limit):
            events.append(TooLarge(self.unfinished.size))
        return _Frame(self.unfinished, final=bool(first & _FIN), size=size, key=key)

    def _read_payload(self, frame: _Frame, data: Bytes, start: int, events: list[Event]) -> int:
        """Read the part of the payload that has arrived; return the position after it."""
        stop = min(start + frame.left, len(data))
        frame.take(data[start:stop])
        self._frame = frame if frame.left else None
        if not frame.left and frame.final:
            self._finish(frame.assembly, events)
        return stop

    def _finish(self, assembly: _Assembly, events: list[Event]) -> None:
        if assembly is self.unfinished:
            self.unfinished = None
        event = assembly.event()
        if event is not None:
            events.append(event)
        if type(event) is Close:
            self._end()

    def _end(self) -> None:
        self._closed = True
        self._frame = self.unfinished = None
        self._header = b""


class _Assembly:
    """A message or control frame that is being assembled."""

    __slots__ = ("_data", "_decoder", "_fragments", "_skipped", "opcode", "size")

    def __init__(self, opcode: int) -> None:
        self.opcode = opcode
        self.size = 0
        # One buffer, not a list of pieces: a list would take 30 bytes for each fragment of one
        self._data = bytearray()
        self._decoder: codecs.IncrementalDecoder | None = None
        self._skipped = False
        self._fragments = 0

    def announce(self, size: int, limit: int) -> bool:
        """Add the `size` of a frame to that of the message, as its header announces it.

        Returns True if the message now exceeds `limit` for the first time. Raises _ViolationError
        for too many small fragments.
        """
        self.size += size
        self._fragments += 1
        if self._fragments > _MAX_SMALL_FRAGMENTS + self.size // _USUAL_FRAGMENT:
            reason = f"{self._fragments:,} fragments for {self.size:,} bytes are too many"
            raise _ViolationError(reason, CloseCode.POLICY_VIOLATION)
        if self._skipped or self.size <= limit:
            return False
        self.skip()
        return True

    @property
    def held(self) -> int:
        return len(self._data)

    def skip(self) -> None:
        """Drop the data of the message, and ignore what follows of it."""
        self._skipped = True
        self._data = bytearray()

    def add(self, piece: Bytes, key: bytes | None) -> None:
        if self._skipped:
            return
        plain = bytes(piece) if key is None else mask(piece, key)
        if self.opcode == Opcode.TEXT:
            self._check_text(plain)
        self._data += plain

    def event(self) -> Event | None:
        """Return the event for the complete message or frame; None if it was skipped."""
        if self._skipped:
            return None
        data = bytes(self._data)
        self._data.clear()
        match self.opcode:
            case Opcode.TEXT:
                self._check_text(b"", final=True)
                return Message(data, True)
            case Opcode.BINARY:
                return Message(data, False)
            case Opcode.PING:
                return Ping(data)
            case Opcode.PONG:
                return Pong(data)
            case _:
                return _close(data)

    def _check_text(self, piece: bytes, *, final: bool = False) -> None:
        """Raise _ViolationError as soon as a text turns out not to be UTF-8 (section 8.1)."""
        if self._decoder is None:
            if piece.isascii():
                return
            self._decoder = _Utf8Decoder()
        try:
            self._decoder.decode(piece, final)
        except UnicodeDecodeError:
            raise _ViolationError("text is not UTF-8", CloseCode.INVALID_DATA) from None


class _Frame:
    """A frame whose payload is arriving."""

    __slots__ = ("_key", "_seen", "assembly", "final", "left")

    def __init__(self, assembly: _Assembly, *, final: bool, size: int, key: bytes | None) -> None:
        self.assembly = assembly
        self.final = final
        self.left = size
        self._key = key
        self._seen = 0

    def take(self, piece: Bytes) -> None:
        key = None if self._key is None else rotate(self._key, self._seen)
        self.assembly.add(piece, key)
        self._seen += len(piece)
        self.left -= len(piece)


class _ViolationError(Exception):
    def __init__(self, reason: str, code: int = CloseCode.PROTOCOL_ERROR) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def _extended_size(data: Bytes, position: int) -> int:
    if data[position + 1] & 0x7F == 126:
        size = data[position + 2] << 8 | data[position + 3]
        least = 126
    else:
        size = int.from_bytes(data[position + 2 : position + 10], "big")
        least = 0x10000
    # Section 5.2: the minimal number of bytes MUST be used; the most significant bit MUST be 0
    if size < least or size >> 63:
        raise _ViolationError("length is badly encoded")
    return size


def _check_utf8(data: bytes) -> None:
    try:
        data.decode()
    except UnicodeDecodeError:
        raise _ViolationError("text is not UTF-8", CloseCode.INVALID_DATA) from None


def _close(data: bytes) -> Close:
    if not data:
        return Close(CloseCode.NO_STATUS, "")
    # Section 5.5.1: if there is a body, the first two bytes MUST be a code
    code = int.from_bytes(data[:2], "big")
    if len(data) == 1 or code not in _SENDABLE_CODES:
        raise _ViolationError("close frame without a valid code")
    try:
        return Close(code, data[2:].decode())
    except UnicodeDecodeError:
        raise _ViolationError(
            "reason of a close frame is not UTF-8", CloseCode.INVALID_DATA
        ) from None


_Utf8Decoder = codecs.getincrementaldecoder("utf-8")
_SHORT = struct.Struct("!BBH")
_LONG = struct.Struct("!BBQ")
_HEADER_BYTES = tuple(
    2 + {126: 2, 127: 8}.get(second & 0x7F, 0) + (4 if second & _MASKED else 0)
    for second in range(256)
)
"""Length of a frame header, by the value of its second byte."""
