"""Metrics, log lines and spans of operations and of HTTP requests.

Every HTTP request to a site (the applications of one server) is counted once, by the face, which is
the name of the application in metrics. With tracing on, the request also gets a span, unless the
application makes spans of its own. Labels are names of operations, faces and outcomes, which
callers cannot choose, so memory is bounded. OpenTelemetry is imported only if tracing is on.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from accord.app.settings import Settings
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.operations.audit.record import Result
from accord.operations.context import Caller
from accord.operations.logs import redact
from accord.operations.operation import Operation
from accord.operations.runner import Observe
from accord.telemetry.metrics import Exposition, Histogram
from accord.transports.http.heads import WebRequest
from accord.transports.http.web_app import JSON, Exchange, Stream, WebApp

if TYPE_CHECKING:
    from accord.telemetry.tracing import OutgoingSpans, PastSpans, RequestSpan, RequestSpans


OPERATION_BUCKETS: Final = (
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    10.0,
)


class OperationMetrics:
    """Counters and durations of operation calls."""

    def __init__(self) -> None:
        self._calls: Counter[tuple[str, str, str]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def observe(self, operation: Operation, caller: Caller, result: Result, seconds: float) -> None:
        self._calls[operation.name, caller.face, result] += 1
        buckets = self._buckets.setdefault(operation.name, [0] * (len(OPERATION_BUCKETS) + 1))
        buckets[bisect_left(OPERATION_BUCKETS, seconds)] += 1
        self._sums[operation.name] = self._sums.get(operation.name, 0.0) + seconds

    def write(self, page: Exposition) -> None:
        page.family(
            "accord_operations_total",
            "counter",
            "Calls of operations, by face and outcome.",
            (
                ((("operation", name), ("face", face), ("outcome", outcome)), count)
                for (name, face, outcome), count in sorted(self._calls.items())
            ),
        )
        page.family("accord_operation_seconds", "histogram", "How long operations take.")
        for name, buckets in sorted(self._buckets.items()):
            labels = (("operation", name),)
            page.histogram(
                "accord_operation_seconds", labels, OPERATION_BUCKETS, buckets, self._sums[name]
            )


log = logging.getLogger("accord.calls")

LOG_LEVELS: Final[dict[Result, int]] = {
    "done": logging.INFO,
    "dry_run": logging.INFO,
    "refused": logging.INFO,
    "denied": logging.WARNING,
    "failed": logging.ERROR,
    "cancelled": logging.INFO,
    "unauthenticated": logging.WARNING,
}


def log_call(operation: Operation, caller: Caller, result: Result, seconds: float) -> None:
    """Log a call of an operation with its caller and outcome."""
    level = logging.DEBUG if result == "done" and not operation.writes else LOG_LEVELS[result]
    if not log.isEnabledFor(level):
        return
    log.log(
        level,
        "%s %s",
        operation.name,
        result,
        extra={
            "operation": operation.name,
            "outcome": result,
            "user": caller.username,
            "face": caller.face,
            "client": caller.client,
            "address": caller.address,
            "correlation_id": caller.correlation_id,
            "milliseconds": round(seconds * 1000, 3),
        },
    )


FAILED_RESULTS: Final[frozenset[Result]] = frozenset(("failed", "cancelled"))


class SpanMakers:
    """Makers of spans for HTTP requests, operations, outgoing calls and past work.

    Raises ImportError without OpenTelemetry.
    """

    def __init__(self) -> None:
        from accord.telemetry.tracing import OutgoingSpans, PastSpans, RequestSpans

        self.requests: RequestSpans = RequestSpans(clean=redact)
        self.outgoing: OutgoingSpans = OutgoingSpans(clean=redact)
        self.past: PastSpans = PastSpans()

    def observer(self, metrics: Any) -> Any:
        """Return an observer of JSON-RPC and MCP calls: `metrics` and a maker of spans."""
        from accord.telemetry.observers import all_of
        from accord.telemetry.tracing import Tracing

        return all_of(metrics, Tracing(clean=redact))

    def operation(
        self, operation: Operation, caller: Caller, result: Result, seconds: float
    ) -> None:
        """Record the span of an operation within the current span."""
        attributes = {
            "accord.operation": operation.name,
            "accord.face": caller.face,
            "accord.outcome": result,
            "accord.correlation_id": caller.correlation_id,
        }
        error = result if result in FAILED_RESULTS else ""
        began = time.time() - seconds
        self.past.tell(operation.name, began=began, attributes=attributes, error=error)


def make_span_makers(settings: Settings) -> SpanMakers | None:
    """Return the span makers if tracing is on.

    Raises ImportError if OpenTelemetry is not installed.
    """
    return SpanMakers() if settings.tracing else None


def call_observer(metrics: OperationMetrics, spans: SpanMakers | None) -> Observe:
    """Return the observer of the runner: it counts and logs each call, and records its span."""

    def observe(operation: Operation, caller: Caller, result: Result, seconds: float) -> None:
        metrics.observe(operation, caller, result, seconds)
        log_call(operation, caller, result, seconds)
        if spans is not None:
            spans.operation(operation, caller, result, seconds)

    return observe


REQUEST_BUCKETS: Final = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
)
CLIENT_GONE: Final = "gone"
"""The status counted for a request whose client disconnected before the response."""
FACES_WITHOUT_SPANS: Final = ("mcp", "rpc", "probes")
"""Faces whose requests get no span: calls over MCP and RPC have spans, health checks need none."""


@runtime_checkable
class RoutedRequest(Protocol):
    """A request whose head was accepted by an application with path templates.

    `route_path` is the template, such as `/api/v1/epics/{id}`.
    """

    @property
    def route_path(self) -> str: ...


class Traffic:
    """Metrics of the HTTP requests to one site. Used on the site's event loop."""

    def __init__(self, spans: RequestSpans | None = None) -> None:
        self._spans = spans
        self._faces: dict[str, _FaceMetrics] = {}

    def replied(self, face: str, status: int) -> None:
        """Count a request that was answered by its head alone."""
        self._face(face).statuses[str(status)] += 1

    def handle(
        self,
        face: str,
        app: WebApp[Any],
        request: WebRequest,
        judged: Any,
        body: bytes,
        exchange: Exchange,
    ) -> None:
        """Handle a request and observe its response."""
        followed = ObservedExchange(self._face(face), exchange)
        if self._spans is not None and face not in FACES_WITHOUT_SPANS:
            route = judged.route_path if isinstance(judged, RoutedRequest) else ""
            followed.span = self._spans.begin(request, route, exchange.channel)
        try:
            app.handle(judged, body, followed)
        except Exception:
            followed.failed()
            raise
        finally:
            if followed.span is not None:
                followed.span.left()

    def write(self, page: Exposition) -> None:
        faces = sorted(self._faces.items())
        page.family(
            "accord_http_requests_total",
            "counter",
            "Requests that were answered, or whose client did not wait for it.",
            (
                ((("face", face), ("status", status)), count)
                for face, each in faces
                for status, count in sorted(each.statuses.items())
            ),
        )
        page.family(
            "accord_http_requests_in_flight",
            "gauge",
            "Requests that have not been answered yet.",
            (((("face", face),), each.in_flight) for face, each in faces),
        )
        page.family(
            "accord_http_streams",
            "gauge",
            "Answers in pieces that have not ended.",
            (((("face", face),), each.streams) for face, each in faces),
        )
        page.family(
            "accord_http_request_seconds",
            "histogram",
            "How long requests took until they were answered, or their stream began.",
        )
        for face, each in faces:
            each.seconds.write(page, "accord_http_request_seconds", (("face", face),))

    def _face(self, name: str) -> _FaceMetrics:
        found = self._faces.get(name)
        if found is None:
            found = self._faces[name] = _FaceMetrics()
        return found


