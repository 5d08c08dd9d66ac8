"""Spans of what is over when somebody tells, where tracing is on: runs, and messages on a bus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol


class PastSpans(Protocol):
    """Makes spans, as `accord.telemetry.tracing.PastSpans` does."""

    def tell(
        self,
        name: str,
        *,
        began: float,
        attributes: Mapping[str, str | int],
        traceparent: str | None = None,
        place: Literal["internal", "consumer"] = "internal",
        error: str = "",
    ) -> None: ...
