"""Who is let in to an endpoint and to the pages beside it, decided before a body is read.

The HTTP server and the ASGI adapter ask the same questions here and get the same answers.
Knows neither of them, nor where the endpoint is.
"""

from __future__ import annotations

import logging
import re
from typing import Final

from accord.jsonrpc.protocol.errors import own_error
from accord.transports.http.fields import Fields
from accord.transports.http.replies import Reply, failure_reply, page_reply, text_reply
from accord.transports.http.request import WebRequest
from accord.transports.origins import origin_allowed
from accord.transports.pages import Pages, PageSource

log = logging.getLogger("accord.transports.http")

ENDPOINT: Final = ""
"""The place of the endpoint itself, among the places of pages."""

_MEDIA_TYPE = re.compile(
    r"application/(?:json|json-rpc|jsonrequest)[ \t]*(?:;[ -~\t]*)?", re.IGNORECASE | re.ASCII
)
_CHARSET = re.compile(r';[ \t]*charset[ \t]*=[ \t]*"?([^";, \t]*)', re.IGNORECASE | re.ASCII)
_CHARSETS: Final = ("utf-8", "utf8", "us-ascii")
_TOKENS = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z, \t]+")


class Origins:
    """The web pages that may send requests: those of the server itself, or those `allowed`."""

    def __init__(self, allowed: tuple[str, ...] | None, *, exposed: bytes = b"") -> None:
        """`exposed` is a header line that names the fields which pages may read."""
        self._allowed = allowed
        self._exposed = exposed

    def let_in(self, request: WebRequest) -> bool:
        """Return whether a request comes from no web page, or from one that may send it."""
        origin = request.fields.get("origin")
        return origin is None or origin_allowed(
            origin,
            host=request.fields.get("host", ""),
            allowed=self._allowed,
            loopback=request.loopback,
        )

    def lines(self, request: WebRequest) -> bytes:
        """Return the header lines for a page of another origin that may send requests."""
        origin = None if self._allowed is None else request.fields.get("origin")
        if origin is None or not self.let_in(request):
            return b""
        return b"access-control-allow-origin: %b\r\nvary: origin\r\n%b" % (
            origin.encode("latin-1"),
            self._exposed,
        )

    def preflight(self, request: WebRequest, methods: str) -> Reply | None:
        """Return the answer to a browser that asks whether a page may send a request, without
        `lines`; None for any other request."""
        if self._allowed is None or request.method != "OPTIONS":
            return None
        return preflight(request.fields, methods)


class Admission:
    """The rules of one endpoint and its pages."""

    def __init__(
        self, *, max_body: int | None, origins: tuple[str, ...] | None, pages: Pages
    ) -> None:
        self._max_body = max_body
        self._has_preflights = origins is not None
        self._pages = pages
        self.origins = Origins(origins)
        self.too_large = _too_large(max_body)

    def knows(self, place: str) -> bool:
        """Whether anything is there."""
        return place == ENDPOINT or place in self._pages

    def reply(self, request: WebRequest, place: str) -> Reply | None:
        """Return the answer to a request without any method being called; None to let it in.

        `place` is that of the request, and must be known. Origins are not named: see `origins`.
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
    """The answer to a browser that asks whether a page may ask (Fetch, section 4.8); None for
    any other OPTIONS."""
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
    """The answer to a request for a place where nothing is."""
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
