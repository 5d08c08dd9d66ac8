"""The arithmetic of a bucket. Pure: the time comes in as an argument."""

from __future__ import annotations

from math import ceil, inf
from typing import Final

from msgspec import Struct

from accord.operations.errors import RateLimitedError
from accord.operations.limiter import Allowance

ROUNDING: Final = 1e-6
"""Seconds. Times since 1970 are no more exact than that."""


class Bucket(Struct, frozen=True):
    """How large a bucket is, and how fast it fills."""

    rate: float
    """Calls a second that cost 1."""
    burst: int

    @property
    def window(self) -> float:
        """Seconds that an empty bucket takes to fill."""
        return self.burst / self.rate

    def full_at(self, full_at: float, cost: int, now: float) -> float:
        """When a bucket will be full from which `cost` was taken now."""
        return max(full_at, now) + cost / self.rate

    def has(self, full_at: float, cost: int, now: float) -> bool:
        return self.full_at(full_at, cost, now) - now <= self.window + ROUNDING

    def allowance(self, full_at: float, now: float) -> Allowance:
        """What is left in a bucket."""
        missing = max(full_at - now, 0.0)
        return Allowance(
            limit=self.burst,
            remaining=max(int((self.window - missing) * self.rate + ROUNDING), 0),
            reset=ceil(missing - ROUNDING),
            window=ceil(self.window - ROUNDING),
        )

    def refusal(self, full_at: float, cost: int, now: float) -> RateLimitedError:
        """For a call that costs more than is left."""
        wait = self.full_at(full_at, cost, now) - now - self.window
        never = cost > self.burst
        return RateLimitedError(
            self.window if never else max(wait, 0.0), self.allowance(full_at, now)
        )


def checked(rate: float, burst: int) -> Bucket:
    """Raises ValueError for a bucket that would never let anybody through."""
    if not 0 < rate < inf or burst < 1:
        raise ValueError(f"a bucket of {burst} filled with {rate} a second lets nobody through")
    return Bucket(rate, burst)
