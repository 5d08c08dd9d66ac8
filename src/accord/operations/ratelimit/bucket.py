"""Token buckets: the arithmetic, buckets in memory, and metrics of refusals.

The arithmetic is pure: the time comes in as an argument. In memory, at most
`MAX_KEYS` buckets are kept; the least recently used one is dropped, and is full when used again.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from math import ceil, inf
from typing import Final

from msgspec import Struct

from accord.operations.errors import Allowance, Limiter, RateLimitedError
from accord.telemetry.metrics import Exposition

ROUNDING: Final = 1e-6
"""The precision of times since 1970, in seconds."""


class Bucket(Struct, frozen=True):
    """The size of a bucket, and its fill rate."""

    rate: float
    """Calls of cost 1 per second."""
    burst: int

    @property
    def window(self) -> float:
        """Return the seconds that an empty bucket takes to fill."""
        return self.burst / self.rate

    def full_at(self, full_at: float, cost: int, now: float) -> float:
        """Return the time at which a bucket will be full, after taking `cost` now."""
        return max(full_at, now) + cost / self.rate

    def has(self, full_at: float, cost: int, now: float) -> bool:
        return self.full_at(full_at, cost, now) - now <= self.window + ROUNDING

    def allowance(self, full_at: float, now: float) -> Allowance:
        """Return the allowance left in a bucket."""
        missing = max(full_at - now, 0.0)
        return Allowance(
            limit=self.burst,
            remaining=max(int((self.window - missing) * self.rate + ROUNDING), 0),
            reset=ceil(missing - ROUNDING),
            window=ceil(self.window - ROUNDING),
        )

    def refusal(self, full_at: float, cost: int, now: float) -> RateLimitedError:
        """Return the refusal of a call that costs more than is left."""
        wait = self.full_at(full_at, cost, now) - now - self.window
        never = cost > self.burst
        return RateLimitedError(
            self.window if never else max(wait, 0.0), self.allowance(full_at, now)
        )


def checked_bucket(rate: float, burst: int) -> Bucket:
    """Return a bucket. Raises ValueError if it would refuse every call."""
    if not 0 < rate < inf or burst < 1:
        raise ValueError(f"a bucket of {burst} filled with {rate} a second lets nobody through")
    return Bucket(rate, burst)


class RefusalCounts:
    """The number of refused calls."""

    def __init__(self) -> None:
        self.count = 0

    def write(self, page: Exposition) -> None:
        page.family(
            "accord_rate_limited_total",
            "counter",
            "Calls that were refused because their caller had none left.",
            [((), self.count)],
        )


class CountedLimiter:
    """A limiter that counts refusals; implements `Limiter`."""

    def __init__(self, limiter: Limiter, refusals: RefusalCounts) -> None:
        self._limiter = limiter
        self._refusals = refusals

    async def take(self, keys: tuple[str, ...], cost: int) -> Allowance:
        try:
            return await self._limiter.take(keys, cost)
        except RateLimitedError:
            self._refusals.count += 1
            raise


MAX_KEYS: Final = 50_000


class MemoryLimiter:
    """A limiter in memory; implements `Limiter`.

    Raises ValueError if rate or burst is not positive.
    """

    def __init__(
        self, rate: float, burst: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._bucket = checked_bucket(rate, burst)
        self._clock = clock
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._full_at)

    async def take(self, keys: tuple[str, ...], cost: int) -> Allowance:
        """Take `cost` from the bucket of each key; return the lowest allowance.

        Raises RateLimitedError, and takes nothing, if one of them has less.
        """
        now = self._clock()
        bucket = self._bucket
        emptiest = max((self._full_at.get(key, now) for key in keys), default=now)
        if not bucket.has(emptiest, cost, now):
            raise bucket.refusal(emptiest, cost, now)
        for key in keys:
            self._full_at[key] = bucket.full_at(self._full_at.get(key, now), cost, now)
            self._full_at.move_to_end(key)
        while len(self._full_at) > MAX_KEYS:
            self._full_at.popitem(last=False)
        return bucket.allowance(bucket.full_at(emptiest, cost, now) if keys else now, now)
