"""How often somebody may call, as the runner asks it."""

from __future__ import annotations

from typing import Protocol

from accord.operations.outcome import Allowance


class Limiter(Protocol):
    """Buckets of tokens, one for each key; calls take from them, time fills them."""

    async def take(self, keys: tuple[str, ...], cost: int) -> Allowance:
        """Take `cost` from the bucket of each of `keys`; what is left in the emptiest. Raises
        RateLimitedError, and takes nothing, where one has less."""
