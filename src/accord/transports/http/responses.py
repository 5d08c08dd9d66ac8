"""Cuts what a server sends into responses: bytes in, one whole response out. Pure."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from accord.transports.http.bodies import FixedBody, OpenBody
from accord.transports.http.chunked import ChunkedBody
from accord.transports.http.heads import (
    CHUNKED,
    UNTIL_CLOSE,
    MalformedError,
    ResponseHead,
    read_response,
)

MAX_HEAD_BYTES: Final = 64 * 1024


class Response(Struct, frozen=True):
    """A whole response."""

    status: int
    body: bytes
    keep_alive: bool = True
    location: str = ""


class TooLargeError(Exception):
    """A response's body is over the limit."""


class ResponseReader:
    """The responses of one connection, one after the other."""

    __slots__ = ("_body", "_buffer", "_head", "_max_body", "_scanned")

    def __init__(self, *, max_body: int | None) -> None:
        self._max_body = max_body
        self._buffer = b""
        self._scanned = 0
        self._head: ResponseHead | None = None
        self._body: FixedBody | ChunkedBody | OpenBody | None = None

    def feed(self, data: bytes) -> Response | None:
        """Take what arrived; the response, once it is whole.

        Raises MalformedError and TooLargeError, after which nothing more can be read.
        """
        self._buffer = self._buffer + data if self._buffer else data
        while self._head is None or self._body is None:
            if not self._read_head():
                return None
        rest = self._body.feed(self._buffer, 0)
        self._buffer = self._buffer[rest:]
        if self._max_body is not None and self._body.size > self._max_body:
            raise TooLargeError
        if not self._body.complete:
            return None
        return self._finish(self._head, bytes(self._body.data))

    def end(self) -> Response | None:
        """The connection ended: the response, if that is what made it whole."""
        if self._head is None or not isinstance(self._body, OpenBody):
            return None
        return self._finish(self._head, bytes(self._body.data))

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n", self._scanned) + 4
        if max(end, len(self._buffer) if end < 4 else 0) > MAX_HEAD_BYTES:
            raise MalformedError(f"the head is over the limit of {MAX_HEAD_BYTES:,} bytes")
        if end < 4:
            self._scanned = max(0, len(self._buffer) - 3)
            return False
        self._scanned = 0
        head = read_response(self._buffer[:end])
        self._buffer = self._buffer[end:]
        if head.status == 101:
            raise MalformedError("the server changes to a protocol nobody asked for")
        if head.status >= 200:  # RFC 9110, section 15.2: others announce the final response
            self._begin_body(head)
        return True

    def _begin_body(self, head: ResponseHead) -> None:
        if self._max_body is not None and head.length > self._max_body:
            raise TooLargeError
        self._head = head
        if head.length == CHUNKED:
            self._body = ChunkedBody(keep=True)
        elif head.length == UNTIL_CLOSE:
            self._body = OpenBody()
        else:
            self._body = FixedBody(head.length, keep=True)

    def _finish(self, head: ResponseHead, body: bytes) -> Response:
        self._head = self._body = None
        return Response(
            head.status,
            body,
            head.keep_alive and not self._buffer,  # whatever follows, nobody asked for it
            head.fields.get(b"location", b"").decode("latin-1"),
        )
