"""Runs that ended long ago are archived or removed, and nothing else is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from accord.store import Store, open_store
from accord.store.store import Transaction
from accord.workflows.retention import DAY, Retention
from accord.workflows.storage.leases import Lease
from accord.workflows.storage.runs import MAX_OLD_RUNS, add_messages, begin_conversation
from tests.patience import PATIENCE

NOW = 1_763_200_000.0
"""2025-11-15"""
TABLES = ("run_history", "tasks", "approvals", "dead_letters", "a2a_tasks", "a2a_messages")


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[Store]:
    async with open_store(migrated_url, durable=False) as opened:
        await opened.execute(
            "INSERT INTO workflows (name, version, definition, created_by, created_at)"
            " VALUES ('greet', 1, '{}', '', '')"
        )
        yield opened


async def add(store: Store, id: str, *, days: float | None, parent: str | None = None) -> None:
    """A run that ended so many days ago, or still runs; with all that runs can have."""
    ended = None if days is None else NOW - days * DAY
    await store.execute(
        "INSERT INTO runs (id, workflow, version, shard, status, username, parent_run, created_at,"
        " finished_at) VALUES ($1, 'greet', 1, 0, $2, 'ada', $3, 5, $4)",
        *(id, "running" if days is None else "completed", parent, ended),
    )
    for sequence, events in ((1, '[{"type":"a"},{"type":"b"}]'), (3, '[{"type":"c"}]')):
        await store.execute(
            "INSERT INTO run_history (run_id, sequence, count, events) VALUES ($1, $2, 1, $3)",
            *(id, sequence, events),
        )
    await store.execute(
        "INSERT INTO tasks (id, run_id, task, kind, target, command, state, created_at)"
        " VALUES ($1, $2, 'ask', 'agent', 'a', '{}', 'done', 5)",
        *(f"{id}/ask", id),
    )
    await store.execute(
        "INSERT INTO approvals (run_id, task, step, approvers, created_at)"
        " VALUES ($1, 'ask', 'ask', '[]', 5)",
        id,
    )
    await store.execute(
        "INSERT INTO dead_letters (id, kind, run_id, code, message, created_at)"
        " VALUES ($1, 'task', $1, 'c', 'm', 5)",
        id,
    )

    async def say(db: Transaction) -> None:
        await begin_conversation(db, id, "u", "c", 5.0)
        await add_messages(db, id, 0, ["{}"])

    await store.transact(say)


async def left(store: Store) -> dict[str, list[str]]:
    """Which runs each table knows."""
    tables = TABLES
    found = {"runs": [row["id"] for row in await store.fetch("SELECT id FROM runs ORDER BY id")]}
    for table in tables:
        rows = await store.fetch(f"SELECT DISTINCT run_id FROM {table} ORDER BY run_id")
        found[table] = [row["run_id"] for row in rows]
    return found


def all_have(*ids: str) -> dict[str, list[str]]:
    return {table: list(ids) for table in ("runs", *TABLES)}


def read(path: Path) -> list[Any]:
    return [json.decode(line) for line in path.read_bytes().splitlines()]


def retention(store: Store, archive: Path | None = None) -> Retention:
    return Retention(store, keep_days=90, archive=archive, now=lambda: NOW)


async def test_only_what_ended_long_ago_goes(store: Store) -> None:
    await add(store, "old", days=91)
    await add(store, "new", days=89)
    await add(store, "running", days=None)
    assert await retention(store).sweep() == 1
    assert await left(store) == all_have("new", "running")


async def test_runs_are_written_with_their_history_before_they_go(
    store: Store, tmp_path: Path
) -> None:
    await add(store, "old", days=91)
    await add(store, "older", days=200)
    folder = tmp_path / "archive"
    assert await retention(store, folder).sweep() == 2
    assert sorted(path.name for path in folder.iterdir()) == [
        "runs-2025-04.jsonl",
        "runs-2025-08.jsonl",
    ]
    [run] = read(folder / "runs-2025-08.jsonl")
    assert run == {
        "id": "old", "workflow": "greet", "version": 1, "status": "completed", "user_id": "",
        "username": "ada", "token_id": "", "scopes": None, "origin": "", "parent_run": None,
        "parent_task": None, "cause": "", "chain": 0, "correlation_id": "", "traceparent": "",
        "created_at": 5.0, "finished_at": NOW - 91 * DAY,
        "history": [{"type": "a"}, {"type": "b"}, {"type": "c"}],
    }  # fmt: skip
    assert (
        folder.stat().st_mode & 0o777,
        (folder / "runs-2025-08.jsonl").stat().st_mode & 0o777,
    ) == (
        0o700,
        0o600,
    )
    assert await left(store) == all_have()


async def test_many_go_in_several_transactions(store: Store, tmp_path: Path) -> None:
    count = 2 * MAX_OLD_RUNS + 1
    for number in range(count):
        await add(store, f"{number:03}", days=100)
    assert await retention(store, tmp_path).sweep() == count
    written = read(tmp_path / "runs-2025-08.jsonl")
    assert [run["id"] for run in written] == [f"{number:03}" for number in range(count)]


async def test_a_child_stays_as_long_as_its_parent(store: Store) -> None:
    await add(store, "parent", days=None)
    await add(store, "child", days=100, parent="parent")
    assert await retention(store).sweep() == 0
    await store.execute("UPDATE runs SET finished_at = $1 WHERE id = 'parent'", NOW - 95 * DAY)
    assert await retention(store).sweep() == 2


async def test_what_somebody_just_asked_something_of_stays(store: Store) -> None:
    await add(store, "old", days=100)
    await store.execute(
        "INSERT INTO run_inbox (message_id, run_id, shard, arrival) VALUES ('m', 'old', 0, '{}')"
    )
    assert await retention(store).sweep() == 0


async def test_one_process_at_a_time_does_it(store: Store) -> None:
    await add(store, "old", days=100)
    other = Lease(store, "retention")
    assert await other.take()
    assert await retention(store).sweep() == 0
    await other.release()
    assert await retention(store).sweep() == 1


async def test_nothing_is_removed_that_cannot_be_written(store: Store, tmp_path: Path) -> None:
    await add(store, "old", days=100)
    (tmp_path / "archive").write_text("a file")
    with pytest.raises(OSError, match="archive"):
        await retention(store, tmp_path / "archive").sweep()
    assert await left(store) == all_have("old")


async def test_it_looks_when_it_starts(store: Store) -> None:
    await add(store, "old", days=100)
    cleaning = retention(store)
    await cleaning.start()
    try:
        async with asyncio.timeout(PATIENCE):
            while await left(store) != all_have():  # noqa: ASYNC110 - the database tells nobody
                await asyncio.sleep(0.01)
    finally:
        await cleaning.close()


async def test_closing_what_never_started_does_nothing(store: Store) -> None:
    await add(store, "old", days=100)
    await retention(store).close()
    assert await left(store) == all_have("old")