class _FaceMetrics:
    """Metrics of one face."""

    __slots__ = ("in_flight", "seconds", "statuses", "streams")

    def __init__(self) -> None:
        self.statuses: Counter[str] = Counter()
        self.in_flight = 0
        self.streams = 0
        self.seconds = Histogram(REQUEST_BUCKETS)

    def answered(self, status: int, seconds: float) -> None:
        self.statuses[str(status)] += 1
        self.seconds.add(seconds)


class ObservedExchange:
    """An exchange that is counted when it ends; implements `Exchange` and `Stream`."""

    __slots__ = ("_exchange", "_face", "_open", "_status", "_stream", "began", "on_gone", "span")

    def __init__(self, face: _FaceMetrics, exchange: Exchange) -> None:
        self.on_gone: Callable[[], None] | None = None
        self.span: RequestSpan | None = None
        self.began = perf_counter()
        self._face = face
        self._exchange = exchange
        self._stream: Stream | None = None
        self._status = 0
        self._open = True
        face.in_flight += 1
        exchange.on_gone = self._gone

    @property
    def channel(self) -> ChannelInfo:
        return self._exchange.channel

    def reply(self, body: bytes, *, status: int = 200, headers: bytes = JSON) -> None:
        if self._open:
            self._answered(status)
            self._end(status)
        self._exchange.reply(body, status=status, headers=headers)

    def stream(self, *, status: int = 200, headers: bytes = JSON) -> ObservedExchange:
        if self._open:
            self._answered(status)
            self._face.streams += 1
        self._status = status
        self._stream = self._exchange.stream(status=status, headers=headers)
        return self

    def write(self, data: bytes) -> None:
        assert self._stream is not None, "a stream is begun before it is written to"
        self._stream.write(data)

    def close(self) -> None:
        assert self._stream is not None, "a stream is begun before it is closed"
        if self._open:
            self._face.streams -= 1
            self._end(self._status)
        self._stream.close()

    def failed(self) -> None:
        """Count a failure of the application; the server sends the response."""
        if not self._open:
            return
        if self._stream is None:
            self._answered(500)
        else:
            self._face.streams -= 1
        self._end(500)

    def _answered(self, status: int) -> None:
        self._face.in_flight -= 1
        self._face.answered(status, perf_counter() - self.began)

    def _gone(self) -> None:
        """Count a client that disconnected before the response."""
        on_gone = self.on_gone
        if self._open:
            if self._stream is None:
                self._face.in_flight -= 1
                self._face.statuses[CLIENT_GONE] += 1
                self._end(None)
            else:
                self._face.streams -= 1
                self._end(self._status)
        if on_gone is not None:
            on_gone()

    def _end(self, status: int | None) -> None:
        self._open = False
        self.on_gone = None  # breaks a reference cycle: the callback often refers to this exchange
        if self.span is not None:
            self.span.ended(status)
