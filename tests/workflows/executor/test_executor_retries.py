"""Runs that are retried, as the tables have them: children are continued, and calls of unknown
outcome are repeated in the attempt group that they were made in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from time import time
from typing import Any

import pytest

from accord.store import Store, open_store
from accord.workflows.core.events import (
    Arrival,
    CancelRequested,
    Command,
    RetryRequested,
    TaskFailed,
    TaskSucceeded,
)
from accord.workflows.core.state import Failure
from accord.workflows.executor.decision import child_id
from accord.workflows.retention import Retention
from tests.workflows.executor.world import (
    Bridge,
    begin,
    executing,
    load,
    outcome,
    save,
    send,
    succeed,
    until,
    until_finished,
    until_status,
    until_task,
)


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[Store]:
    async with open_store(migrated_url, durable=False) as opened:
        yield opened


def agent(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "agent", "agent": "a", **more}


INNER = {"name": "inner", "steps": [agent("x"), agent("y")]}
PARENT = {
    "name": "parent",
    "steps": [agent("a"), {"name": "c", "type": "workflow", "workflow": "inner"}],
}


def retry() -> RetryRequested:
    return RetryRequested(at=time(), by="ann")


class Agents:
    """Agents that fail where they are told to, or never answer, and remember what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.failing: set[str] = set()
        self.silent: set[str] = set()

    def __call__(self, command: Command) -> Arrival | None:
        step = command.task.partition("@")[0]
        self.asked.append(step)
        if step in self.silent:
            return None
        if step in self.failing:
            return TaskFailed(at=time(), task=command.task, error=Failure("broken", "it broke"))
        return succeed(command)


async def runs(store: Store) -> int:
    [row] = await store.fetch("SELECT COUNT(*) AS number FROM runs")
    return int(row["number"])


@pytest.mark.req("W-15")
async def test_a_child_that_failed_is_continued_as_often_as_its_parent_is_retried(
    store: Store,
) -> None:
    await save(store, INNER)
    await save(store, PARENT)
    agents = Agents()
    agents.failing = {"y"}
    async with executing(store), Bridge(store, agents):
        [run] = await begin(store, "parent")
        for times in (1, 2, 3):
            await until(lambda n=times: _ended(store, run, n))  # type: ignore[misc]
            assert (await load(store, run)).state.error == Failure(
                "broken", "it broke", "c", {"run": child_id(run, "c"), "step": "y"}
            )
            if times == 3:
                agents.failing.clear()
            await send(store, run, retry())
        await until_status(store, run, "completed")
    assert await outcome(store, run) == ("completed", "y@4")
    assert agents.asked == ["a", "x", "y", "y", "y", "y"]
    assert await runs(store) == 2


async def _ended(store: Store, run: str, times: int) -> bool:
    rows = await store.fetch("SELECT events FROM run_history WHERE run_id = $1", run)
    return sum(str(row["events"]).count('"run_finished"') for row in rows) == times


@pytest.mark.req("W-15")
async def test_a_child_that_was_cancelled_with_its_parent_is_continued_with_it(
    store: Store,
) -> None:
    await save(store, INNER)
    await save(store, PARENT)
    agents = Agents()
    agents.silent = {"y"}
    async with executing(store), Bridge(store, agents):
        [run] = await begin(store, "parent")
        child = child_id(run, "c")
        await until_task(store, f"{child}/y", "running")
        # All at once: the child hears it in this order, too.
        cancel = CancelRequested(at=time(), by="ann")
        await send(store, run, cancel, retry(), cancel, retry())
        await until_task(store, f"{child}/y@3", "running")
        assert (await load(store, child)).state.parent_task == "c@3"
        await send(store, child, TaskSucceeded(at=time(), task="y@3", output="late"))
        await until_status(store, run, "completed")
    assert await outcome(store, run) == ("completed", "late")
    assert (agents.asked.count("x"), await runs(store)) == (1, 2)


@pytest.mark.req("W-15")
async def test_a_child_that_completed_meanwhile_gives_what_it_gave(store: Store) -> None:
    await save(store, INNER)
    await save(store, PARENT)
    agents = Agents()
    agents.failing = {"y"}
    async with executing(store), Bridge(store, agents):
        [run] = await begin(store, "parent")
        await until_finished(store, [run])
        agents.failing.clear()
        child = child_id(run, "c")
        await send(store, child, retry())
        await until_status(store, child, "completed")
        await send(store, run, retry())
        await until_status(store, run, "completed")
    assert await outcome(store, run) == ("completed", "y@2")
    assert agents.asked == ["a", "x", "y", "y"]


@pytest.mark.req("W-15")
async def test_a_child_that_could_not_start_is_started(store: Store) -> None:
    await save(store, PARENT)
    async with executing(store), Bridge(store):
        [run] = await begin(store, "parent")
        await until_finished(store, [run])
        assert await outcome(store, run) == ("failed", "unknown_workflow")
        await save(store, INNER)
        await send(store, run, retry())
        await until_status(store, run, "completed")
    assert await outcome(store, run) == ("completed", "y")
    assert (await load(store, child_id(run, "c"))).row.parent_task == "c@2"


@pytest.mark.req("W-15")
async def test_a_call_is_repeated_in_the_attempt_group_that_it_was_made_in(store: Store) -> None:
    await save(store, {"name": "one", "steps": [agent("a")]})
    agents = Agents()
    agents.silent = {"a"}
    cancel = CancelRequested(at=time(), by="ann")
    query = "SELECT task, attempt_group FROM tasks ORDER BY task"
    async with executing(store), Bridge(store, agents):
        [run] = await begin(store, "one")
        await until_task(store, f"{run}/a", "running")
        await send(store, run, cancel, retry())
        await until_task(store, f"{run}/a@2", "running")
        await store.execute("UPDATE tasks SET attempt_group = 3 WHERE task = 'a@2'")
        await send(store, run, cancel, retry())
        await until_task(store, f"{run}/a@3", "running")
        assert [tuple(row) for row in await store.fetch(query)] == [
            ("a", 1),
            ("a@2", 3),
            ("a@3", 3),
        ]
        failed = TaskFailed(at=time(), task="a@3", error=Failure("broken", "it broke"))
        await send(store, run, failed, retry())
        await until_task(store, f"{run}/a@4", "running")
    assert (await store.fetch(query))[3]["attempt_group"] == 1


async def test_a_child_is_kept_as_long_as_its_parent_is_retried(store: Store) -> None:
    await save(store, INNER)
    await save(store, PARENT)
    agents = Agents()
    agents.failing = {"y"}
    async with executing(store), Bridge(store, agents):
        [run] = await begin(store, "parent")
        await until_finished(store, [run])
    await store.execute("UPDATE runs SET finished_at = NULL WHERE id = $1", run)
    assert await Retention(store, keep_days=0, now=lambda: time() + 1).sweep() == 0
