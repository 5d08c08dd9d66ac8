"""Messages in a stream of bytes: newlines, `Content-Length` headers, server-sent events.

A framer takes bytes as they arrive and returns whole messages, or events about faults. Pure.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

from accord.jsonrpc.protocol.errors import FramingError, RpcError, own_error

MAX_HEADER_BYTES = 8 * 1024
"""Maximum size of the header block before a message."""

_LONG_LINE = 512
_USUAL_HEAD = re.compile(rb"Content-Length: (\d{1,18})\r\n\r\n")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_LONGEST_HEAD_END = 4
_MAX_DIGITS = 18
_BLANKS = b" \t\r"
_VISIBLE = b"!"
"""The first visible ASCII character. A line that compares less is empty, or begins with a blank or
a control character."""

Piece: TypeAlias = bytes | RpcError
"""A whole message, or the error for a message that was skipped. A `FramingError` is always the last
piece."""


class Framer(Protocol):
    """The framing of one connection: how its messages are delimited.

    It is the same for both directions.
    """

    @property
    def pending(self) -> bool:
        """True while a message has arrived in part."""

    @property
    def held(self) -> int:
        """Number of bytes kept of an incomplete message."""

    def skip(self) -> None:
        """Drop the incomplete message, and the rest of it when it arrives, without an error."""

    def feed(self, data: bytes) -> list[Piece]:
        """Return every message that `data`, the bytes received next, completes.

        They are in the order of arrival. In place of a message over the limit there is a
        message_too_large error. A `FramingError` is always the last in the list; the connection
        cannot be read after it.
        """

    def frame(self, messages: Sequence[bytes]) -> bytes:
        """Return the bytes to write in order to send `messages`."""


class NewlineFramer:
    """A framing with one message per line.

    Empty lines, lines of blanks, and a carriage return before the newline are ignored.
    """

    __slots__ = ("_max_bytes", "_partial", "_size", "_skipping")

    def __init__(self, max_bytes: int | None = None) -> None:
        self._max_bytes = sys.maxsize if max_bytes is None else max_bytes
        self._partial = bytearray()
        self._skipping = False
        self._size = 0  # of the unfinished line: more than `_partial` holds once it is too large

    @property
    def pending(self) -> bool:
        return self._size > 0

    @property
    def held(self) -> int:
        return len(self._partial)

    def skip(self) -> None:
        self._skipping = self._size > 0
        self._partial.clear()

    def feed(self, data: bytes) -> list[Piece]:
        first = data.find(b"\n")
        if first < 0:
            self._keep(data)
            return []
        lines = data.split(b"\n") if first < _LONG_LINE else _split_long(data, first)
        rest = lines.pop()
        pieces: list[Piece] = lines  # type: ignore[assignment]
        if self._skipping:
            del pieces[0]
            self._skipping, self._size = False, 0
            pieces = self._tidied(pieces)
        elif self._size:
            pieces[0] = self._finish(lines[0])
            pieces = self._tidied(pieces)
        elif b"\r" in data or len(data) > self._max_bytes or min(lines) < _VISIBLE:
            pieces = self._tidied(pieces)
        if rest:
            self._keep(rest)
        return pieces

    def frame(self, messages: Sequence[bytes]) -> bytes:
        """Return the messages as lines.

        A newline inside a message, which raw JSON of a handler may contain, becomes a space. That
        does not change the JSON: an unescaped newline can only be between values, where a space is
        allowed as well.
        """
        lines = b"\n".join((*messages, b""))
        if lines.count(b"\n") != len(messages):
            return b"\n".join((*(message.replace(b"\n", b" ") for message in messages), b""))
        return lines

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._skipping:
            return
        if self._size <= self._max_bytes + 1:  # a carriage return is not part of the message
            self._partial += part
        else:
            self._partial.clear()

    def _finish(self, end: bytes) -> Piece:
        self._keep(end)
        size, line = self._size, bytes(self._partial)
        self._size = 0
        self._partial.clear()
        return line if len(line) == size else _too_large(size, self._max_bytes)

    def _tidied(self, pieces: list[Piece]) -> list[Piece]:
        tidy: list[Piece] = []
        full: Iterator[Piece] = filter(None, pieces)  # empty lines may come by the million
        for piece in full:
            if isinstance(piece, bytes):
                size = len(piece)
                piece = piece.removesuffix(b"\r")
                if len(piece) > self._max_bytes:
                    piece = _too_large(size, self._max_bytes)
                elif piece[:1] in _BLANKS and not piece.strip(_BLANKS):
                    continue
            tidy.append(piece)
        return tidy


class ContentLengthFramer:
    """The framing of the Language Server Protocol ("Base Protocol").

    A block of headers with the length of the message precedes each message. Headers other than
    `Content-Length` are ignored. Header lines end with a carriage return and a newline; a bare
    newline is understood too.
    """

    __slots__ = ("_body", "_broken", "_head", "_max_bytes", "_missing", "_skipping")

    def __init__(self, max_bytes: int | None = None) -> None:
        self._max_bytes = sys.maxsize if max_bytes is None else max_bytes
        self._head = bytearray()
        self._body = bytearray()
        self._missing = 0  # bytes of the body that are yet to come
        self._skipping = False
        self._broken = False

    @property
    def pending(self) -> bool:
        return self._missing > 0 or len(self._head) > 0

    @property
    def held(self) -> int:
        return len(self._head) + len(self._body)

    def skip(self) -> None:
        self._skipping = self._missing > 0
        self._body.clear()

    def feed(self, data: bytes) -> list[Piece]:
        pieces: list[Piece] = []
        position = 0
        while position < len(data) and not self._broken:
            if self._missing:
                position = self._read_body(data, position, pieces)
            elif not self._head and (usual := _USUAL_HEAD.match(data, position)):
                length, position = int(usual[1]), usual.end()
                if length <= self._max_bytes and position + length <= len(data):
                    pieces.append(data[position : position + length])
                    position += length
                else:
                    self._expect(length, pieces)
            else:
                position = self._read_head(data, position, pieces)
        return pieces

    def frame(self, messages: Sequence[bytes]) -> bytes:
        return b"".join(
            [
                part
                for message in messages
                for part in (b"Content-Length: %d\r\n\r\n" % len(message), message)
            ]
        )

    def _read_head(self, data: bytes, start: int, pieces: list[Piece]) -> int:
        held = len(self._head)
        part = data[start : start + MAX_HEADER_BYTES + 1 - held]
        self._head += part
        end = _HEAD_END.search(self._head, max(0, held + 1 - _LONGEST_HEAD_END))
        try:
            _check_head(self._head, whole=end is not None)
            if end is None:
                return start + len(part)
            length = _content_length(bytes(self._head[: end.start()]))
        except FramingError as error:
            self._broken = True
            pieces.append(error)
            return len(data)
        self._head.clear()
        self._expect(length, pieces)
        return start + end.end() - held

    def _expect(self, length: int, pieces: list[Piece]) -> None:
        self._missing = length
        self._skipping = length > self._max_bytes
        if self._skipping:
            pieces.append(_too_large(length, self._max_bytes))
        elif length == 0:
            pieces.append(b"")

    def _read_body(self, data: bytes, start: int, pieces: list[Piece]) -> int:
        part = data[start : start + self._missing]
        self._missing -= len(part)
        if self._skipping:
            pass
        elif self._missing:
            self._body += part
        elif self._body:
            self._body += part
            pieces.append(bytes(self._body))
            self._body.clear()
        else:
            pieces.append(part)
        return start + len(part)


def _split_long(data: bytes, end: int) -> list[bytes]:
    """Split `data`, whose first newline is at `end`, into lines.

    For long lines this is three times faster than `data.split`, which looks at each byte; `find`
    looks at sixteen at once.
    """
    lines = []
    start = 0
    while end >= 0:
        lines.append(data[start:end])
        start = end + 1
        end = data.find(b"\n", start)
    lines.append(data[start:])
    return lines


def _check_head(head: bytearray, *, whole: bool) -> None:
    """Raise FramingError if `head` is not the beginning of a header block."""
    if head.startswith((b"{", b"[")):
        raise FramingError(
            "a message without a Content-Length header",
            advice="The other end seems to use newline framing: use the same at both ends.",
        )
    if not whole and len(head) > MAX_HEADER_BYTES:
        raise FramingError(f"header block of more than {MAX_HEADER_BYTES:,} bytes")


def _content_length(block: bytes) -> int:
    """Return the `Content-Length` in a header block.

    Raises FramingError if there is none, if there are several different ones, or if a line is no
    header.
    """
    lengths = set()
    for line in block.split(b"\n"):
        name, colon, value = line.removesuffix(b"\r").partition(b":")
        if not colon:
            raise FramingError(f"header line without a colon: {line[:80]!r}")
        if name.strip().lower() == b"content-length":
            lengths.add(_number(value.strip()))
    if len(lengths) != 1:
        raise FramingError(f"header block with {len(lengths) or 'no'} Content-Length values")
    return lengths.pop()


def _number(digits: bytes) -> int:
    if not digits.isdigit() or len(digits) > _MAX_DIGITS:
        raise FramingError(f"Content-Length is no length: {digits[:80]!r}")
    return int(digits)


def _too_large(size: int, limit: int) -> RpcError:
    return own_error(
        "message_too_large",
        f"message of {size:,} bytes is over the limit of {limit:,}",
        maxSize=limit,
        unit="bytes",
    )


MAX_EVENT_BYTES: Final = 10 * 1024 * 1024
"""Default limit on the size of one server-sent event."""
MAX_RETRY_DIGITS: Final = 9

KEEP_ALIVE: Final = b":\n\n"
"""A comment, which shows that a silent stream is alive. Its blank line completes no event; it makes
proxies flush that only flush at blank lines."""

_BOM: Final = b"\xef\xbb\xbf"
_LINE_END: Final = re.compile(rb"\r\n?|\n")
_FIELDS: Final = frozenset((b"da", b"ev", b"id", b"re"))
"""First two letters of the lines that have a meaning; other lines are comments or unknown
fields."""
_UNSAFE: Final = re.compile(r"[\r\n\0]")


class SseEvent(Struct, frozen=True):
    """One event of a stream."""

    data: bytes
    event: str = "message"
    id: str = ""
    """The last id that the stream sent, with this event or before."""


def encode_event(data: bytes, *, id: str = "", event: str = "", retry: int | None = None) -> bytes:
    """Return the bytes of an event with `data`.

    Raises ValueError for an id or an event name with a line break or NUL.
    """
    head = _line("id", id) + _line("event", event)
    if retry is not None:
        head += b"retry: %d\n" % retry
    if b"\n" in data or b"\r" in data:
        data = b"\ndata: ".join(_LINE_END.split(data))
    return head + b"data: " + data + b"\n\n"


def encode_priming(id: str, *, retry: int | None = None) -> bytes:
    """Return an event without content, which gives a client an id to resume with.

    The event is sent at once when a stream begins (MCP 2025-11-25, transports).
    """
    return encode_event(b"", id=id, retry=retry)


class SseDecoder:
    """A decoder for the bytes of one stream of server-sent events.

    An event that is not followed by a blank line is dropped. So there is nothing to do at the end
    of the stream.
    """

    __slots__ = (
        "_after_cr",
        "_changed",
        "_data",
        "_event",
        "_id",
        "_max_bytes",
        "_partial",
        "_started",
        "last_id",
        "retry_ms",
    )

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.last_id = ""
        """The `Last-Event-ID` to resume the stream with; empty if there is none."""
        self.retry_ms: int | None = None
        """The delay before resuming that the server asked for, in milliseconds."""
        self._max_bytes = max_event_bytes
        self._partial = bytearray()
        self._data: bytes | bytearray | None = None
        self._event = b""
        self._id = b""
        self._started = False
        self._changed = False
        """True if a line after the last blank line may belong to an event."""
        self._after_cr = False

    def feed(self, data: bytes) -> list[SseEvent]:
        """Return every event that `data`, the bytes received next, completes.

        Raises `MessageTooLargeError` for an event over the limit; after that the stream cannot be
        read any further.
        """
        if self._after_cr and data:
            data = data.removeprefix(b"\n")
            self._after_cr = False
        events: list[SseEvent] = []
        self._after_cr = data.endswith(b"\r") or (self._after_cr and not data)
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines and (self._partial or not self._started):
            lines[0] = self._whole(lines[0])
        for line in lines:
            # A hostile stream is full of lines that mean nothing: they take a comparison each.
            if line:
                if line[:2] in _FIELDS or len(line) > self._max_bytes:
                    self._take_line(line)
            elif self._changed:
                self._dispatch(events)
        self._partial += rest
        self._check(len(self._partial))
        return events

    def _whole(self, line: bytes) -> bytes:
        """Return the complete line of which `line` is the last part.

        The byte order mark is removed from the first line of the stream.
        """
        if self._partial:
            line = bytes(self._partial) + line
            self._partial.clear()
        if not self._started:
            self._started = True
            line = line.removeprefix(_BOM)
        return line

    def _take_line(self, line: bytes) -> None:
        self._check(len(line))
        field, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        self._changed = True
        if field == b"data":
            self._add(value)
        elif field == b"event":
            self._event = value
        elif field == b"id" and b"\0" not in value:
            self._id = value
        elif field == b"retry" and value.isdigit() and len(value) <= MAX_RETRY_DIGITS:
            self.retry_ms = int(value)

    def _dispatch(self, events: list[SseEvent]) -> None:
        self.last_id = self._id.decode(errors="replace")
        if self._data is not None:
            event = self._event.decode(errors="replace") or "message"
            events.append(SseEvent(bytes(self._data), event, self.last_id))
            self._data = None
        self._event = b""
        self._changed = False

    def _add(self, value: bytes) -> None:
        """Add a line to the data of the current event.

        Most messages have one line; only further lines cost a copy.
        """
        if self._data is None:
            self._data = value
            return
        if isinstance(self._data, bytes):
            self._data = bytearray(self._data)
        self._data += b"\n" + value

    def _check(self, size: int) -> None:
        if len(self._data or b"") + size > self._max_bytes:
            raise own_error(
                "message_too_large",
                f"event of more than {self._max_bytes:,} bytes, which is the limit",
                maxSize=self._max_bytes,
                unit="bytes",
            )


def _line(field: str, value: str) -> bytes:
    if not value:
        return b""
    if _UNSAFE.search(value):
        raise ValueError(f"the {field} of an event cannot hold a line break or NUL: {value!r}")
    return f"{field}: {value}\n".encode()
