"""Buckets of one process, in memory: as many as `MAX_KEYS`, of which the one goes that was not
asked for the longest. Whoever comes back after that finds a full bucket."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from accord.operations.limiter import Allowance
from accord.operations.rates.bucket import checked

MAX_KEYS: Final = 50_000


class MemoryLimiter:
    """Implements `Limiter`. Raises ValueError for a rate or a burst of nothing."""

    def __init__(
        self, rate: float, burst: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._bucket = checked(rate, burst)
        self._clock = clock
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._full_at)

    async def take(self, keys: tuple[str, ...], cost: int) -> Allowance:
        """Take `cost` from the bucket of each of `keys`; what is left in the emptiest. Raises
        RateLimitedError, and takes nothing, where one has less."""
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
