"""New runs and tasks, on both engines."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from accord.store import Store, open_store
from accord.workflows.bus.bus import EmbeddedBus
from accord.workflows.core.events import CallAgent, CancelRequested, RunStarted, decode_event
from accord.workflows.storage.leases import SHARDS, shard_of
from accord.workflows.storage.messages import RunMessage, deliver
from accord.workflows.storage.runs import NewRun, Starter, create_run
from accord.workflows.storage.tasks import NewTask

RUN = NewRun(
    id="7b0c5c3e-0000-7000-8000-000000000001",
    workflow="greet",
    version=1,
    input={"who": "Ann"},
    starter=Starter(username="ann"),
    origin="rest",
    at=5.0,
)


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[Store]:
    async with open_store(migrated_url, durable=False) as opened:
        await opened.execute(
            "INSERT INTO workflows (name, version, definition, created_by, created_at)"
            " VALUES ('greet', 1, '{}', '', '')"
        )
        yield opened


async def test_a_run_is_started_once(store: Store) -> None:
    assert await store.transact(lambda db: create_run(db, RUN))
    assert not await store.transact(lambda db: create_run(db, RUN))
    [row] = await store.fetch("SELECT run_id, shard, arrival FROM run_inbox")
    assert (row["run_id"], row["shard"]) == (RUN.id, shard_of(RUN.id))
    assert decode_event(row["arrival"]) == RunStarted(at=5.0, input={"who": "Ann"})


async def test_what_arrives_is_kept_in_order_and_once(store: Store) -> None:
    messages = [RunMessage(id, "r", CancelRequested(at=1.0, by=id)) for id in ("b", "a", "b")]
    await store.transact(lambda db: deliver(db, messages))
    rows = await store.fetch("SELECT message_id FROM run_inbox ORDER BY id")
    assert [row["message_id"] for row in rows] == ["b", "a"]


async def test_a_task_is_given_out_once_and_can_be_cancelled(store: Store) -> None:
    bus = EmbeddedBus()
    task = NewTask(run_id="r", command=CallAgent(task="ask", step="ask", agent="a"), at=1.0)
    for _ in range(2):
        await store.transact(lambda db: bus.dispatch(db, [task]))
    await store.transact(lambda db: bus.cancel(db, [task.id]))
    [row] = await store.fetch("SELECT id, kind, target, state, cancelled FROM tasks")
    assert (row["id"], row["kind"], row["target"]) == ("r/ask", "agent", "a")
    assert (row["state"], row["cancelled"]) == ("ready", 1)


async def test_there_is_a_row_for_every_shard(store: Store) -> None:
    rows = await store.fetch("SELECT shard FROM shards ORDER BY shard")
    assert [row["shard"] for row in rows] == list(range(SHARDS))
