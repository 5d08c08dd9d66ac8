"""What single parts count, and say when they are asked."""

from __future__ import annotations

import asyncio
import time

import pytest

from accord.app.health import TICK_SECONDS, LoopLatency, write_process
from accord.operations.errors import RateLimitedError
from accord.operations.ratelimit.bucket import CountedLimiter, MemoryLimiter, RefusalCounts
from accord.store import open_store
from accord.telemetry.metrics import Exposition
from accord.workflows.metrics import Backlog
from tests.patience import PATIENCE


def numbers(page: Exposition) -> dict[str, float]:
    """Samples without labels, by name."""
    return {
        sample.name: sample.value
        for family in page.families.values()
        for sample in family.samples
        if not sample.labels
    }


async def test_calls_over_the_limit_are_counted() -> None:
    refusals = RefusalCounts()
    limiter = CountedLimiter(MemoryLimiter(1, 2), refusals)
    await limiter.take(("a",), 2)
    for _ in range(3):
        with pytest.raises(RateLimitedError):
            await limiter.take(("a",), 2)
    page = Exposition()
    refusals.write(page)
    assert numbers(page) == {"accord_rate_limited_total": 3}


async def test_an_event_loop_that_is_kept_busy_is_seen_to_be_late() -> None:
    latency = LoopLatency()
    late = "accord_event_loop_late_seconds"
    with latency.measuring():
        async with asyncio.timeout(PATIENCE):
            time.sleep(TICK_SECONDS + 0.1)  # noqa: ASYNC251 - that is what is to be seen
            while True:
                await asyncio.sleep(0.01)
                page = Exposition()
                latency.write(page)
                if numbers(page)[f"{late}_count"]:
                    break
    assert numbers(page)[f"{late}_sum"] >= 0.09


def test_a_process_tells_what_it_takes() -> None:
    page = Exposition()
    write_process(page)
    told = numbers(page)
    assert told["process_cpu_seconds_total"] > 0
    assert told["process_open_fds"] <= told["process_max_fds"]
    assert told["process_resident_memory_bytes"] < told["process_virtual_memory_bytes"]
    assert abs(time.time() - told["process_start_time_seconds"]) < 86_400


async def test_what_waits_is_told_with_its_age(migrated_url: str) -> None:
    async with open_store(migrated_url, durable=False) as store:
        await store.execute(
            "INSERT INTO run_inbox (message_id, run_id, shard, arrival) VALUES ($1, $2, 0, $3)",
            *("m", "r", '{"type":"pause_requested","at":940.0}'),
        )
        backlog = Backlog(store, now=lambda: 1_000.0)
        await backlog.refresh()
    page = Exposition()
    backlog.write(page)
    assert numbers(page) == {
        "accord_task_wait_seconds": 0,
        "accord_run_inbox": 1,
        "accord_run_inbox_seconds": 60,
        "accord_timers_late_seconds": 0,
        "accord_approvals_open": 0,
    }


async def test_where_the_database_is_away_nothing_is_claimed(
    migrated_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_store(migrated_url, durable=False) as store:
        backlog = Backlog(store)
    await backlog.refresh()
    page = Exposition()
    backlog.write(page)
    assert page.families == {}
    assert "what waits in workflows is not known" in caplog.text
