"""Spans of calls, requests and past events, by OpenTelemetry: `pip install accord[otel]`.

`Tracing` is an observer that makes a span of each incoming call. A call over HTTP continues the
trace of its headers (W3C Trace Context, or the propagator that is set); a message on a stream has
no headers, so its trace starts there. `trace_headers` is for outgoing calls over HTTP, and
`traced` makes spans of such calls; `OutgoingSpans` makes spans of calls that other code makes.

`RequestSpans` makes spans of HTTP requests that are not JSON-RPC. `PastSpans` records events
after their end. It is for events that begin and end in different pieces of code: a run of several
processes, or a message in transit.

Names and attributes follow OpenTelemetry's semantic conventions for JSON-RPC and HTTP servers.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, Literal, TypeAlias, Unpack

from msgspec import UNSET, UnsetType

from accord.jsonrpc.methods.context import CANCELLED, Context, MakeContext, Outcome
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.errors import RpcError
from accord.jsonrpc.protocol.messages import Id
from accord.jsonrpc.runtime.calls import CallOptions
from accord.jsonrpc.runtime.peer import Peer
from accord.transports.http.heads import WebRequest

try:
    from opentelemetry import context as current, propagate, trace
    from opentelemetry.trace import Link, Span, SpanContext, SpanKind, StatusCode, TracerProvider
except ImportError as missing:
    raise ImportError(
        "accord.telemetry.tracing needs OpenTelemetry: pip install 'accord[otel]'"
    ) from missing

TRACER: Final = "accord"
"""The name that Accord's spans give OpenTelemetry as their origin: the instrumentation scope."""
OTHER: Final = "_OTHER"
"""The name for an unknown method in OpenTelemetry's semantic conventions."""
MAX_TEXT: Final = 128
"""Maximum number of characters recorded of text that callers choose: ids, and names of unknown
methods."""

_TRANSPORTS: Final = {
    **dict.fromkeys(("tcp", "tls", "ws", "wss", "http", "https"), "tcp"),
    "unix": "unix",
    "stdio": "pipe",
}
_PROTOCOLS: Final = {"http": "http", "https": "http", "ws": "websocket", "wss": "websocket"}


def trace_headers() -> dict[str, str]:
    """Return the headers that name the current span, to be sent with a call.

    For example: `connect(url, outgoing_headers=trace_headers)`.
    """
    headers: dict[str, str] = {}
    propagate.inject(headers)
    return headers


