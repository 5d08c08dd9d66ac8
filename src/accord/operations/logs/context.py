"""What is known about the call that is being served, for every line that is logged meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_NOTHING: Final[Mapping[str, str]] = {}
_context: ContextVar[Mapping[str, str]] = ContextVar("accord log context", default=_NOTHING)


@contextmanager
def log_context(**fields: str) -> Iterator[None]:
    """Have lines that are logged in this block, and in tasks begun there, carry `fields`: such as
    `correlation_id`, `operation`, `actor`."""
    token = _context.set(
        {**_context.get(), **{name: text for name, text in fields.items() if text}}
    )
    try:
        yield
    finally:
        _context.reset(token)


def current_context() -> Mapping[str, str]:
    """What is known here and now."""
    return _context.get()
