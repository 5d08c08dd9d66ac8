"""Bodies of messages: chunked, of known length, or ended by the connection.

Chunked bodies are read strictly as RFC 9112, section 7.1, defines them. Pure.
"""

from __future__ import annotations

import re
from math import inf
from typing import Final

from accord.transports.http.heads import MalformedError


class FixedBody:
    """A body of known length. With `keep` False its bytes are counted and dropped."""

    __slots__ = ("_left", "data", "keep", "size")

    def __init__(self, length: int, *, keep: bool) -> None:
        self.data = bytearray()
        self.size = 0
        self.keep = keep
        self._left = length

    @property
    def complete(self) -> bool:
        return not self._left

    def feed(self, buffer: bytes, at: int) -> int:
        """Read the part of the body in `buffer` that begins at `at`.

        Returns the position after that part.
        """
        end = min(at + self._left, len(buffer))
        if self.keep:
            self.data += memoryview(buffer)[at:end]
        self.size += end - at
        self._left -= end - at
        return end


class OpenBody:
    """A body that ends when the connection ends; only responses have such a body."""

    __slots__ = ("complete", "data", "size")

    def __init__(self) -> None:
        self.data = bytearray()
        self.size = 0
        self.complete = False

    def feed(self, buffer: bytes, at: int) -> int:
        """Read all bytes of `buffer` from `at` on; return the position after them."""
        self.data += memoryview(buffer)[at:]
        self.size = len(self.data)
        return len(buffer)


MAX_LINE: Final = 256
"""Maximum length of a line with a chunk's size and extensions."""
MAX_EXTENSIONS: Final = 4096
"""Maximum number of bytes of chunk extensions in one body."""
MAX_TRAILERS: Final = 4096
MAX_SMALL_CHUNKS: Final = 4096
"""A body of n bytes may have this many chunks plus n/32. Decoding a chunk takes as long as decoding
100 bytes."""
_USUAL_CHUNK: Final = 32

_PLAIN_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,8})((?:;[\t\x20-\x7e\x80-\xff]*)?)")
_TRAILER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*")


class ChunkedBody:
    """A body that arrives in chunks. With `keep` False its bytes are counted and dropped.

    A body has at most `MAX_SMALL_CHUNKS` small chunks, unless it is `endless`, as a stream of
    events.
    """

    __slots__ = (
        "_chunks",
        "_extensions",
        "_left",
        "_most_small",
        "_step",
        "_trailers",
        "complete",
        "data",
        "keep",
        "size",
    )

    def __init__(self, *, keep: bool, endless: bool = False) -> None:
        self.data = bytearray()
        self.size = 0
        self.keep = keep
        self.complete = False
        self._chunks = 0
        self._most_small = inf if endless else MAX_SMALL_CHUNKS
        self._left = 0
        self._extensions = 0
        self._trailers = 0
        self._step = ChunkedBody._read_size

    def feed(self, buffer: bytes, at: int) -> int:
        """Read chunks in `buffer` from `at` on.

        Returns the position of the first byte that was not read: the end of the body, or the start
        of an incomplete part, for which more bytes are needed. Raises MalformedError for invalid
        chunks.
        """
        while not self.complete:
            if self._step is ChunkedBody._read_size:
                at = self._read_plain(buffer, at)
            stop = self._step(self, buffer, at)
            if stop < 0:
                break
            at = stop
        return at

    def _read_plain(self, buffer: bytes, at: int) -> int:
        """Read all chunks that are complete and have no extensions, the common case.

        Returns the position of the next chunk.
        """
        data = memoryview(buffer)
        while (line := _PLAIN_SIZE_LINE.match(buffer, at)) is not None:
            size, start = int(line[1], 16), line.end()
            end = start + size
            if size == 0 or buffer[end : end + 2] != b"\r\n":
                break
            if self.keep:
                self.data += data[start:end]
            self.size += size
            self._count_chunk()
            at = end + 2
        return at

    def _count_chunk(self) -> None:
        self._chunks += 1
        if self._chunks > self._most_small + self.size // _USUAL_CHUNK:
            raise MalformedError(f"{self._chunks:,} chunks for {self.size:,} bytes are too many")

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
        self._count_chunk()
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
    """Return the end of the line that begins at `at`; -1 if it has not arrived yet.

    Raises MalformedError for a line that is too long or does not end with CRLF.
    """
    end = buffer.find(b"\r\n", at, at + longest + 2)
    if end < 0 and (len(buffer) - at > longest + 1 or buffer.find(b"\n", at) >= 0):
        raise MalformedError("a line of a chunked body is too long or ends without CRLF")
    return end
