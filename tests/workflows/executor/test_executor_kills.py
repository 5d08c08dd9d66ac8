"""Executors that are killed and stopped for real, and databases that go away: every run ends, and
every step of it is recorded once."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from accord.app.database import MIGRATIONS
from accord.store import Store, open_store
from accord.workflows.core.events import RunFinished, StepStarted, TaskSucceeded
from accord.workflows.storage.history import read_history
from tests.patience import PATIENCE
from tests.store.cluster import running_cluster
from tests.workflows.executor.world import (
    Bridge,
    begin,
    executing,
    folded,
    load,
    outcome,
    save,
    until,
    until_finished,
    until_task,
)

LEASE = 0.5


class Process:
    """An executor as a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    async def line(self) -> str:
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            return (await self._process.stdout.readline()).decode().strip()

    async def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    async def finish(self) -> str:
        """Let it close; what it counted."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return await self.line()


@asynccontextmanager
async def process(url: str, how: str = "", lease: float = LEASE) -> AsyncIterator[Process]:
    made = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.workflows.executor.process", url, str(lease), how),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    running = Process(made)
    try:
        assert (await running.line()).startswith("ready ")
        yield running
    finally:
        await running.kill()


def agent(name: str) -> dict[str, Any]:
    return {"name": name, "type": "agent", "agent": "a"}


FEW = {"name": "few", "steps": [agent("a"), agent("b")]}
MANY = {
    "name": "many",
    "steps": [
        agent("first"),
        {
            "name": "both",
            "type": "parallel",
            "branches": {"left": [agent("l1"), agent("l2")], "right": [agent("r1")]},
        },
        {"name": "each", "type": "loop", "over": [1, 2, 3], "body": [agent("item")]},
        agent("last"),
    ],
}


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[Store]:
    async with open_store(migrated_url, durable=False) as opened:
        await save(opened, FEW)
        await save(opened, MANY)
        yield opened


async def check_histories(store: Store, runs: list[str]) -> None:
    """Every step was started once and every outcome is recorded once."""
    for run in runs:
        assert await outcome(store, run) == ("completed", "last")
        events = [event for _, event in await store.read(lambda db, run=run: read_history(db, run))]  # type: ignore[misc]
        started = [event.key for event in events if isinstance(event, StepStarted)]
        done = [event.task for event in events if isinstance(event, TaskSucceeded)]
        tasks = ["first", "l1", "l2", "r1", "item[0]", "item[1]", "item[2]", "last"]
        assert sorted(done) == sorted(tasks)
        assert sorted(started) == sorted([*tasks, "both", "each"])
        assert [type(event) for event in events].count(RunFinished) == 1
        assert await folded(store, run) == (await load(store, run)).state


@pytest.mark.req("W-09")
async def test_an_executor_that_is_killed_again_and_again_loses_nothing(
    store: Store, migrated_url: str
) -> None:
    random = Random(5)
    runs: list[str] = []
    async with Bridge(store):
        for _ in range(5):
            async with process(migrated_url):
                runs += await begin(store, "many", count=30)
                await asyncio.sleep(random.random() * 0.3)  # killed at any time
        async with process(migrated_url):
            await until_finished(store, runs)
    await check_histories(store, runs)
    assert await store.fetch("SELECT id FROM run_inbox") == []


async def test_another_takes_over_when_the_lease_of_one_that_was_killed_is_over(
    store: Store, migrated_url: str
) -> None:
    async with process(migrated_url, lease=2.0) as first:
        await first.kill()
        async with executing(store, lease=0.2) as second, Bridge(store):
            assert second.metrics.shards == 0
            [run] = await begin(store, "few")
            await until_finished(store, [run])
            assert second.metrics.shards == 32


@pytest.mark.req("W-09")
@pytest.mark.parametrize("how", ["stop-when-reading", "stop-when-writing"])
@pytest.mark.parametrize("migrated_url", ["postgresql"], indirect=True)  # SQLite has one process
async def test_what_was_stopped_past_its_lease_and_woken_writes_nothing(
    store: Store, migrated_url: str, how: str
) -> None:
    async with process(migrated_url, how, lease=1.0) as stopped:
        [run] = await begin(store, "few")
        await until(lambda: asyncio.to_thread(_is_stopped, stopped.pid))
        async with executing(store, lease=1.0), Bridge(store):
            await until_finished(store, [run])
            before = await store.fetch("SELECT * FROM run_history ORDER BY sequence")
            tasks = await store.fetch("SELECT * FROM tasks ORDER BY id")
            stopped.signal(signal.SIGCONT)
            told = await stopped.finish()
    # In the middle of a transaction it was the database that ended it.
    assert told == ("fenced 1 decided 0" if how == "stop-when-reading" else "fenced 0 decided 0")
    assert await store.fetch("SELECT * FROM run_history ORDER BY sequence") == before
    assert await store.fetch("SELECT * FROM tasks ORDER BY id") == tasks
    assert await outcome(store, run) == ("completed", "b")


async def test_when_the_database_was_away_runs_go_on_by_themselves() -> None:
    with running_cluster() as cluster:
        async with open_store(cluster.database()) as store:
            for part, folder in MIGRATIONS.items():
                await store.migrate(part, folder)
            await save(store, MANY)
            async with executing(store, lease=1.0):
                runs = await begin(store, "many", count=20)
                await until_task(store, f"{runs[-1]}/first")
                cluster.stop()
                await asyncio.sleep(0.2)
                cluster.start()
                await until(lambda: _answers(store))
                async with Bridge(store):
                    await until_finished(store, runs)
            await check_histories(store, runs)


async def _answers(store: Store) -> bool:
    with suppress(Exception):
        return bool(await store.fetch("SELECT 1"))
    return False


def _is_stopped(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat").read_text()
    return status.rpartition(")")[2].split()[0] == "T"