class Tracing:
    """An observer that makes a span of every incoming call.

    The span is the current one while the handler runs.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        *,
        clean: Callable[[str], str] = str,
    ) -> None:
        """Send spans to `tracer_provider`; by default to the one that is set for the process.

        `clean` removes sensitive parts from texts that callers chose and from error messages.
        """
        self._tracer = trace.get_tracer(TRACER, tracer_provider=tracer_provider)
        self._clean = clean

    def called(
        self, method: str, id: Id | UnsetType, *, known: bool, context: MakeContext
    ) -> _ServerSpan:
        about = context(method, id)
        parent, links = _origin(about)
        span = self._tracer.start_span(
            method if known else "jsonrpc",
            context=parent,
            kind=SpanKind.SERVER,
            attributes={
                **_attributes(method if known else OTHER, id, self._clean),
                **({} if known else {"rpc.method_original": self._clean(method)[:MAX_TEXT]}),
                **_network(about.channel, "client"),
            },
            links=links,
        )
        return _ServerSpan(span, parent, answered=id is not UNSET, clean=self._clean)

    def batch_received(self, size: int) -> None:
        """Do nothing: a batch has no span of its own, only its calls have."""

    def refused(self, error: RpcError) -> None:
        """Do nothing: input that is not a call has no span."""


class _ServerSpan:
    """The span of one incoming call."""

    __slots__ = ("_answered", "_clean", "_span", "_token")

    def __init__(
        self,
        span: Span,
        parent: current.Context,
        *,
        answered: bool,
        clean: Callable[[str], str],
    ) -> None:
        self._span = span
        self._answered = answered
        self._clean = clean
        self._token = current.attach(trace.set_span_in_context(span, parent))

    def ended(self, outcome: Outcome, error: BaseException | None) -> None:
        if outcome == CANCELLED:
            _fail(self._span, CANCELLED, "the caller went away")
        elif outcome is not None:
            if self._answered:
                self._span.set_attribute("rpc.response.status_code", str(outcome))
            told = self._clean(error.message) if isinstance(error, RpcError) else ""
            _fail(self._span, str(outcome), told)
            if error is not None and not isinstance(error, RpcError):
                self._record(error)
        self._span.end()

    def left(self) -> None:
        current.detach(self._token)

    def _record(self, error: BaseException) -> None:
        attributes = {
            "exception.message": self._clean(str(error)),
            "exception.stacktrace": self._clean("".join(traceback.format_exception(error))),
        }
        self._span.record_exception(error, attributes=attributes)


class traced:  # noqa: N801 - reads as what it makes of a peer: `traced(peer).call(…)`
    """A wrapper of a peer that makes a span of every call.

    Over HTTP the server continues the trace if the peer was connected with
    `outgoing_headers=trace_headers`.
    """

    def __init__(self, peer: Peer, tracer_provider: TracerProvider | None = None) -> None:
        self._peer = peer
        self._tracer = trace.get_tracer(TRACER, tracer_provider=tracer_provider)

    async def call(self, method: str, params: Any = UNSET, **options: Unpack[CallOptions]) -> Any:
        """Call a method as `Peer.call` does, with the same options, in a span."""
        with self._span(method) as span:
            try:
                return await self._peer.call(method, params, **options)
            except RpcError as error:
                span.set_attribute("rpc.response.status_code", str(error.code))
                _fail(span, str(error.code), error.message)
                raise
            except asyncio.CancelledError:
                _fail(span, CANCELLED, "the call was given up")
                raise

    async def notify(self, method: str, params: Any = UNSET) -> None:
        """Send a notification as `Peer.notify` does, in a span."""
        with self._span(method):
            await self._peer.notify(method, params)

    def _span(self, method: str) -> AbstractContextManager[Span]:
        return self._tracer.start_as_current_span(
            method,
            kind=SpanKind.CLIENT,
            attributes={**_attributes(method, UNSET), **_network(self._peer.info, "server")},
            record_exception=False,
            set_status_on_exception=False,
        )


class OutgoingSpans:
    """A maker of spans for outgoing calls that belong to existing traces."""

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        *,
        clean: Callable[[str], str] = str,
    ) -> None:
        """Send spans to `tracer_provider`; by default to the one that is set for the process.

        `clean` removes sensitive parts from error messages.
        """
        self._tracer = trace.get_tracer(TRACER, tracer_provider=tracer_provider)
        self._clean = clean

    @contextmanager
    def call(self, name: str, traceparent: str, attributes: Mapping[str, str]) -> Iterator[str]:
        """Begin a span as a child of `traceparent`; yield the traceparent to send."""
        parent = propagate.extract({"traceparent": traceparent}, context=current.Context())
        with self._tracer.start_as_current_span(
            name,
            context=parent,
            kind=SpanKind.CLIENT,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield trace_headers().get("traceparent", traceparent)
            except Exception as error:
                _fail(span, type(error).__name__, self._clean(str(error)))
                raise
            except asyncio.CancelledError:
                _fail(span, CANCELLED, "the call was given up")
                raise


def _origin(about: Context) -> tuple[current.Context, list[Link]]:
    """Return what the span of an incoming call continues: a context, and links.

    The context contains the parent span, if there is one. The links lead to other spans.
    """
    origin = current.get_current()
    if "asgi.scope" not in about.state or not _span_in(origin).is_valid:
        # Else the web application is traced itself, and has read the headers. Around the
        # callbacks of our own servers stands what was current when they began: not the caller.
        origin = propagate.extract(about.headers, context=current.Context())
    if not about.channel.duplex:
        return origin, []
    # Over a WebSocket the headers came once, before all calls: those may belong to other traces.
    handshake = _span_in(origin)
    return current.Context(), [Link(handshake)] if handshake.is_valid else []


def _span_in(context: current.Context) -> SpanContext:
    return trace.get_current_span(context).get_span_context()


def _attributes(
    method: str, id: Id | UnsetType, clean: Callable[[str], str] = str
) -> dict[str, str]:
    attributes = {
        "rpc.system.name": "jsonrpc",
        "rpc.method": method,
        "jsonrpc.protocol.version": "2.0",
    }
    if id is not UNSET and id is not None:
        attributes["jsonrpc.request.id"] = clean(str(id))[:MAX_TEXT]
    return attributes


def _network(channel: ChannelInfo, side: str) -> dict[str, str | int]:
    """Return attributes for the transport and the address of the other end.

    `side` is the role of the other end, `client` or `server`.
    """
    attributes: dict[str, str | int] = {}
    transport = _TRANSPORTS.get(channel.scheme)
    if transport is not None:
        attributes["network.transport"] = transport
    if channel.scheme in _PROTOCOLS:
        attributes["network.protocol.name"] = _PROTOCOLS[channel.scheme]
    host, _, port = channel.address.rpartition(":")
    if transport == "tcp" and port.isdecimal():
        attributes[f"{side}.address"] = host.strip("[]")
        attributes[f"{side}.port"] = int(port)
    elif channel.address:
        attributes[f"{side}.address"] = channel.address
    return attributes


def _fail(span: Span, kind: str, message: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR, message or None)


VERBS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
MAX_PATH: Final = 200
"""Maximum number of characters of a request's path that are recorded."""


