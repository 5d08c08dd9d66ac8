"""Batched writes of task results, on both engines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from accord.store import Store, open_store
from accord.store.store import StoreUnavailableError
from accord.workflows.bridge.agents import AgentCache
from accord.workflows.bridge.result_writer import ResultWriter
from accord.workflows.bus.bus import EmbeddedBus
from accord.workflows.core.events import CallAgent
from accord.workflows.storage.tasks import TaskChange, TaskRows
from tests.workflows.bridge.yard import Tasks


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[Store]:
    async with open_store(migrated_url, durable=False) as opened:
        yield opened


async def taken(store: Store, count: int) -> list[str]:
    """Tasks that `me` has, with fence 1."""
    calls = [CallAgent(task=f"t{n}", step="s", agent="a") for n in range(count)]
    ids = await Tasks(store).give(*calls)
    rows = TaskRows(store, ["agent"])
    assert len(await rows.take("me", now=1e12, most=count, besides=[])) == count
    return ids


def change(id: str, fence: int = 1, **values: object) -> TaskChange:
    fields = {"state": "done", "attempt": 1, "attempt_group": 1, **values}
    return TaskChange(id=id, fence=fence, **fields)  # type: ignore[arg-type]


async def test_two_changes_of_one_task_are_made_in_their_order(store: Store) -> None:
    one, two = await taken(store, 2)
    endings = ResultWriter(store, TaskRows(store, ["agent"]), EmbeddedBus(), "me", lambda: 0)
    written = [
        endings.add(change(one, state="running", owner="me", remote_task="r-1")),
        endings.add(change(two)),
        endings.add(change(one, remote_task="r-1", outcome="cancelled")),
        endings.add(change(one, outcome="success")),
    ]
    assert await asyncio.gather(*written) == [True, True, True, False]
    row = await Tasks(store).row(one)
    assert (row["state"], row["outcome"], row["remote_task"]) == ("done", "cancelled", "r-1")


async def test_those_that_others_have_are_told_from_the_rest(store: Store) -> None:
    ids = await taken(store, 3)
    endings = ResultWriter(store, TaskRows(store, ["agent"]), EmbeddedBus(), "me", lambda: 0)
    written = [endings.add(change(id, fence)) for id, fence in zip(ids, (1, 2, 1), strict=True)]
    assert await asyncio.gather(*written) == [True, False, True]
    states = [(await Tasks(store).row(id))["state"] for id in ids]
    assert states == ["done", "running", "done"]


async def test_an_agent_is_as_it_was_while_the_database_is_away(migrated_url: str) -> None:
    async with open_store(migrated_url, durable=False) as store:
        await Tasks(store).register("a", "http://a.example/")
        agents = AgentCache(store)
        before = await agents.get("a")
        await store.close()
        agents.expire()
        assert await agents.get("a") == before
        with pytest.raises(StoreUnavailableError):
            await agents.get("b")
