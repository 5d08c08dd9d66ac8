"""Metrics and spans of HTTP requests: number, duration, status, and the ones that are streams.

Every request of a site passes here once, whichever application handles it. With tracing on, a
request gets a span here, unless its face makes spans of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final, Protocol, runtime_checkable

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.telemetry.metrics import Exposition, Histogram
from accord.transports.web.app import JSON, Exchange, Stream, WebApp, WebRequest

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
"""The status of a request whose client disconnected before the response."""
FACES_WITHOUT_SPANS: Final = ("mcp", "rpc", "probes")
"""Faces whose requests get no span: their calls have spans, or are of no interest."""


class RequestSpan(Protocol):
    """The span of one request, current while the request is handled."""

    def left(self) -> None:
        """Leave the stack in which the span began."""

    def ended(self, status: int | None) -> None:
        """End the span; `status` is None if the client disconnected before the response."""


class RequestSpans(Protocol):
    """Makers of request spans, such as `accord.telemetry.tracing`."""

    def begin(self, request: WebRequest, route: str, channel: ChannelInfo) -> RequestSpan: ...


@runtime_checkable
class RoutedRequest(Protocol):
    """A judged request of an application that has path templates."""

    @property
    def route_path(self) -> str: ...


class Traffic:
    """Metrics of the requests of one site. Used on its event loop."""

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
        told = self.on_gone
        if self._open:
            if self._stream is None:
                self._face.in_flight -= 1
                self._face.statuses[CLIENT_GONE] += 1
                self._end(None)
            else:
                self._face.streams -= 1
                self._end(self._status)
        if told is not None:
            told()

    def _end(self, status: int | None) -> None:
        self._open = False
        self.on_gone = None  # whoever would be told often refers to this, and would live on
        if self.span is not None:
            self.span.ended(status)
