"""What an endpoint accepts, decided from a request's head before any body is read. Pure.

Clients repeat themselves: a kept-alive one sends the same head again and again. A head that
was let in once is let in again by one look-up of its bytes; equal bytes mean an equal head.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from accord.jsonrpc.errors import own_error
from accord.transports.http.fields import Fields
from accord.transports.http.heads import RequestHead, read_request
from accord.transports.http.replies import (
    CLOSE,
    KEEP_ALIVE,
    Reply,
    failure_reply,
    text_reply,
)
from accord.transports.origins import origin_allowed

MAX_DRAINED_BYTES: Final = 1024 * 1024
"""Most bytes of an unwanted body that are read and dropped to save the connection."""
MAX_KNOWN_HEADS: Final = 1024
MAX_KNOWN_HEAD_BYTES: Final = 1024

_MEDIA_TYPE = re.compile(
    rb"application/(?:json|json-rpc|jsonrequest)[ \t]*(?:;[ -~\t]*)?", re.IGNORECASE
)
_CHARSET = re.compile(rb';[ \t]*charset[ \t]*=[ \t]*"?([^";, \t]*)', re.IGNORECASE)
_CHARSETS: Final = (b"utf-8", b"utf8", b"us-ascii")
_TOKENS = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z, \t]+")


class Head(Struct, frozen=True, gc=False):
    """A request's head with everything that follows from it."""

    fields: Fields
    length: int
    """How long the body is, or `CHUNKED`."""
    close: bool
    """Whether this is the connection's last request."""
    expects: bool
    """Whether the client waits for `100 Continue` before it sends the body."""
    cors: bytes
    """Header lines for a browser that asks on behalf of another origin."""
    extra: bytes
    """Header lines of the response: `cors` and what is to be said about the connection."""
    refusal: Reply | None = None
    """The answer, where the request is not let in; its body is still to be skipped."""


class Rules:
    """The rules of one endpoint."""

    def __init__(
        self,
        *,
        path: str,
        max_body: int | None,
        origins: tuple[str, ...] | None,
        loopback: bool,
    ) -> None:
        self._path = path.encode("ascii")
        self._max_body = max_body
        self._origins = origins
        self._loopback = loopback
        self.known: dict[bytes, Head] = {}
        """The heads that were let in, by their bytes."""
        self.too_large = _too_large(max_body)
        self._no_such_path = text_reply(404, f"Nothing is here: JSON-RPC is served at {path}")
        self._wrong_method = _wrong_method(origins is not None)

    def judge(self, raw: bytes) -> Head:
        """What follows from the head `raw`. Raises MalformedError when it is none."""
        request = read_request(raw)
        refusal = self._refusal(request)
        expects = request.minor == 1 and b"expect" in request.fields and request.length != 0
        close = not request.keep_alive or (
            # Nobody can tell whether a client that was refused its body still sends it.
            refusal is not None and (expects or request.length > MAX_DRAINED_BYTES)
        )
        cors = self._cors(request)
        if refusal is not None:
            refusal = replace(
                refusal,
                headers=refusal.headers + cors + _persistence(request),
                head_only=request.method == b"HEAD",
            )
        head = Head(
            Fields(request.pairs),
            request.length,
            close,
            expects and refusal is None,
            cors,
            cors + (CLOSE if close else _persistence(request)),
            refusal,
        )
        if refusal is None and len(raw) <= MAX_KNOWN_HEAD_BYTES:
            if len(self.known) >= MAX_KNOWN_HEADS:
                self.known.clear()
            self.known[raw] = head
        return head

    def _refusal(self, request: RequestHead) -> Reply | None:
        expectation = request.fields.get(b"expect", b"100-continue").lower()
        if expectation != b"100-continue" and request.minor == 1:
            return text_reply(417, "The only expectation met here is 100-continue")
        if request.path != self._path:
            return self._no_such_path
        if not self._origin_allowed(request.fields):
            return text_reply(403, "Requests of this origin are not let in")
        if request.method != b"POST":
            return self._preflight(request) or self._wrong_method
        if self._max_body is not None and request.length > self._max_body:
            return self.too_large
        return _media_refusal(request.fields)

    # Browsers

    def _origin_allowed(self, fields: dict[bytes, bytes]) -> bool:
        origin = fields.get(b"origin")
        return origin is None or origin_allowed(
            origin.decode("latin-1"),
            host=fields.get(b"host", b"").decode("latin-1"),
            allowed=self._origins,
            loopback=self._loopback,
        )

    def _cors(self, request: RequestHead) -> bytes:
        origin = request.fields.get(b"origin")
        if self._origins is None or origin is None or not self._origin_allowed(request.fields):
            return b""
        return b"access-control-allow-origin: %b\r\nvary: origin\r\n" % origin

    def _preflight(self, request: RequestHead) -> Reply | None:
        """The answer to a browser that asks whether a page may post here (Fetch, section 4.8)."""
        if request.method != b"OPTIONS" or self._origins is None:
            return None
        fields = Fields(request.pairs)
        if "origin" not in fields or "access-control-request-method" not in fields:
            return None
        asked = fields.get("access-control-request-headers", "content-type")
        if _TOKENS.fullmatch(asked) is None:
            return None
        lines = (
            "access-control-allow-methods: POST\r\n"
            f"access-control-allow-headers: {asked}\r\n"
            "access-control-max-age: 600\r\n"
        )
        return Reply(204, lines.encode("ascii"))


def _persistence(request: RequestHead) -> bytes:
    return KEEP_ALIVE if request.minor == 0 and request.keep_alive else b""


def _too_large(most: int | None) -> Reply:
    error = own_error(
        "message_too_large",
        f"the message is over the limit of {most:,} bytes" if most is not None else None,
        maxSize=most,
        unit="bytes",
    )
    return failure_reply(413, error)


def _wrong_method(preflights: bool) -> Reply:
    allow = b"allow: POST, OPTIONS\r\n" if preflights else b"allow: POST\r\n"
    message = (
        "This is a JSON-RPC 2.0 endpoint: send your call as a POST with "
        "content-type: application/json"
    )
    return text_reply(405, message, allow)


def _media_refusal(fields: dict[bytes, bytes]) -> Reply | None:
    coding = fields.get(b"content-encoding", b"identity").lower()
    if coding != b"identity":
        return _unsupported("send the body without content-encoding", b"accept-encoding: identity")
    media_type = fields.get(b"content-type")
    advice = "send your call with content-type: application/json"
    if media_type is None:
        return _unsupported(f"the content type is missing; {advice}")
    if _MEDIA_TYPE.fullmatch(media_type) is None:
        came = media_type[:80].decode("latin-1")
        return _unsupported(f"the content type is {came}; {advice}")
    charset = _CHARSET.search(media_type)
    if charset is not None and charset[1].lower() not in _CHARSETS:
        return _unsupported("JSON is UTF-8; send it without another charset")
    return None


def _unsupported(why: str, line: bytes = b"accept: application/json") -> Reply:
    return failure_reply(
        415, own_error("invalid_request", f"Invalid Request: {why}"), line + b"\r\n"
    )
