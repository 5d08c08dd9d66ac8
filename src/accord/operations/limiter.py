"""Rate limits as the runner asks for them: what a caller has left, and who takes from it."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct


class Allowance(Struct, frozen=True):
    """What a caller has left, for the headers that say so."""

    limit: int
    remaining: int
    reset: int
    """Seconds until the bucket is full again."""
    window: int
    """Seconds that an empty bucket takes to fill."""


class Limiter(Protocol):
    """Buckets of tokens, one for each key; calls take from them, time fills them."""

    async def take(self, keys: tuple[str, ...], cost: int) -> Allowance:
        """Take `cost` from the bucket of each of `keys`; what is left in the emptiest. Raises
        RateLimitedError, and takes nothing, where one has less."""
