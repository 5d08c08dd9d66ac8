"""Decisions about requests by their heads, before any body is read.

A request is for the endpoint or for a page, or it is refused.
"""

from __future__ import annotations

import logging
import re
from typing import Any, Final, Protocol, TypedDict, Unpack

from msgspec import Struct
from msgspec.structs import replace

from accord.jsonrpc.protocol.errors import own_error
from accord.transports.http.heads import Fields, WebRequest, read_request
from accord.transports.http.replies import (
    CLOSE,
    EXHAUSTED,
    KEEP_ALIVE,
    Reply,
    failure_reply,
    page_reply,
    text_reply,
)
from accord.transports.pages import Pages, PageSource
from accord.transports.urls import origin_allowed

log = logging.getLogger("accord.transports.http")

ENDPOINT: Final = ""
"""The relative path of the endpoint itself; those of pages are relative to the endpoint."""

_MEDIA_TYPE = re.compile(
    r"application/(?:json|json-rpc|jsonrequest)[ \t]*(?:;[ -~\t]*)?", re.IGNORECASE | re.ASCII
)
_CHARSET = re.compile(r';[ \t]*charset[ \t]*=[ \t]*"?([^";, \t]*)', re.IGNORECASE | re.ASCII)
_CHARSETS: Final = ("utf-8", "utf8", "us-ascii")
_TOKENS = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z, \t]+")


class Origins:
    """The rules on web pages that may send requests, by their origin.

    If `allowed` is None, only pages of the server itself may send requests, otherwise only pages of
    the origins in `allowed`.
    """

    def __init__(self, allowed: tuple[str, ...] | None, *, exposed: bytes = b"") -> None:
        """Create rules; `exposed` is a header line that names the fields which pages may read."""
        self._allowed = allowed
        self._exposed = exposed

    def let_in(self, request: WebRequest) -> bool:
        """Return whether a request comes from no web page, or from a page that may send it."""
        origin = request.fields.get("origin")
        return origin is None or origin_allowed(
            origin,
            host=request.fields.get("host", ""),
            allowed=self._allowed,
            loopback=request.loopback,
        )

    def lines(self, request: WebRequest) -> bytes:
        """Return the CORS header lines of a response; empty if no page may read it."""
        origin = None if self._allowed is None else request.fields.get("origin")
        if origin is None or not self.let_in(request):
            return b""
        return b"access-control-allow-origin: %b\r\nvary: origin\r\n%b" % (
            origin.encode("latin-1"),
            self._exposed,
        )

    def preflight(self, request: WebRequest, methods: str) -> Reply | None:
        """Return the answer to a CORS preflight request.

        Returns None for any other request, and if `allowed` is None. The caller must add the
        header lines that `lines` returns.
        """
        if self._allowed is None or request.method != "OPTIONS":
            return None
        return preflight(request.fields, methods)


class Admission:
    """The rules for requests to one endpoint and its pages."""

    def __init__(
        self, *, max_body: int | None, origins: tuple[str, ...] | None, pages: Pages
    ) -> None:
        self._max_body = max_body
        self._has_preflights = origins is not None
        self._pages = pages
        self.origins = Origins(origins)
        self.too_large = _too_large(max_body)

    def knows(self, place: str) -> bool:
        """Return whether there is an endpoint or a page at `place`."""
        return place == ENDPOINT or place in self._pages

    def reply(self, request: WebRequest, place: str) -> Reply | None:
        """Return the answer to a request that calls no method; None for a method call.

        `place` is the path of the request relative to the endpoint, one for which `knows` returns
        True. The caller must add the header lines that `origins.lines` returns.
        """
        if not self.origins.let_in(request):
            return text_reply(403, "Requests of this origin are not let in")
        if place == ENDPOINT and request.method == "POST":
            if self._max_body is not None and request.length > self._max_body:
                return self.too_large
            return _media_refusal(request.fields)
        page = self._pages.get(place)
        if page is not None and request.method in ("GET", "HEAD"):
            return _show(request, page)
        found = self.origins.preflight(request, self._methods(place))
        return found or self._wrong_method(place)

    def _wrong_method(self, place: str) -> Reply:
        preflights = ", OPTIONS" if self._has_preflights else ""
        allow = f"allow: {self._methods(place)}{preflights}\r\n"
        message = (
            "This is a JSON-RPC 2.0 endpoint: send your call as a POST with "
            "content-type: application/json"
        )
        if place != ENDPOINT:
            message = "This is a page to read: ask for it with GET"
        return text_reply(405, message, allow.encode("ascii"))

    def _methods(self, place: str) -> str:
        methods = ["POST"] if place == ENDPOINT else []
        return ", ".join(methods + ["GET", "HEAD"] * (place in self._pages))


