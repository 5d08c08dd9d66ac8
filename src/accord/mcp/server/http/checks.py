"""Checks of HTTP requests: first the head alone, then the headers against the body.

`McpGate` checks path, origin, content type and accepted types before a body is read; it knows
neither sessions nor principals. In 2026-07-28 headers repeat members of the body (Streamable HTTP,
server validation); `HeaderCheck` compares them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from accord.jsonrpc.methods.param_values import REFUSALS
from accord.jsonrpc.protocol.errors import RpcError, own_error
from accord.jsonrpc.protocol.messages import encode_failure
from accord.mcp.protocol.content import PROTOCOL_VERSION
from accord.mcp.protocol.definitions import Tool
from accord.mcp.protocol.headers import (
    METHOD,
    NAME,
    NAME_MEMBERS,
    SESSION,
    VERSION,
    HeaderParameter,
    check_headers,
    decode_value,
    parameter_headers,
)
from accord.mcp.protocol.messages import CASES, Params, Profile, failure
from accord.mcp.protocol.versions import era
from accord.mcp.server.components.registry import ComponentRegistry
from accord.mcp.server.components.tools import ServedTool
from accord.mcp.server.http.responses import header_mismatch, missing_version
from accord.mcp.server.session import Principal
from accord.transports.http.admission import Origins
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import NO_MEMORY, RETRY_AFTER, Reply, text_reply
from accord.transports.http.web_app import JSON, Exchange
from accord.transports.urls import is_loopback


class _Meta(Struct, gc=False):
    version: Raw | UnsetType = field(name=PROTOCOL_VERSION, default=UNSET)


class MirroredMembers(Struct, gc=False):
    """The members of params that HTTP headers repeat, or that show the era."""

    meta: _Meta | UnsetType = field(name="_meta", default=UNSET)
    name: Raw | UnsetType = UNSET
    uri: Raw | UnsetType = UNSET
    task_id: Raw | UnsetType = field(name="taskId", default=UNSET)
    arguments: Raw | UnsetType = UNSET

    @property
    def is_modern(self) -> bool:
        """True for a request of the stateless era, which states its own version."""
        return self.meta is not UNSET and self.meta.version is not UNSET

    @property
    def version(self) -> str | None:
        return None if self.meta is UNSET else _text(self.meta.version)

    def name_for(self, method: str) -> str | None:
        """Return the `Mcp-Name` that a request of `method` must have; None without one."""
        match NAME_MEMBERS.get(method):
            case "name":
                return _text(self.name)
            case "uri":
                return _text(self.uri)
            case "taskId":
                return _text(self.task_id)
            case _:
                return None


NO_MIRRORED_MEMBERS: Final = MirroredMembers()
_decode: Callable[[Any], MirroredMembers] = msgspec.json.Decoder(MirroredMembers).decode
_decode_text = msgspec.json.Decoder(str).decode


def read_mirrored_members(params: Any) -> MirroredMembers:
    """Return the members of params that headers repeat; no members if malformed.

    The error for malformed params is reported later.
    """
    if params is UNSET:
        return NO_MIRRORED_MEMBERS
    try:
        return _decode(params)
    except REFUSALS:
        return NO_MIRRORED_MEMBERS


def _text(raw: Raw | UnsetType) -> str | None:
    if raw is UNSET:
        return None
    try:
        return _decode_text(raw)
    except REFUSALS:
        return None


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
    """The head of an HTTP request that has passed the checks."""

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
    """The header `Mcp-Name`, decoded; None if it is missing or cannot be decoded."""
    lines: bytes
    """Header lines of the response for browser pages of another origin (CORS)."""
    json: bytes
    """Header lines of a response with a JSON body."""
    principal: Principal | None = None
    """The caller, if authenticated before the body was read."""


class McpGate:
    """The checks of request heads at one endpoint."""

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
        """Return the checked head of a request, or the reply that refuses the request."""
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
        """Return the reply to a request with refused media types.

        Its error code is that of the protocol version in the request's headers.
        """
        error = failure(
            refusal.case,
            f"Invalid Request: {refusal.why}",
            era=era(request.fields.get(VERSION, "")),
            profile=self._profile(),
        )
        return Reply(CASES[refusal.case].status, JSON + refusal.lines, encode_failure(None, error))

    def _accepted(self, request: WebRequest, route: Route) -> tuple[str, ...]:
        """Return the media types that the request's `accept` header must allow."""
        if self._plain and request.method == "POST":
            says_nothing = VERSION not in request.fields and SESSION not in request.fields
            if says_nothing and route == "endpoint":
                return _JSON_ALONE
        return _ACCEPTED.get((route, request.method), ())

    def exhausted(self, request: WebRequest) -> Reply:
        """Return the reply to a request when no memory is left for its body."""
        version = request.fields.get(VERSION, "")
        error = failure("busy", NO_MEMORY, era=era(version), retryAfter=1)
        return Reply(
            503, JSON + RETRY_AFTER + self._origins.lines(request), encode_failure(None, error)
        )

    def too_large(self, request: WebRequest, most: int) -> Reply:
        """Return the reply to a request with a body that is too large."""
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

        Without `hosts`, requests that arrive on the loopback interface must name a loopback host.
        Another name there indicates DNS rebinding: a foreign DNS server has resolved that name to a
        loopback address.
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
    """Return an encoded JSON-RPC error without a request id."""
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
    """Additional header lines of the reply."""


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
    accepted = {_range(each) for each in accept.lower().split(",")}
    for media_type in needed:
        kind = media_type.partition("/")[0]
        if not accepted & {media_type, f"{kind}/*", "*/*"}:
            why = f"the header accept must list {' and '.join(needed)}"
            return _MediaRefusal("media_type_not_acceptable", why)
    return None


