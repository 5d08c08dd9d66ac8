"""What the server sends back, as bytes. Pure: the date comes in as text."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from accord.jsonrpc.codec import encode_failure
from accord.jsonrpc.errors import RpcError

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
CLOSE: Final = b"connection: close\r\n"
KEEP_ALIVE: Final = b"connection: keep-alive\r\n"

PHRASES: Final = {
    200: "OK",
    204: "No Content",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    417: "Expectation Failed",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    503: "Service Unavailable",
    505: "HTTP Version Not Supported",
}

MAX_KNOWN_LENGTHS: Final = 1_000
"""How many different lengths of answers are remembered within a second."""
_JSON: Final = b"content-type: application/json\r\n"
_TEXT: Final = b"content-type: text/plain; charset=utf-8\r\n"


class Reply(Struct, frozen=True):
    """A response of the server itself, without any method having run."""

    status: int
    headers: bytes = b""
    """Header lines, each with its line end."""
    body: bytes = b""
    head_only: bool = False
    """Whether the body is only told about, not sent (RFC 9110, section 9.3.2: HEAD)."""

    def adding(self, headers: bytes) -> Reply:
        """The same reply with more header lines."""
        return replace(self, headers=self.headers + headers)


def text_reply(status: int, message: str, headers: bytes = b"") -> Reply:
    """A reply for people, in plain text."""
    return Reply(status, headers + _TEXT, message.encode() + b"\n")


def failure_reply(status: int, error: RpcError, headers: bytes = b"") -> Reply:
    """A reply for programs: `error` under a null id, as no id was read."""
    return Reply(status, headers + _JSON, encode_failure(None, error))


def encode_reply(reply: Reply, date: str) -> bytes:
    """The bytes of `reply`."""
    head = start(reply.status, date) + reply.headers
    if reply.status == 204:  # RFC 9110, section 8.6: no content-length here
        return head + b"\r\n"
    body = b"" if reply.head_only else reply.body
    return b"%bcontent-length: %d\r\n\r\n%b" % (head, len(reply.body), body)


def start(status: int, date: str) -> bytes:
    """The status line and the date, which every response has (RFC 9110, section 6.6.1)."""
    return f"HTTP/1.1 {status} {PHRASES[status]}\r\ndate: {date}\r\n".encode()


class Starts:
    """How responses begin during one second."""

    def __init__(self, date: str) -> None:
        self.date = date
        self.answer = start(200, date) + _JSON
        self.refused = start(400, date) + _JSON
        self.nothing = start(204, date)
        self._of_length: dict[int, bytes] = {}
        self.known = self._of_length.get

    def of_length(self, length: int) -> bytes:
        """The whole head of an answer about which nothing else is to be said.

        Answers repeat their lengths; `known` has the heads of those that came before.
        """
        head = b"%bcontent-length: %d\r\n\r\n" % (self.answer, length)
        if len(self._of_length) < MAX_KNOWN_LENGTHS:
            self._of_length[length] = head
        return head