def preflight(fields: Fields, methods: str) -> Reply | None:
    """Return the answer to an OPTIONS request if it is a CORS preflight; otherwise None.

    Fetch, section 4.8. `fields` are those of the request, `methods` the allowed methods.
    """
    if "origin" not in fields or "access-control-request-method" not in fields:
        return None
    names = fields.get("access-control-request-headers", "content-type")
    if _TOKENS.fullmatch(names) is None:
        return None
    lines = (
        f"access-control-allow-methods: {methods}\r\n"
        f"access-control-allow-headers: {names}\r\n"
        "access-control-max-age: 600\r\n"
    )
    return Reply(204, lines.encode("ascii"))


def nothing_here(endpoint: str) -> Reply:
    """Return the answer 404, for a path at which there is neither an endpoint nor a page."""
    return text_reply(404, f"Nothing is here: JSON-RPC is served at {endpoint}")


def _show(request: WebRequest, page: PageSource) -> Reply:
    try:
        return page_reply(page(), request.fields.get("if-none-match"))
    except Exception:
        log.exception("the page %s could not be made", request.place)
        return text_reply(500, "This page could not be made")


def _too_large(most: int | None) -> Reply:
    error = own_error(
        "message_too_large",
        f"the message is over the limit of {most:,} bytes" if most is not None else None,
        maxSize=most,
        unit="bytes",
    )
    return failure_reply(413, error)


def _media_refusal(fields: Fields) -> Reply | None:
    coding = fields.get("content-encoding", "identity").lower()
    if coding != "identity":
        return _unsupported("send the body without content-encoding", b"accept-encoding: identity")
    media_type = fields.get("content-type")
    advice = "send your call with content-type: application/json"
    if media_type is None:
        return _unsupported(f"the content type is missing; {advice}")
    if _MEDIA_TYPE.fullmatch(media_type) is None:
        return _unsupported(f"the content type is {media_type[:80]}; {advice}")
    charset = _CHARSET.search(media_type)
    if charset is not None and charset[1].lower() not in _CHARSETS:
        return _unsupported("JSON is UTF-8; send it without another charset")
    return None


def _unsupported(why: str, line: bytes = b"accept: application/json") -> Reply:
    return failure_reply(
        415, own_error("invalid_request", f"Invalid Request: {why}"), line + b"\r\n"
    )


MAX_DRAINED_BYTES: Final = 1024 * 1024
"""Maximum size of an unwanted body that is read and dropped so that the connection can be reused;
with a larger one, the connection is closed."""
MAX_KNOWN_HEADS: Final = 1024
MAX_KNOWN_HEAD_BYTES: Final = 1024


class Head(Struct, frozen=True):
    """A request's head and the decisions about it."""

    request: WebRequest
    close: bool
    """True for the last request of the connection."""
    expects: bool
    """True if the client waits for `100 Continue` before it sends the body."""
    cors: bytes = b""
    """Header lines that allow a page of another origin to read the response."""
    extra: bytes = b""
    """Header lines of the response: `cors`, and the lines that keep or close the connection."""
    reply: Reply | None = None
    """The answer to a request that calls no method: a refusal or a page. The body of the request
    must still be skipped."""
    max_body: int | None = None
    """Maximum size of the body; None for the server's limit."""
    admits: bool = False
    """True if the sender must be admitted before the rest of the body is read."""
    anonymous: bool = False
    """True if the sender is unknown until the body is read."""
    judged: Any = None
    """The value that the `judge` method of an application returned; see `web_app`."""


