"""How messages are told apart in a stream of bytes: by newlines, or by `Content-Length` headers.

A framer is a value machine: bytes in, whole messages out, and messages in, bytes out. It
knows no socket and no clock, and it does not look into a message. What it holds back is
never more than one message of the size limit: the excess of a larger one is counted and
dropped as it comes, and the framer goes on with the next message.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeAlias

from accord.jsonrpc.errors import FramingError, RpcError, own_error

MAX_HEADER_BYTES = 8 * 1024
"""Largest header block before a message; what is larger is no header block."""

_LONG_LINE = 512
_USUAL_HEAD = re.compile(rb"Content-Length: (\d{1,18})\r\n\r\n")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_LONGEST_HEAD_END = 4
_MAX_DIGITS = 18
_BLANKS = b" \t\r"
_VISIBLE = b"!"
"""A line that is less than this is empty or begins with a blank."""

Piece: TypeAlias = bytes | RpcError
"""A whole message, or the error that says why one was skipped. A `FramingError` is the last."""


class Framer(Protocol):
    """One direction-neutral framing of one connection."""

    @property
    def pending(self) -> bool:
        """Whether a message has begun to arrive and is not whole yet."""

    @property
    def held(self) -> int:
        """How many bytes are kept of a message that is not whole yet."""

    def skip(self) -> None:
        """Drop the message that is not whole yet, and silently what is still to come of it."""

    def feed(self, data: bytes) -> list[Piece]:
        """Take in what arrived; return every message that is whole now, in order.

        An oversized message is a message_too_large error in its place. After a
        `FramingError`, always the last in the list, nothing more comes.
        """

    def frame(self, messages: Sequence[bytes]) -> bytes:
        """The bytes to write for `messages`."""


class NewlineFramer:
    """One message a line. Empty lines, lines of blanks, and a carriage return before the newline
    are ignored."""

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
        """The messages as lines.

        A newline inside a message, as raw JSON from elsewhere may have it, becomes a space:
        outside of strings JSON takes either, and inside of them it has neither in raw form.
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
    """Each message behind a header block that gives its length, as the Language Server
    Protocol has it ("Base Protocol"). Other headers are ignored.

    Header lines end with a carriage return and a newline; a bare newline is understood too.
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
    """What `data.split` returns, three times faster where lines are long: `split` looks at
    each byte, `find` at sixteen at once."""
    lines = []
    start = 0
    while end >= 0:
        lines.append(data[start:end])
        start = end + 1
        end = data.find(b"\n", start)
    lines.append(data[start:])
    return lines


def _check_head(head: bytearray, *, whole: bool) -> None:
    """Raise FramingError when this is no header block and cannot become one."""
    if head.startswith((b"{", b"[")):
        raise FramingError(
            "a message without a Content-Length header",
            advice="The other end seems to use newline framing: use the same at both ends.",
        )
    if not whole and len(head) > MAX_HEADER_BYTES:
        raise FramingError(f"header block of more than {MAX_HEADER_BYTES:,} bytes")


def _content_length(block: bytes) -> int:
    """The length that a header block gives. Raises FramingError when it gives none or two."""
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