def _range(element: str) -> str:
    """Return the media range of an `accept` element; empty for weight 0 (not acceptable)."""
    media_range, *parameters = (part.strip(" \t") for part in element.split(";"))
    unwanted = any(re.fullmatch(r"q=0(\.0*)?", each) for each in parameters)
    return "" if unwanted else media_range


class AdmittedHttpRequest(Struct, frozen=True, eq=False):
    """An HTTP request that has passed the checks and authentication."""

    head: McpHead
    principal: Principal | None
    exchange: Exchange

    def accept(self) -> None:
        """Reply 202 to a notification or a response (2025-03-26 and later, transports)."""
        self.exchange.reply(b"", status=202, headers=self.head.lines)

    def refuse(self, status: int, error: RpcError, id: Any = UNSET, headers: bytes = b"") -> None:
        """Reply with an error; `id` is the id of the refused message, if it is known."""
        body = encode_failure(None if id is UNSET else id, error)
        self.exchange.reply(body, status=status, headers=self.head.json + headers)


_NAMED_BY: Final = {
    method: "task_id" if member == "taskId" else member for method, member in NAME_MEMBERS.items()
}
"""The attribute of a method's params that the header `Mcp-Name` repeats."""

log = logging.getLogger("accord.mcp.http")


class HeaderCheck:
    """The comparison of headers with messages, including headers for tool arguments."""

    def __init__(self, tools: ComponentRegistry[ServedTool]) -> None:
        self._tools = tools
        self._version = -1
        self._parameters: dict[str, tuple[HeaderParameter, ...]] = {}

    def agree(self, head: McpHead, method: str, params: Params) -> bool:
        """Return True if a fast check shows that the headers match the request.

        If it returns False, they may match or not, and `fault` must be called for the full check.
        """
        if params.meta.protocol_version != head.version or method != head.mcp_method:
            return False
        member = _NAMED_BY.get(method)
        if member is None:
            return True
        name = getattr(params, member)
        return name == head.mcp_name and not (method == "tools/call" and self._of_tool(name))

    def fault(self, head: McpHead, method: str, found: MirroredMembers) -> RpcError | None:
        """Return the error for headers that do not match the request; None if they match."""
        version = found.version
        if version is None:
            return missing_version(head.version)
        name = found.name_for(method)
        parameters = self._of_tool(name) if method == "tools/call" and name is not None else ()
        wrong = check_headers(
            head.request.fields,
            version=version,
            method=method,
            name=name,
            arguments=_arguments(found.arguments) if parameters else None,
            parameters=parameters,
        )
        return None if wrong is None else header_mismatch(wrong)

    def _of_tool(self, name: str) -> tuple[HeaderParameter, ...]:
        """Return the parameters of a tool that are repeated in headers."""
        if self._tools.version != self._version:
            self._version = self._tools.version
            self._parameters.clear()
        known = self._parameters.get(name)
        if known is None:
            tool = self._tools.get(name)
            if tool is None:
                return ()
            known = self._parameters[name] = _header_parameters(tool.definition)
        return known


def _header_parameters(tool: Tool) -> tuple[HeaderParameter, ...]:
    try:
        return parameter_headers(tool.input_schema)
    except ValueError as error:
        # Clients leave such a tool out of their lists.
        log.warning("the headers of tool %s are not checked: %s", tool.name, error)
        return ()


def _arguments(raw: Any) -> Any:
    try:
        return {} if raw is UNSET else msgspec.json.decode(cast(Raw, raw))
    except REFUSALS:
        return {}
