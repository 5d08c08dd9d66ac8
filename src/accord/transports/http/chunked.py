"""Reads a chunked body as RFC 9112, section 7.1, writes it, and nothing more lenient. Pure.

Chunk extensions and trailers are checked, counted and dropped.
"""

from __future__ import annotations

import re
from typing import Final

from accord.transports.http.heads import MalformedError

MAX_LINE: Final = 256
"""Longest line with a chunk's size and extensions."""
MAX_EXTENSIONS: Final = 4096
"""Most bytes of extensions in one body."""
MAX_TRAILERS: Final = 4096

_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})((?:;[\t\x20-\x7e\x80-\xff]*)?)")
_TRAILER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*")


class ChunkedBody:
    """A body that arrives in chunks. With `keep` False its bytes are counted and dropped."""

    __slots__ = ("_extensions", "_left", "_step", "_trailers", "complete", "data", "keep", "size")

    def __init__(self, *, keep: bool) -> None:
        self.data = bytearray()
        self.size = 0
        self.keep = keep
        self.complete = False
        self._left = 0
        self._extensions = 0
        self._trailers = 0
        self._step = ChunkedBody._read_size

    def feed(self, buffer: bytes, at: int) -> int:
        """Read on from `at`; returns where it stopped, for want of bytes or at the end.

        Raises MalformedError.
        """
        while not self.complete:
            stop = self._step(self, buffer, at)
            if stop < 0:
                break
            at = stop
        return at

    # Each step returns where it stopped, or -1 when it needs more bytes to get anywhere.

    def _read_size(self, buffer: bytes, at: int) -> int:
        end = _line_end(buffer, at, MAX_LINE)
        if end < 0:
            return -1
        line = _SIZE_LINE.fullmatch(buffer, at, end)
        if line is None:
            raise MalformedError("a chunk does not begin with its size")
        self._extensions += line.end(2) - line.start(2)
        if self._extensions > MAX_EXTENSIONS:
            raise MalformedError(f"chunk extensions are over the limit of {MAX_EXTENSIONS} bytes")
        self._left = int(line[1], 16)
        self._step = ChunkedBody._read_data if self._left else ChunkedBody._read_trailer
        return end + 2

    def _read_data(self, buffer: bytes, at: int) -> int:
        end = min(at + self._left, len(buffer))
        if end == at:
            return -1
        self._left -= end - at
        self.size += end - at
        if self.keep:
            self.data += memoryview(buffer)[at:end]
        if not self._left:
            self._step = ChunkedBody._read_data_end
        return end

    def _read_data_end(self, buffer: bytes, at: int) -> int:
        line_end = buffer[at : at + 2]
        if not b"\r\n".startswith(line_end):
            raise MalformedError("a chunk is longer than its size")
        if len(line_end) < 2:
            return -1
        self._step = ChunkedBody._read_size
        return at + 2

    def _read_trailer(self, buffer: bytes, at: int) -> int:
        end = _line_end(buffer, at, MAX_TRAILERS)
        if end < 0:
            return -1
        if end == at:
            self.complete = True
        elif _TRAILER.fullmatch(buffer, at, end) is None:
            raise MalformedError("a trailer is malformed")
        self._trailers += end - at
        if self._trailers > MAX_TRAILERS:
            raise MalformedError(f"trailers are over the limit of {MAX_TRAILERS} bytes", status=431)
        return end + 2


def _line_end(buffer: bytes, at: int, longest: int) -> int:
    """Where the line that begins at `at` ends, -1 if that is not to be seen yet."""
    end = buffer.find(b"\r\n", at, at + longest + 2)
    if end < 0 and (len(buffer) - at > longest + 1 or buffer.find(b"\n", at) >= 0):
        raise MalformedError("a line of a chunked body is too long or ends without CRLF")
    return end
