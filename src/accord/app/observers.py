"""Observers of operations: metrics, the call log, and spans.

Labels are names of operations, adapters and outcomes, which callers cannot choose, so memory is
bounded. OpenTelemetry is imported only where tracing is on.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from accord.app.settings import Settings
from accord.operations.audit.record import Result
from accord.operations.context import Caller
from accord.operations.logs import redact
from accord.operations.operation import Operation
from accord.telemetry.metrics import Exposition

if TYPE_CHECKING:
    from accord.telemetry.tracing import OutgoingSpans, PastSpans, RequestSpans


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
    """Makers of all kinds of spans. Raises ImportError without OpenTelemetry."""

    def __init__(self) -> None:
        from accord.telemetry.tracing import OutgoingSpans, PastSpans, RequestSpans

        self.requests: RequestSpans = RequestSpans(clean=redact)
        self.outgoing: OutgoingSpans = OutgoingSpans(clean=redact)
        self.past: PastSpans = PastSpans()

    def observer(self, metrics: Any) -> Any:
        """Return the observer of JSON-RPC and MCP calls."""
        from accord.telemetry.observers import all_of
        from accord.telemetry.tracing import Tracing

        return all_of(metrics, Tracing(clean=redact))

    def operation(
        self, operation: Operation, caller: Caller, result: Result, seconds: float
    ) -> None:
        """Record a span of an operation within the current one."""
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
    """Return the span makers if tracing is on. Raises ImportError."""
    return SpanMakers() if settings.tracing else None
