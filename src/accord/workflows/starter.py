"""The origin of a run: its starter, its trace, and spans of work that is over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, Protocol

from accord.operations.context import Caller
from accord.operations.identifiers import random_hex
from accord.workflows.storage.runs import Starter

_DIGITS: Final = frozenset("0123456789abcdef")


def starter_of(caller: Caller) -> Starter:
    """Return the starter of a run, with the rights that bind its steps."""
    scopes = " ".join(sorted(caller.scopes)) if caller.via == "token" else None
    return Starter(
        user_id=caller.user_id,
        username=caller.username,
        token_id=caller.token_id,
        scopes=scopes,
    )


def trace_of(caller: Caller) -> str:
    """Return the `traceparent` of a run that a caller starts."""
    return caller.traceparent or new_traceparent(caller.correlation_id)


def new_traceparent(correlation_id: str) -> str:
    """Return a `traceparent` for a run without one (W3C Trace Context, section 3.2).

    Its trace id is the correlation id, where that is a valid one.
    """
    hexadecimal = len(correlation_id) == 32 and _DIGITS.issuperset(correlation_id)
    trace = correlation_id if hexadecimal else random_hex(16)
    return f"00-{trace}-{random_hex(8)}-01"


class SpanRecorder(Protocol):
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
