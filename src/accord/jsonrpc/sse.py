"""Server-sent events (WHATWG HTML, section 9.2): events to bytes, and bytes to events.

Data stays bytes in both directions: it is a message that its reader decodes, and one that is
not UTF-8 is refused there, not repaired here. What a stream is resumed with (`last_id`) and
how long to wait before that (`retry_ms`) is kept by the decoder.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from accord.jsonrpc.errors import own_error

MAX_EVENT_BYTES: Final = 10 * 1024 * 1024
"""How much of one event is held by default."""
MAX_RETRY_DIGITS: Final = 9

KEEP_ALIVE: Final = b":\n\n"
"""A comment, which shows that a silent stream is alive. The blank line ends no event, and
flushes what only flushes at blank lines."""

_BOM: Final = b"\xef\xbb\xbf"
_LINE_END: Final = re.compile(rb"\r\n?|\n")
_FIELDS: Final = frozenset((b"da", b"ev", b"id", b"re"))
"""How the lines begin that mean something; others are comments, or nobody knows them."""
_UNSAFE: Final = re.compile(r"[\r\n\0]")


class SseEvent(Struct, frozen=True):
    """One event of a stream."""

    data: bytes
    event: str = "message"
    id: str = ""
    """The last id that the stream gave, in this event or before."""


def encode_event(data: bytes, *, id: str = "", event: str = "", retry: int | None = None) -> bytes:
    """An event with `data`. Raises ValueError for an id or a name that would break its line."""
    head = _line("id", id) + _line("event", event)
    if retry is not None:
        head += b"retry: %d\n" % retry
    if b"\n" in data or b"\r" in data:
        data = b"\ndata: ".join(_LINE_END.split(data))
    return head + b"data: " + data + b"\n\n"


def encode_priming(id: str, *, retry: int | None = None) -> bytes:
    """An event without content that gives a client an id to resume with (2025-11-25,
    transports: sent at once when a stream begins)."""
    return encode_event(b"", id=id, retry=retry)


class SseDecoder:
    """Takes the bytes of one stream as they come. What has no blank line behind it when the
    stream ends is no event, so that nothing needs to be told to the decoder at the end."""

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
        """What `Last-Event-ID` says when the stream is resumed; empty if there is nothing to."""
        self.retry_ms: int | None = None
        """How long the other end wants to be left alone before that."""
        self._max_bytes = max_event_bytes
        self._partial = bytearray()
        self._data: bytes | bytearray | None = None
        self._event = b""
        self._id = b""
        self._started = False
        self._changed = False
        """Whether a line since the last blank one may mean something."""
        self._after_cr = False

    def feed(self, data: bytes) -> list[SseEvent]:
        """Every event that is whole now. Raises `MessageTooLargeError` for one that is over
        the limit; the stream cannot be read on after that."""
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
        """The line that ends with `line`, without the mark of the encoding if it is the first."""
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
        """One more line of data. Messages have one: only what has more is copied."""
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
