"""Who is let in, by the head of a request alone: where it points at, from which page it comes,
what it sends and takes.

Asked before a body is read. Knows neither sessions nor who is asking.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from accord.jsonrpc.codec import encode_failure
from accord.jsonrpc.errors import own_error
from accord.mcp.protocol.codes import CASES, Profile, failure
from accord.mcp.protocol.headers import METHOD, NAME, SESSION, VERSION, decode_value
from accord.mcp.protocol.versions import era
from accord.mcp.server.principal import Principal
from accord.transports.http.admission import Origins
from accord.transports.http.replies import NO_MEMORY, RETRY_AFTER, Reply, text_reply
from accord.transports.origins import is_loopback
from accord.transports.web.app import JSON, WebRequest

Route: TypeAlias = Literal["endpoint", "sse", "messages"]

SSE_PLACE: Final = "sse"
MESSAGES_PLACE: Final = "messages/"

_EXPOSED: Final = b"access-control-expose-headers: Mcp-Session-Id, WWW-Authenticate\r\n"
_MEDIA_TYPE: Final = re.compile(r"application/json[ \t]*(?:;[ -~\t]*)?", re.IGNORECASE)
_CHARSET: Final = re.compile(r';[ \t]*charset[ \t]*=[ \t]*"?([^";, \t]*)', re.IGNORECASE)
_METHODS: Final[Mapping[Route, tuple[str, ...]]] = {
    "endpoint": ("POST", "GET", "DELETE"),
    "sse": ("GET",),
    "messages": ("POST",),
}
_ACCEPTED: Final[Mapping[tuple[Route, str], tuple[str, ...]]] = {
    # 2025-03-26 and later, transports: a client must list both for POST, and streams for GET.
    ("endpoint", "POST"): ("application/json", "text/event-stream"),
    ("endpoint", "GET"): ("text/event-stream",),
    ("sse", "GET"): ("text/event-stream",),
}

_JSON_ALONE: Final = ("application/json",)


class McpHead(Struct, frozen=True):
    """The checked head of a request."""

    request: WebRequest
    route: Route
    is_message: bool
    """True for a POST to the endpoint itself."""
    version: str | None
    """The header `MCP-Protocol-Version`."""
    session_id: str | None
    mcp_method: str | None
    """The header `Mcp-Method`."""
    mcp_name: str | None
    """The header `Mcp-Name`, decoded; None also for an undecodable one."""
    lines: bytes
    """Header lines of the response for browsers with another origin."""
    json: bytes
    """Header lines of a response with JSON."""
    principal: Principal | None = None
    """The caller, if authenticated before the body was read."""


class Gate:
    """The checks of one endpoint."""

    def __init__(
        self,
        *,
        profile: Callable[[], Profile],
        origins: tuple[str, ...] | None,
        hosts: tuple[str, ...] | None,
        old_sse: bool,
        handshake: bool,
        plain: bool = False,
    ) -> None:
        self._profile = profile
        self._origins = Origins(origins, exposed=_EXPOSED)
        self._hosts = None if hosts is None else frozenset(host.lower() for host in hosts)
        self._old_sse = old_sse
        self._handshake = handshake
        self._plain = plain

    def judge(self, request: WebRequest) -> Reply | McpHead:
        """Admit a request, or return the reply that refuses it."""
        route = self._route(request.place)
        fields = request.fields
        cors = self._origins.lines(request)
        if route is None:
            return text_reply(404, "Nothing is here")
        if not self._allows_host(request):
            return _refused(403, "Requests for this host are not let in")
        if not self._origins.let_in(request):
            return _refused(403, "Requests of this origin are not let in")
        methods = _METHODS[route] if self._handshake else ("POST",)
        if request.method not in methods:
            found = self._origins.preflight(request, ", ".join(methods)) or _wrong_method(methods)
            return found.adding(cors)
        refusal = _media_refusal(request) if request.method == "POST" else None
        refusal = refusal or _accept_refusal(request, self._accepted(request, route))
        if refusal is not None:
            return self._reply_for(refusal, request).adding(cors)
        return McpHead(
            request=request,
            route=route,
            is_message=route == "endpoint" and request.method == "POST",
            version=fields.get(VERSION),
            session_id=fields.get(SESSION),
            mcp_method=fields.get(METHOD),
            mcp_name=_decoded(fields.get(NAME)),
            lines=cors,
            json=JSON + cors if cors else JSON,
        )

    def _reply_for(self, refusal: _MediaRefusal, request: WebRequest) -> Reply:
        """Return the refusal of a request's media types, in the codes of its version."""
        error = failure(
            refusal.case,
            f"Invalid Request: {refusal.why}",
            era=era(request.fields.get(VERSION, "")),
            profile=self._profile(),
        )
        return Reply(CASES[refusal.case].status, JSON + refusal.lines, encode_failure(None, error))

    def _accepted(self, request: WebRequest, route: Route) -> tuple[str, ...]:
        """Return the media types that a client must accept."""
        if self._plain and request.method == "POST":
            says_nothing = VERSION not in request.fields and SESSION not in request.fields
            if says_nothing and route == "endpoint":
                return _JSON_ALONE
        return _ACCEPTED.get((route, request.method), ())

    def exhausted(self, request: WebRequest) -> Reply:
        """Return the answer to a body for which there is no memory left."""
        version = request.fields.get(VERSION, "")
        error = failure("busy", NO_MEMORY, era=era(version), retryAfter=1)
        return Reply(
            503, JSON + RETRY_AFTER + self._origins.lines(request), encode_failure(None, error)
        )

    def too_large(self, request: WebRequest, most: int) -> Reply:
        """Return the answer to a body that is too large."""
        version = request.fields.get(VERSION, "")
        error = failure(
            "message_too_large",
            f"the message is over the limit of {most:,} bytes",
            era=era(version),
            maxSize=most,
            unit="bytes",
        )
        return Reply(413, JSON + self._origins.lines(request), encode_failure(None, error))

    def _route(self, place: str | None) -> Route | None:
        if place == "":
            return "endpoint"
        if not self._old_sse or place is None:
            return None
        if place == SSE_PLACE:
            return "sse"
        return "messages" if place.startswith(MESSAGES_PLACE) else None

    def _allows_host(self, request: WebRequest) -> bool:
        """Return whether the requested host name is allowed.

        A name that resolves to the loopback interface and is not one of its own names was made to
        do so by a foreign DNS server (DNS rebinding).
        """
        name = request.fields.get("host", "").lower()
        if not name:
            return True  # HTTP/1.0, which no browser speaks
        bare = name.rpartition(":")[0] if re.search(r":[0-9]+\Z", name) else name
        if self._hosts is not None:
            return bool({"*", name, bare} & self._hosts)
        return not request.loopback or is_loopback(bare.strip("[]"))


