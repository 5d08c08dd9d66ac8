"""Spans of what is over by the time that somebody tells, by OpenTelemetry.

For what has no beginning and end in one piece of code: a run that several processes worked on, a
message on its way, a call that is told of once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

try:
    from opentelemetry import context as current, propagate, trace
    from opentelemetry.trace import SpanKind, StatusCode, TracerProvider
except ImportError as missing:
    raise ImportError(
        "accord.telemetry.past_spans needs OpenTelemetry: pip install 'accord[otel]'"
    ) from missing

TRACER: Final = "accord"
Place: TypeAlias = Literal["internal", "consumer"]

_KINDS: Final[dict[Place, SpanKind]] = {
    "internal": SpanKind.INTERNAL,
    "consumer": SpanKind.CONSUMER,
}
_NANOSECONDS: Final = 1_000_000_000


class PastSpans:
    """Makes spans that end now."""

    def __init__(self, tracer_provider: TracerProvider | None = None) -> None:
        """Spans go to `tracer_provider`, or else to the one that is set for the process."""
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
        """Something began at a time, in seconds since 1970, and is over now. It stands below
        `traceparent`, or else below the span that is the current one; `error` says how it failed,
        if it did."""
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
