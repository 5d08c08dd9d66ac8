"""The memory of an executor is bounded, however many runs wait."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from time import time

import pytest

from accord.store import Store, open_store
from accord.workflows.core.events import SignalReceived
from accord.workflows.core.program import compile_program
from accord.workflows.core.reading import read_definition
from accord.workflows.executor.run_cache import CachedRun, RunCache, cached_run
from accord.workflows.storage.history import RunRow
from accord.workflows.storage.runs import Starter
from tests.workflows.executor.world import (
    begin,
    executing,
    outcome,
    save,
    send,
    until_finished,
    until_status,
)

WAIT = {"name": "wait", "steps": [{"name": "w", "type": "wait", "signal": "s"}]}
PROGRAM = compile_program(read_definition(WAIT))


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[Store]:
    async with open_store(migrated_url, durable=False) as opened:
        yield opened


def a_run(id: str, size: int = 0, shard: int = 0) -> CachedRun:
    row = RunRow(
        id=id,
        workflow="wait",
        version=1,
        shard=shard,
        status="pending",
        starter=Starter(),
        origin="rest",
        parent_run=None,
        parent_task=None,
        correlation_id="",
        traceparent="",
        snapshot=None,
        snapshot_at=0,
        next_timer=None,
        created_at=0.0,
        finished_at=None,
    )
    held = cached_run(row, PROGRAM, [])
    held.values = size
    return held


def ids(runs: RunCache, *asked: str) -> list[str]:
    return [id for id in asked if runs.take(id) is not None]


def test_the_run_that_was_used_longest_ago_is_dropped_first() -> None:
    runs = RunCache(runs=2)
    first, second, third = a_run("1"), a_run("2"), a_run("3")
    runs.put([first, second])
    taken = runs.take("1")
    assert taken is first
    runs.put([first, third])
    assert (len(runs), ids(runs, "1", "2", "3"), len(runs)) == (2, ["1", "3"], 0)


def test_large_runs_are_dropped_before_there_are_many() -> None:
    runs = RunCache(bytes=100_000)
    runs.put([a_run("1", 40_000), a_run("2", 40_000), a_run("3", 40_000)])
    assert ids(runs, "1", "2", "3") == ["2", "3"]
    runs.put([a_run("1", 100_000)])
    assert len(runs) == 0


def test_runs_of_shards_that_others_have_are_dropped() -> None:
    runs = RunCache()
    runs.put([a_run("1", shard=1), a_run("2", shard=2)])
    runs.drop(lambda held: held.row.shard == 1)
    assert ids(runs, "1", "2") == ["2"]


async def test_runs_that_are_not_held_go_on_all_the_same(store: Store) -> None:
    await save(store, WAIT)
    async with executing(store, cache=RunCache(runs=3)) as executor:
        runs = await begin(store, "wait", "x" * 1000, count=20)
        for run in runs:
            await until_status(store, run, "waiting")
        assert executor.metrics.held <= 3
        for run in runs:
            await send(store, run, SignalReceived(at=time(), name="s", id="1", payload=run))
        await until_finished(store, runs)
    assert [await outcome(store, run) for run in runs] == [("completed", run) for run in runs]


async def test_large_messages_are_read_a_few_at_a_time(store: Store) -> None:
    await save(store, WAIT)
    async with executing(store):
        runs = await begin(store, "wait", count=12)
        for run in runs:
            await until_status(store, run, "waiting")
    payload = "x" * 1_000_000
    for run in runs:
        await send(store, run, SignalReceived(at=time(), name="s", id="1", payload=payload))
    async with executing(store, cache=RunCache(bytes=8_000_000)) as executor:
        await until_finished(store, runs)
    assert executor.metrics.decided == 12
    assert 0 < executor.metrics.held < 12  # the others do not fit


async def test_ten_thousand_waiting_runs_take_less_than_300_megabytes(migrated_url: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.workflows.executor.crowd", migrated_url, "10000"),
        stdout=asyncio.subprocess.PIPE,
    )
    told, _ = await asyncio.wait_for(process.communicate(), 60.0)
    waiting, held, megabytes = map(int, told.split())
    assert waiting == 10_000
    assert held <= 10_000
    assert megabytes < 300
