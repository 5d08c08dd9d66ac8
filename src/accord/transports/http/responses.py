"""Parsing of HTTP responses and of the JSON-RPC answers in them.

`ResponseReader` turns bytes into whole responses, and `answer_in` finds the answer in a response.
Both are pure: they know no socket, clock or task.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from accord.jsonrpc.protocol.errors import TransportError
from accord.jsonrpc.protocol.messages import Id
from accord.transports.http.body import ChunkedBody, FixedBody, OpenBody
from accord.transports.http.heads import (
    CHUNKED,
    UNTIL_CLOSE,
    MalformedError,
    ResponseHead,
    read_response,
)

MAX_HEAD_BYTES: Final = 64 * 1024


class Response(Struct, frozen=True):
    """A complete response of a server."""

    status: int
    body: bytes
    keep_alive: bool = True
    location: str = ""


class TooLargeError(Exception):
    """A response's body is over the limit."""


class ResponseReader:
    """A parser of the bytes of one connection into responses."""

    __slots__ = ("_body", "_buffer", "_head", "_max_body", "_scanned")

    def __init__(self, *, max_body: int | None) -> None:
        self._max_body = max_body
        self._buffer = b""
        self._scanned = 0
        self._head: ResponseHead | None = None
        self._body: FixedBody | ChunkedBody | OpenBody | None = None

    def feed(self, data: bytes) -> Response | None:
        """Read received bytes; return the response once it is complete.

        Raises MalformedError for invalid HTTP and TooLargeError for a body over the limit; after
        that nothing more can be read.
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
        """Handle the end of the connection; return the response if that completes it."""
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


MAX_EXCERPT: Final = 500
_PASSING: Final = frozenset((408, 425, 429, 500, 502, 503, 504))
"""Statuses of temporary failures, after which a retry can succeed."""


class _Answer(Struct, gc=False):
    """The members of a JSON-RPC message that show whether it is an answer."""

    jsonrpc: Literal["2.0"]
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _SentMessage(Struct, gc=False):
    """The members of a sent message that show whether it is a call."""

    id: Id | UnsetType = UNSET
    method: Raw | UnsetType = UNSET


_decode_answer: Callable[[bytes], _Answer | list[_Answer]] = msgspec.json.Decoder(
    _Answer | list[_Answer]
).decode
_decode_sent: Callable[[bytes], _SentMessage | list[_SentMessage]] = msgspec.json.Decoder(
    _SentMessage | list[_SentMessage]
).decode


def answer_in(response: Response, sent: bytes) -> bytes | None:
    """Return the JSON-RPC answer in `response` to the message `sent`.

    Returns None for an empty response to a notification. Raises TransportError if an answer is due
    and the response contains no JSON-RPC.
    """
    if _is_answer(response.body):
        return response.body
    if not response.body and 200 <= response.status < 300 and not calls_in(sent):
        return None
    raise no_answer(response)


def calls_in(sent: bytes) -> list[Id]:
    """Return the ids of the calls in a sent message or batch."""
    message = _decode_sent(sent)
    items = message if isinstance(message, list) else [message]
    return [item.id for item in items if item.id is not UNSET and item.method is not UNSET]


def no_answer(response: Response) -> TransportError:
    """Return the error for a response that contains no JSON-RPC."""
    excerpt = response.body[:MAX_EXCERPT].decode("utf-8", "replace")
    data: dict[str, Any] = {"status": response.status, "body": excerpt}
    if 300 <= response.status < 400:
        data["location"] = response.location
        return TransportError(
            f"the server redirects to {response.location or 'nowhere'} (HTTP {response.status})",
            recoverable=False,
            advice="Connect to that address if you trust it; redirects are not followed.",
            data=data,
        )
    return TransportError(
        f"the server answered HTTP {response.status} and no JSON-RPC",
        recoverable=response.status in _PASSING,
        advice=_advice(response.status),
        data=data,
    )


def _is_answer(body: bytes) -> bool:
    try:
        if not body.isascii():
            body.decode()
        answer = _decode_answer(body)
    except RecursionError:
        return True  # the codec refuses it by the limit of the connection
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    items = answer if isinstance(answer, list) else [answer]
    return bool(items) and all(
        item.result is not UNSET or item.error is not UNSET for item in items
    )


def _advice(status: int) -> str:
    if status in (401, 403):
        return "Check the credentials in options.headers."
    if status == 404:
        return "Check the path of the URL."
    if status in _PASSING:
        return "Try again later; repeat only calls that are safe to repeat."
    return "Check that the URL is that of a JSON-RPC endpoint."
