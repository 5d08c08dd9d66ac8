"""What makes spans, where tracing is on; OpenTelemetry is needed only there."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from accord.app.settings import Settings
from accord.operations.audit.record import Result
from accord.operations.caller import Caller
from accord.operations.logs.redaction import redact
from accord.operations.operation import Operation

if TYPE_CHECKING:
    from accord.telemetry.tracing import OutgoingSpans, PastSpans, RequestSpans

FAILED: Final[frozenset[Result]] = frozenset(("failed", "cancelled"))


class Spans:
    """Makers of spans, for all that makes some. Raises ImportError where there is no
    OpenTelemetry."""

    def __init__(self) -> None:
        from accord.telemetry.tracing import OutgoingSpans, PastSpans, RequestSpans

        self.requests: RequestSpans = RequestSpans(clean=redact)
        self.outgoing: OutgoingSpans = OutgoingSpans(clean=redact)
        self.past: PastSpans = PastSpans()

    def observer(self, metrics: Any) -> Any:
        """Who is told of every call over JSON-RPC and MCP."""
        from accord.telemetry.observers import all_of
        from accord.telemetry.tracing import Tracing

        return all_of(metrics, Tracing(clean=redact))

    def operation(
        self, operation: Operation, caller: Caller, result: Result, seconds: float
    ) -> None:
        """An operation was called, in the span that is the current one."""
        attributes = {
            "accord.operation": operation.name,
            "accord.face": caller.face,
            "accord.outcome": result,
            "accord.correlation_id": caller.correlation_id,
        }
        error = result if result in FAILED else ""
        began = time.time() - seconds
        self.past.tell(operation.name, began=began, attributes=attributes, error=error)


def spans_for(settings: Settings) -> Spans | None:
    """None where nobody wants any. Raises ImportError."""
    return Spans() if settings.tracing else None
