"""What came of a call."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from accord.operations.limiter import Allowance as Allowance
from accord.operations.work import Effect, Hint


class Outcome(Struct, frozen=True, kw_only=True):
    """The result of an operation, and what it did."""

    result: Any
    change_id: str = ""
    """Of a write that changed something."""
    effects: tuple[Effect, ...] = ()
    hints: tuple[Hint, ...] = ()
    replayed: bool = False
    """Whether an earlier call with the same idempotency key had done it."""
    allowance: Allowance | None = None


class Preview(Struct, frozen=True, kw_only=True):
    """What a write would do: the result of a `dry_run`."""

    dry_run: bool = True
    result: Any
    changes: tuple[Effect, ...]
    hints: tuple[Hint, ...]


class Change(Struct, frozen=True, kw_only=True):
    """A write as those who keep records of it see it, inside of its transaction."""

    id: str
    operation: str
    reason: str = ""