class RequestSpans:
    """A maker of spans for HTTP requests.

    The span is the current one while its request is handled.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        *,
        clean: Callable[[str], str] = str,
    ) -> None:
        """Send spans to `tracer_provider`; by default to the one that is set for the process.

        `clean` removes sensitive parts from texts that clients chose.
        """
        self._tracer = trace.get_tracer(TRACER, tracer_provider=tracer_provider)
        self._clean = clean

    def begin(self, request: WebRequest, route: str, channel: ChannelInfo) -> RequestSpan:
        """Begin the span of a request.

        `route` is the path with parameter names instead of values; empty if no route is known.
        """
        method = request.method if request.method in VERBS else OTHER
        # Around the callbacks of our server stands what was current when it began: no caller.
        parent = propagate.extract(request.fields, context=current.Context())
        attributes: dict[str, str | int] = {
            "http.request.method": method,
            "url.path": self._clean(request.path)[:MAX_PATH],
            "url.scheme": channel.scheme,
            "client.address": channel.address.rpartition(":")[0].strip("[]"),
        }
        if route:
            attributes["http.route"] = route
        span = self._tracer.start_span(
            f"{method} {route}" if route else method,
            context=parent,
            kind=SpanKind.SERVER,
            attributes=attributes,
        )
        return RequestSpan(span, parent)


class RequestSpan:
    """The span of one request."""

    __slots__ = ("_span", "_token")

    def __init__(self, span: Span, parent: current.Context) -> None:
        self._span = span
        self._token = current.attach(trace.set_span_in_context(span, parent))

    def left(self) -> None:
        """Detach the span, so that it is no longer the current one."""
        current.detach(self._token)

    def ended(self, status: int | None) -> None:
        """End the span.

        `status` is the status of the response, or None if the client disconnected before it.
        """
        span = self._span
        if status is None:
            span.set_attribute("error.type", "cancelled")
            span.set_status(StatusCode.ERROR, "the client went away")
        else:
            span.set_attribute("http.response.status_code", status)
            if status >= 500:
                span.set_attribute("error.type", str(status))
                span.set_status(StatusCode.ERROR)
        span.end()


Place: TypeAlias = Literal["internal", "consumer"]

_KINDS: Final[dict[Place, SpanKind]] = {
    "internal": SpanKind.INTERNAL,
    "consumer": SpanKind.CONSUMER,
}
_NANOSECONDS: Final = 1_000_000_000


class PastSpans:
    """A maker of spans for events that are already over."""

    def __init__(self, tracer_provider: TracerProvider | None = None) -> None:
        """Send spans to `tracer_provider`; by default to the one that is set for the process."""
        self._tracer = trace.get_tracer(TRACER, tracer_provider=tracer_provider)

    def tell(
        self,
        name: str,
        *,
        began: float,
        attributes: Mapping[str, str | int],
        traceparent: str | None = None,
        place: Place = "internal",
        error: str = "",
    ) -> None:
        """Record a span for an event that began at `began` and ends now.

        `began` is in seconds since 1970.

        The parent of its span is `traceparent`, or else the current span. `error` is the reason of
        a failure; empty for a success.
        """
        parent = None
        if traceparent is not None:
            parent = propagate.extract({"traceparent": traceparent}, context=current.Context())
        now = time.time_ns()
        span = self._tracer.start_span(
            name,
            context=parent,
            kind=_KINDS[place],
            attributes=attributes,
            start_time=min(int(began * _NANOSECONDS), now),
        )
        if error:
            span.set_attribute("error.type", error)
            span.set_status(StatusCode.ERROR)
        span.end(now)
