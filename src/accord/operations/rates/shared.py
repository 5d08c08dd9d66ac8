"""Buckets in the database, shared by all processes that use it.

One statement takes from one bucket, or does not, and needs no lock of ours. The time is that of
the machine that asks. With SQLite there is one server, and its memory does the same without
waiting for the disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from accord.operations.outcome import Allowance
from accord.operations.rates.bucket import ROUNDING, checked
from accord.store.store import Store

SWEEP_SECONDS: Final = 60.0
SWEPT: Final = 1000
"""How many full buckets are removed at once."""

TAKE: Final = """
INSERT INTO rate_buckets AS b (key, full_at)
VALUES ($1, CAST($2 AS double precision) + CAST($3 AS double precision))
ON CONFLICT (key) DO UPDATE
SET full_at = CASE WHEN b.full_at > $2 THEN b.full_at ELSE $2 END + $3
WHERE CASE WHEN b.full_at > $2 THEN b.full_at ELSE $2 END + $3 <= $2 + $4
RETURNING full_at
"""
GIVE_BACK: Final = "UPDATE rate_buckets SET full_at = full_at - $2 WHERE key = $1"
LOOK: Final = "SELECT full_at FROM rate_buckets WHERE key = $1"
SWEEP: Final = """
DELETE FROM rate_buckets
WHERE key IN (SELECT key FROM rate_buckets WHERE full_at < $1 ORDER BY full_at LIMIT $2)
"""


class StoreLimiter:
    """Implements `Limiter`. Raises ValueError for a rate or a burst of nothing."""

    def __init__(
        self, store: Store, rate: float, burst: int, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._bucket = checked(rate, burst)
        self._clock = clock
        self._swept_at = 0.0

    async def take(self, keys: tuple[str, ...], cost: int) -> Allowance:
        """Take `cost` from the bucket of each of `keys`; what is left in the emptiest. Raises
        RateLimitedError, and takes nothing, where one has less; StoreError."""
        now = self._clock()
        await self._sweep(now)
        if cost > self._bucket.burst:
            raise self._bucket.refusal(now, cost, now)
        emptiest = now
        for place, key in enumerate(keys):
            full_at = await self._take_one(key, cost, now)
            if full_at is None:
                for taken in keys[:place]:
                    await self._store.write(GIVE_BACK, taken, cost / self._bucket.rate)
                rows = await self._store.fetch(LOOK, key)
                raise self._bucket.refusal(rows[0]["full_at"] if rows else now, cost, now)
            emptiest = max(emptiest, full_at)
        return self._bucket.allowance(emptiest, now)

    async def _take_one(self, key: str, cost: int, now: float) -> float | None:
        """When the bucket will be full again; None where it has less than that."""
        needed, allowed = cost / self._bucket.rate, self._bucket.window + ROUNDING
        rows = await self._store.write(TAKE, key, now, needed, allowed)
        return rows[0]["full_at"] if rows else None

    async def _sweep(self, now: float) -> None:
        """Remove buckets that are full, a few now and then."""
        if now - self._swept_at > SWEEP_SECONDS:
            self._swept_at = now
            await self._store.write(SWEEP, now, SWEPT)
