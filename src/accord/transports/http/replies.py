"""Replies of the server itself, as bytes. Pure: the date comes in as text."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from accord.jsonrpc.protocol.errors import RpcError, own_error
from accord.jsonrpc.protocol.messages import encode_failure
from accord.transports.http.heads import Pairs, check_headers
from accord.transports.pages import Page, is_unchanged

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
CLOSE: Final = b"connection: close\r\n"
KEEP_ALIVE: Final = b"connection: keep-alive\r\n"

PHRASES: Final = {
    200: "OK",
    201: "Created",
    202: "Accepted",
    204: "No Content",
    303: "See Other",
    304: "Not Modified",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    408: "Request Timeout",
    409: "Conflict",
    412: "Precondition Failed",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    417: "Expectation Failed",
    421: "Misdirected Request",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    503: "Service Unavailable",
    505: "HTTP Version Not Supported",
}

NO_CONTENT: Final = (204, 304)
"""Statuses without a body, and so without a content-length (RFC 9110, section 8.6)."""
MAX_KNOWN_LENGTHS: Final = 1_000
"""Maximum number of body lengths for which the head of an answer is cached within a second."""
_NOT_OF_PAGES: Final = frozenset(("connection", "content-length", "date", "transfer-encoding"))
"""Names of header fields that a page cannot set, because the server sets them."""
NOTHING: Final[Mapping[bytes, bytes]] = MappingProxyType({})
_JSON: Final = b"content-type: application/json\r\n"
_TEXT: Final = b"content-type: text/plain; charset=utf-8\r\n"


class Reply(Struct, frozen=True):
    """A response that the server makes without calling a method."""

    status: int
    headers: bytes = b""
    """Header lines, each with its line end."""
    body: bytes = b""
    head_only: bool = False
    """True if the body is announced but not sent (RFC 9110, section 9.3.2: HEAD)."""

    def adding(self, headers: bytes) -> Reply:
        """Return the same reply with more header lines."""
        return replace(self, headers=self.headers + headers)

    @property
    def pairs(self) -> Pairs:
        """The headers as names and values."""
        return pairs_in(self.headers)


def text_reply(status: int, message: str, headers: bytes = b"") -> Reply:
    """Return a reply in plain text."""
    return Reply(status, headers + _TEXT, message.encode(errors="replace") + b"\n")


def failure_reply(status: int, error: RpcError, headers: bytes = b"") -> Reply:
    """Return a reply with a JSON-RPC error: `error` under a null id, as no id was read."""
    return Reply(status, headers + _JSON, encode_failure(None, error))


def answer_too_large(size: int, most: int) -> Reply:
    """Return the reply for an answer of `size` bytes, which exceeds the limit `most`."""
    why = f"the answer of {size:,} bytes is over the limit of {most:,}"
    return failure_reply(500, own_error("message_too_large", why, maxSize=most, unit="bytes"))


def page_reply(page: Page, if_none_match: str | None) -> Reply:
    """Return the answer to a GET of `page`; 304 if the client has it already.

    Raises ValueError for a page with headers that cannot be sent.
    """
    headers = [("etag", page.etag)] if page.etag else []
    headers += page.headers
    unchanged = is_unchanged(page, if_none_match)
    if not unchanged:
        headers.append(("content-type", page.media_type))
    for name, value in headers:
        check_headers({name: value}, reserved=_NOT_OF_PAGES)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers).encode("latin-1")
    # RFC 9110, section 15.4.5: as the page would have been told about, without its content.
    return Reply(304, lines) if unchanged else Reply(page.status, lines, page.body)


def pairs_in(lines: bytes) -> Pairs:
    """Return header lines as names and values."""
    parts = (line.partition(b": ") for line in lines.split(b"\r\n")[:-1])
    return [(name, value) for name, _, value in parts]


def encode_reply(reply: Reply, date: str, always: Mapping[bytes, bytes] = NOTHING) -> bytes:
    """Return the bytes of `reply`, with the fields of `always` that it lacks."""
    head = start(reply.status, date) + reply.headers + lacking(reply.headers, always)
    if reply.status in NO_CONTENT:
        return head + b"\r\n"
    body = b"" if reply.head_only else reply.body
    return b"%bcontent-length: %d\r\n\r\n%b" % (head, len(reply.body), body)


CRASHED: Final = failure_reply(500, own_error("internal_error"))
"""The reply to a request whose handling failed outside of a method."""
RETRY_AFTER: Final = b"retry-after: 1\r\n"
NO_MEMORY: Final = "too many large requests are being received: try again later"
EXHAUSTED: Final = failure_reply(503, own_error("busy", NO_MEMORY, retryAfter=1), RETRY_AFTER)
"""The reply to a request if the memory budget has no room for the body."""


def start(status: int, date: str) -> bytes:
    """Return the lines with which every response begins: the status line and the date.

    RFC 9110, section 6.6.1.
    """
    return f"HTTP/1.1 {status} {PHRASES.get(status, '')}\r\ndate: {date}\r\n".encode()


def always_lines(fields: Mapping[str, str]) -> dict[bytes, bytes]:
    """Return the header lines for `fields`, which every response has, by field name.

    Raises ValueError for fields that cannot be sent.
    """
    check_headers(fields, reserved=_NOT_OF_PAGES)
    return {
        name.lower().encode("ascii"): f"{name.lower()}: {value}\r\n".encode("latin-1")
        for name, value in fields.items()
    }


def lacking(headers: bytes, always: Mapping[bytes, bytes]) -> bytes:
    """Return the lines of `always` whose fields are not among `headers`."""
    if not always:
        return b""
    lines = b"\r\n" + headers
    return b"".join(line for name, line in always.items() if b"\r\n%b: " % name not in lines)


class Starts:
    """The beginnings of responses.

    They contain the date, so they are cached for one second.
    """

    def __init__(self, date: str, always: Mapping[bytes, bytes] = NOTHING) -> None:
        self.date = date
        self.always = always
        lines = _JSON + lacking(_JSON, always)
        self.answer = start(200, date) + lines
        self.refused = start(400, date) + lines
        self.nothing = start(204, date) + lacking(b"", always)
        self._of_length: dict[int, bytes] = {}
        self.known = self._of_length.get

    def of_length(self, length: int) -> bytes:
        """Return the complete head of an answer with a body of `length` bytes.

        The head is cached, because lengths of answers recur. The attribute `known` is a function
        that returns the cached head for a length, or None.
        """
        head = b"%bcontent-length: %d\r\n\r\n" % (self.answer, length)
        if len(self._of_length) < MAX_KNOWN_LENGTHS:
            self._of_length[length] = head
        return head
