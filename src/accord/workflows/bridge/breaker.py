"""A circuit breaker: whoever fails again and again is left alone for a while. Pure: seconds come
in as arguments.

    closed ── 5 failures in a row, or half of at least 10 calls within 120 s ──▶ open
    open ── 60 s later ──▶ trial: 3 calls may be made
    trial ── all of them work ──▶ closed            trial ── one fails ──▶ open
"""

from __future__ import annotations

from collections import deque
from typing import Final, Literal, TypeAlias

IN_A_ROW: Final = 5
SHARE: Final = 0.5
LEAST_CALLS: Final = 10
WINDOW_SECONDS: Final = 120.0
OPEN_SECONDS: Final = 60.0
TRIALS: Final = 3
MAX_REMEMBERED: Final = 1_000
"""Calls that are remembered at most: a busy target is judged by the latest of its calls."""

BreakerState: TypeAlias = Literal["closed", "open", "trial"]


class Breaker:
    """Of one target."""

    __slots__ = ("_calls", "_failed", "_in_a_row", "_opened", "_trials", "_worked")

    def __init__(self) -> None:
        self._calls: deque[tuple[float, bool]] = deque(maxlen=MAX_REMEMBERED)
        self._failed = 0
        self._in_a_row = 0
        self._opened: float | None = None
        self._trials = 0
        self._worked = 0

    @property
    def is_closed(self) -> bool:
        return self._opened is None

    def state(self, now: float) -> BreakerState:
        if self._opened is None:
            return "closed"
        return "open" if now < self._opened + OPEN_SECONDS else "trial"

    def room(self, now: float) -> int | None:
        """How many more calls may begin; None for as many as anybody likes."""
        if self._opened is None:
            return None
        return TRIALS - self._trials if self.state(now) == "trial" else 0

    def began(self) -> None:
        """A call begins, for which there was room."""
        if self._opened is not None:
            self._trials += 1

    def left(self) -> None:
        """A call ended without telling anything of its target."""
        if self._opened is not None and self._trials > 0:
            self._trials -= 1

    def succeeded(self, now: float) -> None:
        if self._opened is None:
            self._in_a_row = 0
            self._remember(now, failed=False)
            return
        if self.state(now) == "open":  # it began before
            return
        self._worked += 1
        if self._worked >= TRIALS:
            self._close()

    def failed(self, now: float) -> bool:
        """Whether it opens because of this."""
        if self._opened is not None:
            opens = self.state(now) == "trial"
        else:
            self._in_a_row += 1
            self._remember(now, failed=True)
            opens = self._in_a_row >= IN_A_ROW or self._fails_often()
        if opens:
            self._open(now)
        return opens

    def _fails_often(self) -> bool:
        calls = len(self._calls)
        return calls >= LEAST_CALLS and self._failed >= calls * SHARE

    def _remember(self, now: float, *, failed: bool) -> None:
        calls = self._calls
        if len(calls) == MAX_REMEMBERED:
            self._failed -= calls[0][1]
        calls.append((now, failed))
        self._failed += failed
        while calls[0][0] < now - WINDOW_SECONDS:
            self._failed -= calls.popleft()[1]

    def _open(self, now: float) -> None:
        self._opened = now
        self._trials = self._worked = 0

    def _close(self) -> None:
        self._calls.clear()
        self._opened = None
        self._failed = self._in_a_row = self._trials = self._worked = 0
