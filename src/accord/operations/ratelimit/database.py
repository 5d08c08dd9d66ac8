"""Token buckets in the database, shared by all processes that use it.

One statement takes from one bucket or refuses, without a lock held by us. On PostgreSQL the time is
that of the database, so machines need not agree on it. For frequent callers, a process takes some
calls in advance, a small part of the bucket, and counts their next calls without the database. What
they do not use within a second is lost, so no caller ever gets more than the limit.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from accord.operations.errors import Allowance
from accord.operations.ratelimit.bucket import ROUNDING, checked_bucket
from accord.operations.storage import READ_BUCKET, SWEEP_BUCKETS, TAKE_FROM_BUCKET
from accord.store.store import DATABASE_CLOCK, Row, Store

SWEEP_SECONDS: Final = 60.0
MAX_SWEPT: Final = 1000
"""Maximum number of full buckets removed at once."""
ADVANCE_FRACTION: Final = 20
"""The divisor of a bucket's size that gives the number of calls taken in advance."""
ADVANCE_SECONDS: Final = 1.0
"""A caller is frequent, and may use an advance, if it calls again within this time."""
MAX_KEYS: Final = 10_000


class _BucketState:
    """The state of one bucket in this process."""

    __slots__ = ("ahead", "at", "lock", "missing")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.at = float("-inf")
        """The time of the last statement."""
        self.missing = 0.0
        """The seconds until the bucket was full, at that time."""
        self.ahead = 0
        """Calls taken in advance and not used yet."""


class StoreLimiter:
    """A limiter in the database; implements `Limiter`.

    Raises ValueError if rate or burst is not positive.
    """

    def __init__(
        self, store: Store, rate: float, burst: int, *, clock: Callable[[], float] | None = None
    ) -> None:
        """`clock` is used instead of the database's."""
        self._store = store
        self._bucket = checked_bucket(rate, burst)
        self._most_ahead = burst // ADVANCE_FRACTION
        self._clock = clock or (None if store.engine == "postgresql" else time.time)
        self._elapsed = clock or time.monotonic
        self._statements = {
            statement: statement.format(now=self._now_of(arguments))
            for statement, arguments in (
                (TAKE_FROM_BUCKET, 3),
                (READ_BUCKET, 1),
                (SWEEP_BUCKETS, 1),
            )
        }
        self._known: OrderedDict[str, _BucketState] = OrderedDict()
        self._swept_at = float("-inf")

    async def take(self, keys: tuple[str, ...], cost: int) -> Allowance:
        """Take `cost` from the bucket of each key; return the lowest allowance.

        Raises StoreError, and RateLimitedError, taking nothing, if one of them has less.
        """
        await self._sweep()
        if cost > self._bucket.burst:
            raise self._bucket.refusal(0.0, cost, 0.0)
        emptiest = 0.0
        for place, key in enumerate(keys):
            missing = await self._take_one(key, cost)
            if missing is None:
                for taken in keys[:place]:
                    self._of(taken).ahead += cost
                rows = await self._ask(READ_BUCKET, key)
                raise self._bucket.refusal(rows[0]["missing"] if rows else 0.0, cost, 0.0)
            emptiest = max(emptiest, missing)
        return self._bucket.allowance(emptiest, 0.0)

    async def _take_one(self, key: str, cost: int) -> float | None:
        """Return the seconds until the bucket is full afterwards, None if it has less."""
        known = self._of(key)
        async with known.lock:
            now = self._elapsed()
            calls_often = now - known.at < ADVANCE_SECONDS
            if not calls_often:
                known.ahead = 0
            if known.ahead < cost:
                needed = cost - known.ahead
                more = self._most_ahead if calls_often else 0
                taken = await self._take(known, key, min(needed + more, self._bucket.burst))
                if not taken and more:
                    taken = await self._take(known, key, needed)
                if not taken:
                    return None
                now = known.at
            known.ahead -= cost
            return known.missing - (now - known.at) - known.ahead / self._bucket.rate

    async def _take(self, known: _BucketState, key: str, calls: int) -> bool:
        seconds, allowed = calls / self._bucket.rate, self._bucket.window + ROUNDING
        rows = await self._ask(TAKE_FROM_BUCKET, key, seconds, allowed)
        if rows:
            known.at, known.missing = self._elapsed(), rows[0]["missing"]
            known.ahead += calls
        return bool(rows)

    async def _sweep(self) -> None:
        """Remove some full buckets, occasionally."""
        now = self._elapsed()
        if now - self._swept_at > SWEEP_SECONDS:
            self._swept_at = now
            await self._ask(SWEEP_BUCKETS, MAX_SWEPT)

    async def _ask(self, statement: str, *arguments: str | float) -> list[Row]:
        if self._clock is not None:
            arguments = (*arguments, self._clock())
        return await self._store.write(self._statements[statement], *arguments)

    def _now_of(self, arguments: int) -> str:
        """Return SQL for the current time, for a statement with this many arguments."""
        if self._clock is None:
            return DATABASE_CLOCK[self._store.engine]
        return f"CAST(${arguments + 1} AS double precision)"

    def _of(self, key: str) -> _BucketState:
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _BucketState()
            if len(self._known) > MAX_KEYS:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(key)
        return known
