"""Spans of requests over HTTP, by OpenTelemetry: for applications whose requests are no JSON-RPC.

A request continues the trace that its headers name. Names and attributes are those of
OpenTelemetry's semantic conventions for HTTP servers; of the query nothing is told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from accord.jsonrpc.channel import ChannelInfo
from accord.transports.web.app import WebRequest

try:
    from opentelemetry import context as current, propagate, trace
    from opentelemetry.trace import Span, SpanKind, StatusCode, TracerProvider
except ImportError as missing:
    raise ImportError(
        "accord.telemetry.request_spans needs OpenTelemetry: pip install 'accord[otel]'"
    ) from missing

TRACER: Final = "accord"
VERBS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
OTHER: Final = "_OTHER"
"""What the conventions call a method that is not known."""
MAX_PATH: Final = 200
"""Most characters kept of what a client may choose freely."""


class RequestSpans:
    """Makes a span of every request; it is handled with that as the current one."""

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        *,
        clean: Callable[[str], str] = str,
    ) -> None:
        """Spans go to `tracer_provider`, or else to the one that is set for the process. `clean`
        takes out of what clients chose what must not be written down."""
        self._tracer = trace.get_tracer(TRACER, tracer_provider=tracer_provider)
        self._clean = clean

    def begin(self, request: WebRequest, route: str, channel: ChannelInfo) -> RequestSpan:
        """`route` is the path with names instead of values; empty where there is none."""
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
        """The stack in which it began is left."""
        current.detach(self._token)

    def ended(self, status: int | None) -> None:
        """It was answered; None where nobody waited for that."""
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
