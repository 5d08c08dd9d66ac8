"""Token buckets: the arithmetic, buckets in memory and in the database, metrics of refusals.

The arithmetic is pure: the time comes in as an argument. In memory, at most `MAX_KEYS` buckets are
kept; the least recently used one is dropped, and is full when used again.

Buckets in the database are shared by all processes that use it. One statement takes from one bucket
or refuses, without a lock held by us. On PostgreSQL the time is that of the database, so machines
need not agree on it. For frequent callers, a process takes some calls in advance, a small part of
the bucket, and counts their next calls without the database. Advance calls not used within a second
are lost, so no caller ever gets more than the limit.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from math import ceil, inf
from typing import Final

from msgspec import Struct

from accord.operations.errors import Allowance, Limiter, RateLimitedError
from accord.operations.storage import READ_BUCKET, SWEEP_BUCKETS, TAKE_FROM_BUCKET
from accord.store.store import DATABASE_CLOCK, Row, Store
from accord.telemetry.metrics import Exposition

ROUNDING: Final = 1e-6
"""The rounding error allowed in computed times, in seconds.

Times are seconds since 1970 as floats, which have a precision of about 2e-7 seconds.
"""


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

        Raises RateLimitedError, and takes nothing, if one of the buckets has less.
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


SWEEP_SECONDS: Final = 60.0
MAX_SWEPT_BUCKETS: Final = 1000
"""Maximum number of full buckets removed at once."""
ADVANCE_FRACTION: Final = 20
"""A frequent caller takes its bucket's size, divided by this, in advance."""
ADVANCE_SECONDS: Final = 1.0
"""A caller is frequent, and may use an advance, if it calls again within this time."""
MAX_STORED_KEYS: Final = 10_000


class _BucketState:
    """The state of one bucket in this process."""

    __slots__ = ("ahead", "at", "lock", "missing")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.at = float("-inf")
        """The time of the last statement about the bucket."""
        self.missing = 0.0
        """The seconds that the bucket needed to be full, at the time of the last statement."""
        self.ahead = 0
        """Calls taken in advance and not used yet."""


class StoreLimiter:
    """A limiter in the database; implements `Limiter`.

    Raises ValueError if rate or burst is not positive.
    """

    def __init__(
        self, store: Store, rate: float, burst: int, *, clock: Callable[[], float] | None = None
    ) -> None:
        """Create a limiter; a given `clock` replaces that of the database."""
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

        Raises StoreError if the database fails. Raises RateLimitedError, and takes nothing, if one
        of the buckets has less.
        """
        await self._sweep()
        if cost > self._bucket.burst:
            raise self._bucket.refusal(0.0, cost, 0.0)
        emptiest = 0.0
        for place, key in enumerate(keys):
            missing = await self._take_one(key, cost)
            if missing is None:
                # Refund the other buckets in memory, as an advance of this process: the database
                # need not be asked, and the refund expires like any advance.
                for taken in keys[:place]:
                    self._of(taken).ahead += cost
                rows = await self._ask(READ_BUCKET, key)
                raise self._bucket.refusal(rows[0]["missing"] if rows else 0.0, cost, 0.0)
            emptiest = max(emptiest, missing)
        return self._bucket.allowance(emptiest, 0.0)

    async def _take_one(self, key: str, cost: int) -> float | None:
        """Take `cost` from one bucket; return the seconds until the bucket is full.

        Returns None, and takes nothing, if the bucket has less.
        """
        known = self._of(key)
        # One call of a caller at a time asks the database; the next ones may find an advance.
        async with known.lock:
            now = self._elapsed()
            calls_often = now - known.at < ADVANCE_SECONDS
            if not calls_often:
                known.ahead = 0
            if known.ahead < cost:
                needed = cost - known.ahead
                more = self._most_ahead if calls_often else 0
                taken = await self._take(known, key, min(needed + more, self._bucket.burst))
                # A nearly empty bucket has no advance to give, but may have enough for this call.
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
            await self._ask(SWEEP_BUCKETS, MAX_SWEPT_BUCKETS)

    async def _ask(self, statement: str, *arguments: str | float) -> list[Row]:
        if self._clock is not None:
            arguments = (*arguments, self._clock())
        return await self._store.write(self._statements[statement], *arguments)

    def _now_of(self, arguments: int) -> str:
        """Return the SQL for the current time in a statement with this many arguments.

        The time is that of the database, or of a clock of this process: then it is one more
        argument.
        """
        if self._clock is None:
            return DATABASE_CLOCK[self._store.engine]
        return f"CAST(${arguments + 1} AS double precision)"

    def _of(self, key: str) -> _BucketState:
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _BucketState()
            if len(self._known) > MAX_STORED_KEYS:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(key)
        return known
