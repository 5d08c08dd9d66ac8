"""How requests are framed, and how answers are found in what a server sends.

Written for the benchmark's own servers, which send nothing odd.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias


class Reader(Protocol):
    """Collects what arrives on one connection."""

    def feed(self, data: bytes) -> list[bytes]:
        """The answers that are complete now."""


class Framing(Protocol):
    """One way to carry messages."""

    def frame(self, message: bytes) -> bytes: ...

    def reader(self) -> Reader: ...


class Newline:
    def frame(self, message: bytes) -> bytes:
        return message + b"\n"

    def reader(self) -> Reader:
        return _Lines()


class _Lines:
    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines


Next: TypeAlias = Callable[[bytes, int], tuple[int, int] | None]
"""Where the body of the message that starts at this place begins and ends, once it is whole."""


class _Parts:
    def __init__(self, next: Next) -> None:
        self._next = next
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        data = self._rest + data
        found = []
        place = 0
        while part := self._next(data, place):
            start, place = part
            found.append(data[start:place])
        self._rest = data[place:]
        return found


class ContentLength:
    def frame(self, message: bytes) -> bytes:
        return b"Content-Length: %d\r\n\r\n%b" % (len(message), message)

    def reader(self) -> Reader:
        return _Parts(_after_headers)


def _after_headers(data: bytes, place: int) -> tuple[int, int] | None:
    end = data.find(b"\r\n\r\n", place)
    if end < 0:
        return None
    head = data[place:end].lower()
    value = head[head.index(b"content-length:") + 15 :].split(b"\r\n", 1)[0]
    start = end + 4
    stop = start + int(value)
    return (start, stop) if len(data) >= stop else None


class Http:
    def __init__(
        self, path: bytes = b"/rpc", lines: bytes = b"Accept: application/json\r\n"
    ) -> None:
        """`lines` are further header lines, each with its line end."""
        self._path = path
        self._lines = lines

    def frame(self, message: bytes) -> bytes:
        head = (  # with a port, as some servers want one there
            b"POST %b HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Type: application/json\r\n"
            b"%bContent-Length: %d\r\n\r\n" % (self._path, self._lines, len(message))
        )
        return head + message

    def reader(self) -> Reader:
        return _Responses()


class _Responses:
    """The bodies of HTTP responses. Of one that is a stream of events, the message in it."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        self._rest += data
        found = []
        while (body := self._next()) is not None:
            found.append(body)
        return found

    def _next(self) -> bytes | None:
        """The next body that is whole, taken from what has arrived."""
        data = self._rest
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = data[:end].lower()
        if b"\r\ntransfer-encoding: chunked" in head:
            whole = _chunks(data, end + 4)
        else:
            whole = _counted(data, head, end + 4)
        if whole is None:
            return None
        body, stop = whole
        self._rest = data[stop:]
        return _message(body) if b"\r\ncontent-type: text/event-stream" in head else body


def _counted(data: bytes, head: bytes, start: int) -> tuple[bytes, int] | None:
    """A body whose length is told, and where it ends."""
    value = head[head.index(b"content-length:") + 15 :].split(b"\r\n", 1)[0]
    stop = start + int(value)
    return (data[start:stop], stop) if len(data) >= stop else None


def _chunks(data: bytes, place: int) -> tuple[bytes, int] | None:
    """A body that comes in chunks without extensions and trailers, and where it ends."""
    parts: list[bytes] = []
    while (line := data.find(b"\r\n", place)) >= 0:
        size = int(data[place:line], 16)
        place = line + 2 + size + 2
        if len(data) < place:
            return None
        if size == 0:
            return b"".join(parts), place
        parts.append(data[line + 2 : place - 2])
    return None


def _message(body: bytes) -> bytes:
    """The one message in a stream of events."""
    lines = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
    messages = [line for line in lines if line]
    if len(messages) != 1:
        raise AssertionError(f"{len(messages)} messages in a response: {body[:500]!r}")
    return messages[0]


class WebSocket:
    """Text frames of fewer than 64 KiB, masked as a client's must be."""

    MASK = b"\x37\xfa\x21\x3d"
    HANDSHAKE = (
        b"GET /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )

    def frame(self, message: bytes) -> bytes:
        size = len(message)
        head = bytes([0x81, 0x80 | size]) if size < 126 else b"\x81\xfe" + size.to_bytes(2, "big")
        masked = bytes(byte ^ self.MASK[at % 4] for at, byte in enumerate(message))
        return head + self.MASK + masked

    def reader(self) -> Reader:
        return _Parts(_after_frame_head)


def _after_frame_head(data: bytes, place: int) -> tuple[int, int] | None:
    if len(data) < place + 4:
        return None
    size = data[place + 1]
    start = place + 2
    if size == 126:
        size = int.from_bytes(data[place + 2 : place + 4], "big")
        start = place + 4
    stop = start + size
    return (start, stop) if len(data) >= stop else None