def _decoded(value: str | None) -> str | None:
    try:
        return None if value is None else decode_value(value)
    except ValueError:
        return None


def refusal_body(message: str) -> bytes:
    """Return a JSON-RPC error without a request id."""
    return encode_failure(None, own_error("invalid_request", f"Invalid Request: {message}"))


def _refused(status: int, message: str) -> Reply:
    return Reply(status, JSON, refusal_body(message))


def _wrong_method(methods: tuple[str, ...]) -> Reply:
    allow = f"allow: {', '.join(methods)}\r\n".encode("ascii")
    return text_reply(405, "This method is not served here", allow)


class _MediaRefusal(Struct, frozen=True):
    """The refusal of a request's media types."""

    case: Literal["unsupported_media_type", "media_type_not_acceptable"]
    why: str
    lines: bytes = b""
    """Header lines of the answer."""


def _media_refusal(request: WebRequest) -> _MediaRefusal | None:
    fields = request.fields
    if fields.get("content-encoding", "identity").lower() != "identity":
        why = "send the body without content-encoding"
        return _MediaRefusal("unsupported_media_type", why, b"accept-encoding: identity\r\n")
    media_type = fields.get("content-type", "")
    if _MEDIA_TYPE.fullmatch(media_type) is None:
        why = "send messages with content-type: application/json"
        return _MediaRefusal("unsupported_media_type", why)
    charset = _CHARSET.search(media_type)
    if charset is not None and charset[1].lower() not in ("utf-8", "utf8", "us-ascii"):
        why = "JSON is UTF-8; send it without another charset"
        return _MediaRefusal("unsupported_media_type", why)
    return None


def _accept_refusal(request: WebRequest, needed: tuple[str, ...]) -> _MediaRefusal | None:
    accept = request.fields.get("accept")
    if accept is None or not needed:
        return None  # RFC 9110, section 12.5.1: any media type will do
    taken = {_range(each) for each in accept.lower().split(",")}
    for media_type in needed:
        kind = media_type.partition("/")[0]
        if not taken & {media_type, f"{kind}/*", "*/*"}:
            why = f"the header accept must list {' and '.join(needed)}"
            return _MediaRefusal("media_type_not_acceptable", why)
    return None


def _range(element: str) -> str:
    """Return the media range of one element; empty for weight 0 (not acceptable)."""
    media_range, *parameters = (part.strip(" \t") for part in element.split(";"))
    unwanted = any(re.fullmatch(r"q=0(\.0*)?", each) for each in parameters)
    return "" if unwanted else media_range
