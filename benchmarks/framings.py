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
    """For HTTP too: the status line is no header, and does no harm."""
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
        return _Parts(_after_headers)


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