class Rules:
    """The rules for requests to one JSON-RPC endpoint, with a cache of decisions."""

    def __init__(
        self,
        *,
        path: str,
        max_body: int | None,
        origins: tuple[str, ...] | None,
        loopback: bool,
        pages: Pages,
    ) -> None:
        self._path = path
        self._below = path.rstrip("/") + "/"
        self._loopback = loopback
        self._admission = Admission(max_body=max_body, origins=origins, pages=pages)
        self.known: dict[bytes, Head] = {}
        """The heads of requests that were let in, by the bytes of the heads."""
        self._too_large = self._admission.too_large
        self._nothing_here = nothing_here(path)

    def judge(self, raw: bytes) -> Head:
        """Return the decisions about the head `raw`. Raises MalformedError for an invalid one."""
        request = read_request(raw, loopback=self._loopback)
        place = self._place(request.target)
        request = replace(request, place=place)
        reply = expectation_failed(request)
        if reply is None:
            reply = self._nothing_here if place is None else self._admission.reply(request, place)
        head = conclude(request, reply, self._admission.origins.lines(request))
        remember(self.known, raw, head)
        return head

    def too_large(self, head: Head) -> Reply:
        """Return the answer to a request whose body is too large."""
        return self._too_large.adding(head.cors)

    def exhausted(self, head: Head) -> Reply:
        """Return the answer to a request if the memory budget has no room for the body."""
        return EXHAUSTED.adding(head.cors)

    def _place(self, path: str) -> str | None:
        """Return `path` relative to the endpoint; None if no endpoint or page is there."""
        if path == self._path:
            return ENDPOINT
        place = path.removeprefix(self._below)
        is_below = path.startswith(self._below) and place != ENDPOINT
        return place if is_below and self._admission.knows(place) else None


class HeadRules(Protocol):
    """The interface of rules that decide about a request by its head."""

    known: dict[bytes, Head]

    def judge(self, raw: bytes) -> Head: ...

    def too_large(self, head: Head) -> Reply: ...

    def exhausted(self, head: Head) -> Reply: ...


class Judgement(TypedDict, total=False):
    """The decisions of an application about a request; see the fields of `Head`."""

    max_body: int | None
    admits: bool
    anonymous: bool
    judged: Any


def refuse(head: Head, reply: Reply) -> Head:
    """Return `head` with the answer `reply`, which refuses the request.

    The body of the request has not been read.
    """
    close = head.close or head.expects or head.request.length > MAX_DRAINED_BYTES
    persistence = b"" if close else head.extra[len(head.cors) :]
    return replace(
        head,
        reply=reply.adding(persistence),
        close=close,
        expects=False,
        extra=head.cors + (CLOSE if close else persistence),
    )


def conclude(
    request: WebRequest, reply: Reply | None, cors: bytes = b"", **more: Unpack[Judgement]
) -> Head:
    """Return the head of a request with the decisions about it.

    `reply` is the answer, or None to let the request in.
    """
    expects = request.minor == 1 and "expect" in request.fields and request.length != 0
    close = not request.keep_alive or (
        # Nobody can tell whether a client that was refused its body still sends it.
        reply is not None and (expects or request.length > MAX_DRAINED_BYTES)
    )
    persistence = KEEP_ALIVE if request.minor == 0 and request.keep_alive else b""
    if reply is not None:
        reply = replace(
            reply,
            headers=reply.headers + cors + persistence,
            head_only=request.method == "HEAD",
        )
    return Head(
        request,
        close,
        expects and reply is None,
        cors,
        cors + (CLOSE if close else persistence),
        reply,
        **more,
    )


def remember(known: dict[bytes, Head], raw: bytes, head: Head) -> None:
    """Cache the decisions about the head of a request that was let in."""
    if head.reply is None and len(raw) <= MAX_KNOWN_HEAD_BYTES:
        if len(known) >= MAX_KNOWN_HEADS:
            known.clear()
        known[raw] = head


def expectation_failed(request: WebRequest) -> Reply | None:
    expectation = request.fields.get("expect", "100-continue").lower()
    if expectation != "100-continue" and request.minor == 1:
        return text_reply(417, "The only expectation met here is 100-continue")
    return None
