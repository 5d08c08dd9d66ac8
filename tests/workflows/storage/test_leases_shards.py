"""How executors share the work, on both engines: each has its share, nobody decides twice, and what
one leaves another takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from time import time
from typing import Any

import pytest

from accord.store import Store, open_store
from accord.store.store import DATABASE_CLOCK
from accord.workflows.bus.bus import EmbeddedBus
from accord.workflows.core.events import SignalReceived
from accord.workflows.executor.executor import Executor
from accord.workflows.storage.leases import SHARDS, Membership
from tests.patience import PATIENCE
from tests.workflows.executor.world import (
    Bridge,
    begin,
    executing,
    outcome,
    save,
    send,
    until,
    until_finished,
    until_status,
)

RIVAL = "INSERT INTO members (id, kind, since, until) VALUES ('rival', 'executor', 0, 1e12)"
GONE = "INSERT INTO members (id, kind, since, until) VALUES ('gone', 'executor', 0, {now} + 0.5)"
ROB = "UPDATE shards SET owner = 'rival', fence = fence + 1"


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[Store]:
    async with open_store(migrated_url, durable=False) as opened:
        await save(opened, {"name": "two", "steps": [agent("a"), agent("b")]})
        await save(
            opened, {"name": "wait", "steps": [{"name": "w", "type": "wait", "signal": "s"}]}
        )
        yield opened


def agent(name: str) -> dict[str, Any]:
    return {"name": name, "type": "agent", "agent": "a"}


async def owners(store: Store) -> dict[str | None, int]:
    rows = await store.fetch("SELECT owner, count(*) AS shards FROM shards GROUP BY owner")
    return {row["owner"]: row["shards"] for row in rows}


async def shares(store: Store) -> list[int]:
    return sorted((await owners(store)).values())


async def until_shares(store: Store, *expected: int) -> None:
    async def found() -> bool:
        return await shares(store) == list(expected)

    await until(found)


async def test_executors_share_the_shards_and_the_work(store: Store) -> None:
    async with executing(store) as first:
        assert await shares(store) == [SHARDS]
        async with executing(store) as second, executing(store) as third, Bridge(store):
            await until_shares(store, 10, 11, 11)
            runs = await begin(store, "two", count=60)
            await until_finished(store, runs)
        decided = [each.metrics.decided for each in (first, second, third)]
        assert sum(decided) == 60 * 3
        assert min(decided) > 0
        await until_shares(store, SHARDS)
    assert await owners(store) == {None: SHARDS}
    assert {await outcome(store, run) for run in runs} == {("completed", "b")}
    assert await store.fetch("SELECT id FROM members") == []


async def test_what_one_lets_go_of_is_taken_at_once(store: Store) -> None:
    lease = 600.0  # nobody looks in between
    async with executing(store, lease=lease), Bridge(store):
        async with executing(store, lease=lease):
            await until_shares(store, 16, 16)
            runs = await begin(store, "wait", count=40)
            for run in runs:
                await until_status(store, run, "waiting")
        async with asyncio.timeout(PATIENCE):
            await until_shares(store, SHARDS)
        [run] = await begin(store, "two")
        await until_finished(store, [run])


async def test_what_belongs_to_one_that_is_gone_is_taken_when_its_lease_is_over(
    store: Store,
) -> None:
    await store.execute(GONE.format(now=DATABASE_CLOCK[store.engine]))
    await store.execute("UPDATE shards SET owner = 'gone', fence = 3")
    async with executing(store, lease=0.3) as executor, Bridge(store):
        assert executor.metrics.shards == 0
        [run] = await begin(store, "two")
        await until_finished(store, [run])
        rows = await store.fetch("SELECT DISTINCT fence FROM shards")
        assert [row["fence"] for row in rows] == [4]


# Rule 8: one decision-maker; a smaller fence is refused


@pytest.mark.req("W-09")
async def test_an_executor_that_was_robbed_writes_nothing(store: Store) -> None:
    async with executing(store) as executor:
        await store.execute(RIVAL)
        await store.execute(ROB)
        [run] = await begin(store, "two")
        await until(lambda: _is_fenced(executor))
        assert await store.fetch("SELECT run_id FROM run_history") == []
        assert await store.fetch("SELECT id FROM tasks") == []
        assert await owners(store) == {"rival": SHARDS}
        # The rival goes, and the run goes on.
        await store.execute("DELETE FROM members WHERE id = 'rival'")
        await store.notify("members")
        async with Bridge(store):
            await until_finished(store, [run])
    assert await outcome(store, run) == ("completed", "b")


async def test_what_was_decided_by_another_in_between_is_read_again(store: Store) -> None:
    waits = [{"name": name, "type": "wait", "signal": name} for name in ("s1", "s2")]
    await save(store, {"name": "waits", "steps": waits})
    async with executing(store, lease=600.0) as executor:
        runs = await begin(store, "waits", count=20)
        for run in runs:
            await until_status(store, run, "waiting")
        async with executing(store, lease=600.0) as other:
            await until_shares(store, 16, 16)
            for run in runs:
                await send(store, run, SignalReceived(at=time(), name="s1", id="1"))
            await until(lambda: _is_empty(store))
        await until_shares(store, SHARDS)
        for run in runs:
            await send(store, run, SignalReceived(at=time(), name="s2", id="2"))
        await until_finished(store, runs)
    assert other.metrics.decided > 0
    assert executor.metrics.undecided == 0


async def test_an_executor_whose_lease_is_over_takes_nothing(store: Store) -> None:
    membership = Membership(store, "executor")
    await membership.start()
    await store.execute("UPDATE members SET until = 0")
    executor = Executor(store, EmbeddedBus(), membership)
    await executor.start()
    assert executor.metrics.shards == 0
    await executor.close()
    await membership.close()


async def test_members_that_are_gone_for_long_are_forgotten(store: Store) -> None:
    await store.execute(RIVAL)
    await store.execute("UPDATE members SET until = 1")
    async with executing(store):
        rows = await store.fetch("SELECT id FROM members WHERE id = 'rival'")
        assert rows == []


async def test_a_membership_is_lost_while_the_database_does_not_hear_it(store: Store) -> None:
    membership = Membership(store, "bridge", lease=0.3)
    await membership.start()
    assert not membership.lost.is_set()
    await store.execute("ALTER TABLE members RENAME TO away")
    async with asyncio.timeout(PATIENCE):
        await membership.lost.wait()
    await store.execute("ALTER TABLE away RENAME TO members")
    await until(lambda: _is_heard(membership))
    await membership.close()
    assert await store.fetch("SELECT id FROM members") == []


async def _is_empty(store: Store) -> bool:
    return not await store.fetch("SELECT id FROM run_inbox")


async def _is_fenced(executor: Executor) -> bool:
    return executor.metrics.fenced > 0


async def _is_heard(membership: Membership) -> bool:
    return not membership.lost.is_set()
