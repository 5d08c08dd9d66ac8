"""A limiter whose refusals are counted, whatever keeps its buckets."""

from __future__ import annotations

from accord.operations.errors import RateLimitedError
from accord.operations.limiter import Allowance, Limiter
from accord.telemetry.metrics import Exposition


class Refusals:
    """How many calls were refused."""

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
    """Implements `Limiter`."""

    def __init__(self, limiter: Limiter, refusals: Refusals) -> None:
        self._limiter = limiter
        self._refusals = refusals

    async def take(self, keys: tuple[str, ...], cost: int) -> Allowance:
        try:
            return await self._limiter.take(keys, cost)
        except RateLimitedError:
            self._refusals.count += 1
            raise
