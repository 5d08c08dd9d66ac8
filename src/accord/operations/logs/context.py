"""What is known about the call that is being served, for every line that is logged meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol

from accord.telemetry.current import current_traceparent


class ServedCaller(Protocol):
    """What is logged about a caller."""

    @property
    def username(self) -> str: ...
    @property
    def face(self) -> str: ...
    @property
    def correlation_id(self) -> str: ...


_NOTHING: Final[Mapping[str, str]] = {}
_context: ContextVar[Mapping[str, str]] = ContextVar("accord log context", default=_NOTHING)

serving: Final[ContextVar[tuple[ServedCaller, str] | None]] = ContextVar(
    "accord serving", default=None
)
"""Who calls, and which operation; set by the runner, and read only when something is logged."""


@contextmanager
def log_context(**fields: str) -> Iterator[None]:
    """Have lines that are logged in this block, and in tasks begun there, carry `fields`."""
    token = _context.set({**_context.get(), **fields})
    try:
        yield
    finally:
        _context.reset(token)


def current_context() -> Mapping[str, str]:
    """What is known here and now; nothing that is empty."""
    known = {"trace_id": current_traceparent()[3:35], **_context.get()}
    call = serving.get()
    if call is not None:
        caller, operation = call
        known |= {
            "correlation_id": caller.correlation_id,
            "operation": operation,
            "actor": caller.username,
            "face": caller.face,
        }
    return {name: text for name, text in known.items() if text}
