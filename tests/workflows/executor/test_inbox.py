"""The inbox of an executor: runs to decide on, and messages that a bus offers; both engines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from time import time
from typing import Any

import pytest

from accord.store import Store, open_store
from accord.workflows.core.events import TaskSucceeded
from accord.workflows.executor.inbox import Agenda
from accord.workflows.storage.messages import MAX_INBOX_MESSAGES, RunMessage
from tests.workflows.executor.world import (
    begin,
    executing,
    outcome,
    save,
    until_finished,
    until_task,
)

INSERT = """
INSERT INTO runs (id, workflow, version, shard, next_timer, created_at)
VALUES ($1, 'nap', 1, 0, 5.0, 1.0)
"""


async def test_more_timers_than_are_read_at_once_do_not_wait_for_each_other(
    migrated_url: str,
) -> None:
    async with open_store(migrated_url, durable=False) as store:
        await store.execute(
            "INSERT INTO workflows (name, version, definition, created_by, created_at)"
            " VALUES ('nap', 1, '{}', '', '')"
        )
        ids = [(f"run-{number:05d}",) for number in range(MAX_INBOX_MESSAGES + 7)]
        await store.transact(lambda db: db.execute_many(INSERT, ids))
        agenda = Agenda(store, lambda: 6.0)
        seen: set[str] = set()
        for most in (MAX_INBOX_MESSAGES, 7, 0):
            found = set(await agenda.read([0], 6.0))
            assert (len(found), found & seen) == (most, set())
            seen |= found
            await _handle(store, found)
        assert agenda.pause == 1.0


async def _handle(store: Store, runs: set[str]) -> None:
    handled = "UPDATE runs SET next_timer = NULL WHERE id = $1"
    await store.transact(lambda db: db.execute_many(handled, [(each,) for each in runs]))


TWO = {
    "name": "two",
    "steps": [
        {"name": "first", "type": "agent", "agent": "a", "input": {}},
        {"name": "second", "type": "agent", "agent": "a", "input": {}},
    ],
    "output": "${steps.second.output}",
}


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[Store]:
    async with open_store(migrated_url, durable=False) as opened:
        await save(opened, TWO)
        yield opened


def done(run_id: str, task: str, output: Any = None) -> RunMessage:
    event = TaskSucceeded(at=time(), task=task, output=output, attempts=2)
    return RunMessage(f"{run_id}/{task}/done", run_id, event)


async def row(store: Store, id: str) -> tuple[Any, ...]:
    [found] = await store.fetch("SELECT state, outcome, attempt FROM tasks WHERE id = $1", id)
    return tuple(found)


@pytest.mark.req("W-08")
async def test_what_is_offered_is_decided_on_and_ends_its_task_in_one(store: Store) -> None:
    async with executing(store) as executor:
        runs = await begin(store, "two", count=3)
        for run in runs:
            await until_task(store, f"{run}/first")
            assert executor.is_its_own(run)
        offered = [done(run, "first") for run in runs]
        assert await executor.decide_on(offered) == {each.id for each in offered}
        for run in runs:
            assert await row(store, f"{run}/first") == ("done", "success", 2)
            assert await row(store, f"{run}/second") == ("ready", None, 1)
        await executor.decide_on([done(run, "second", "fine") for run in runs])
        await until_finished(store, runs)
        assert [await outcome(store, run) for run in runs] == [("completed", "fine")] * 3
        assert await store.fetch("SELECT 1 FROM run_inbox") == []


@pytest.mark.req("W-08")
async def test_what_is_offered_twice_is_recorded_once(store: Store) -> None:
    async with executing(store) as executor:
        [run] = await begin(store, "two")
        await until_task(store, f"{run}/first")
        first = done(run, "first")
        for _ in range(2):
            assert await executor.decide_on([first, first]) == {first.id}
        rows = await store.fetch("SELECT events FROM run_history WHERE run_id = $1", run)
        assert sum(each["events"].count("task_succeeded") for each in rows) == 1


async def test_what_no_run_waits_for_is_done_with(store: Store) -> None:
    async with executing(store) as executor:
        nobody = done("7b0c5c3e-0000-7000-8000-000000000001", "first")
        assert await executor.decide_on([nobody]) == {nobody.id}


async def test_what_cannot_be_written_is_left_to_whoever_offered_it(store: Store) -> None:
    async with executing(store) as executor:
        good, bad = await begin(store, "two", count=2)
        for run in (good, bad):
            await until_task(store, f"{run}/first")
        refusal = "BEGIN SELECT RAISE(ABORT, 'never'); END"
        if store.engine == "postgresql":
            refusal = "EXECUTE FUNCTION refuse()"
            await store.execute(
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
                " $$ BEGIN RAISE EXCEPTION 'never'; END $$"
            )
        await store.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON run_history FOR EACH ROW"
            f" WHEN (NEW.run_id = '{bad}') {refusal}"
        )
        offered = [done(run, "first") for run in (good, bad)]
        assert await executor.decide_on(offered) == {offered[0].id}
        assert await row(store, f"{bad}/first") == ("ready", None, 1)


async def test_who_is_closed_or_may_be_overtaken_decides_on_nothing(store: Store) -> None:
    async with executing(store) as executor:
        [run] = await begin(store, "two")
        await until_task(store, f"{run}/first")
    assert not executor.is_its_own(run)
    assert await executor.decide_on([done(run, "first")]) == set()
