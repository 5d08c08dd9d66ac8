"""What all limiters have in common."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from accord.operations.errors import Allowance, Limiter, RateLimitedError
from accord.operations.ratelimit import bucket
from accord.operations.ratelimit.bucket import MemoryLimiter, StoreLimiter
from accord.store import open_store
from tests.operations.ratelimit.redis_server import free_port, running_redis
from tests.store.cluster import Cluster


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def limiter(
    request: pytest.FixtureRequest, clock: Clock, tmp_path: Path
) -> AsyncIterator[Limiter]:
    """Filled with 2 a second up to 10."""
    if request.param == "memory":
        yield MemoryLimiter(2, 10, clock=clock)
        return
    given: Callable[[str], object] = request.getfixturevalue
    if request.param == "sqlite":
        url = f"sqlite://{tmp_path}/rates.db"
    else:
        cluster = given("cluster")
        assert isinstance(cluster, Cluster)
        url = cluster.database()
    async with open_store(url, durable=False) as store:
        await store.execute(
            "CREATE TABLE rate_buckets (key text PRIMARY KEY, full_at double precision NOT NULL)"
        )
        yield StoreLimiter(store, 2, 10, clock=clock)


@pytest.mark.req("H-16")
async def test_a_bucket_is_emptied_by_calls_and_filled_by_time(
    limiter: Limiter, clock: Clock
) -> None:
    assert await limiter.take(("a",), 1) == Allowance(10, 9, 1, 5)
    assert await limiter.take(("a",), 9) == Allowance(10, 0, 5, 5)
    with pytest.raises(RateLimitedError) as refused:
        await limiter.take(("a",), 3)
    assert (refused.value.retry_after, refused.value.allowance) == (2, Allowance(10, 0, 5, 5))
    clock.now += 1.5
    assert await limiter.take(("a",), 3) == Allowance(10, 0, 5, 5)
    clock.now += 1000
    assert await limiter.take(("a",), 1) == Allowance(10, 9, 1, 5)


async def test_all_keys_are_taken_from_or_none(limiter: Limiter) -> None:
    await limiter.take(("full", "empty"), 1)
    await limiter.take(("empty",), 9)
    with pytest.raises(RateLimitedError):
        await limiter.take(("full", "empty"), 1)
    assert await limiter.take(("full",), 9) == Allowance(10, 0, 5, 5)


async def test_what_is_left_is_said_of_the_emptiest(limiter: Limiter) -> None:
    await limiter.take(("a",), 4)
    assert await limiter.take(("b", "a", "c"), 1) == Allowance(10, 5, 3, 5)
    assert await limiter.take((), 1) == Allowance(10, 10, 0, 5)


async def test_a_call_that_costs_more_than_a_bucket_holds_is_refused(limiter: Limiter) -> None:
    with pytest.raises(RateLimitedError, match="try again in 5 s"):
        await limiter.take(("a",), 11)
    assert await limiter.take(("a",), 10) == Allowance(10, 0, 5, 5)


async def test_calls_at_the_same_time_get_no_more_than_there_is(limiter: Limiter) -> None:
    results = await asyncio.gather(
        *(limiter.take(("a", "b"), 1) for _ in range(30)), return_exceptions=True
    )
    assert sum(isinstance(result, Allowance) for result in results) == 10


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (1, 0), (-1, 5), (float("inf"), 5)])
def test_a_bucket_that_lets_nobody_through_is_refused(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="lets nobody through"):
        MemoryLimiter(rate, burst)


async def test_memory_keeps_the_keys_that_were_used_last(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket, "MAX_KEYS", 3)
    limiter = MemoryLimiter(1, 2, clock=clock)
    for key in ("a", "b", "c", "a", "d"):
        await limiter.take((key,), 1)
    assert len(limiter) == 3
    with pytest.raises(RateLimitedError):
        await limiter.take(("a",), 1)
    assert (await limiter.take(("b",), 1)).remaining == 1


@pytest.mark.req("H-16")
async def test_processes_share_buckets_in_the_database(migrated_url: str, clock: Clock) -> None:
    async with open_store(migrated_url) as one, open_store(migrated_url) as other:
        limiters = [StoreLimiter(store, 1, 20, clock=clock) for store in (one, other)]
        results = await asyncio.gather(
            *(each.take(("a",), 1) for _ in range(20) for each in limiters),
            return_exceptions=True,
        )
        assert sum(isinstance(result, Allowance) for result in results) == 20


async def test_for_whoever_calls_often_a_process_takes_some_calls_ahead(
    migrated_url: str, clock: Clock
) -> None:
    async with open_store(migrated_url) as one, open_store(migrated_url) as other:
        here, there = (StoreLimiter(store, 1, 100, clock=clock) for store in (one, other))
        left = [(await here.take(("a",), 1)).remaining for _ in range(7)]
        assert left == [99, 98, 97, 96, 95, 94, 93]
        assert (await there.take(("a",), 1)).remaining == 92
        assert (await here.take(("a",), 1)).remaining == 91, "it asked: nothing is left of the five"
        assert (await there.take(("a",), 1)).remaining == 85, "here there are five again"
        clock.now += 1
        assert (await here.take(("a",), 1)).remaining == 80, "and so they were there, and lost"


async def test_processes_take_the_time_from_the_database(migrated_url: str) -> None:
    async with open_store(migrated_url) as one, open_store(migrated_url) as other:
        limiters = [StoreLimiter(store, 0.001, 40) for store in (one, other)]
        results = await asyncio.gather(
            *(each.take(("a",), 1) for _ in range(40) for each in limiters),
            return_exceptions=True,
        )
        assert sum(isinstance(result, Allowance) for result in results) == 40
        with pytest.raises(RateLimitedError) as refused:
            await limiters[0].take(("a",), 1)
        assert 900 < refused.value.retry_after <= 1000


async def test_full_buckets_are_swept_from_the_database(migrated_url: str, clock: Clock) -> None:
    async with open_store(migrated_url) as store:
        limiter = StoreLimiter(store, 1, 20, clock=clock)
        for number in range(5):
            await limiter.take((f"key {number}",), 1)
        clock.now += bucket.SWEEP_SECONDS + 1
        await limiter.take(("another",), 1)
        rows = await store.fetch("SELECT key FROM rate_buckets")
        assert [row["key"] for row in rows] == ["another"]


@pytest.mark.req("H-16")
async def test_processes_share_buckets_in_redis(tmp_path: Path) -> None:
    pytest.importorskip("redis", reason="needs accord[redis]")
    from accord.operations.ratelimit.redis import RedisLimiter

    port = free_port()
    with running_redis(port, tmp_path):
        url = f"redis://127.0.0.1:{port}/3"
        limiters = [RedisLimiter(url, 0.001, 20) for _ in range(2)]
        results = await asyncio.gather(
            *(each.take(("a", "b"), 1) for _ in range(20) for each in limiters),
            return_exceptions=True,
        )
        assert sum(isinstance(result, Allowance) for result in results) == 20
        with pytest.raises(RateLimitedError) as refused:
            await limiters[0].take(("b", "c"), 1)
        assert refused.value.allowance == Allowance(20, 0, 20_000, 20_000)
        assert await limiters[0].take(("c",), 20) == Allowance(20, 0, 20_000, 20_000)
        for each in limiters:
            await each.close()
