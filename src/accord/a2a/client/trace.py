"""What goes along with a request so that its traces and logs can be found again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

Direction: TypeAlias = Literal["sent", "received"]


class Trace(Struct, frozen=True, kw_only=True):
    correlation_id: str = ""
    traceparent: str = ""
    """W3C Trace Context."""
    tell: Callable[[Direction, bytes], None] | None = None
    """Told every body that is sent or received, for a log."""

    @property
    def headers(self) -> dict[str, str]:
        headers = {"x-correlation-id": self.correlation_id, "traceparent": self.traceparent}
        return {name: value for name, value in headers.items() if value}
