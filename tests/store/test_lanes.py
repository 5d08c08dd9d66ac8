"""Writers of one lane, on both engines: alone with each other, committed together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from accord.store import Store, StoreError, Transaction, open_store
from accord.store.store import ConstraintError, StoreUnavailableError
from tests.patience import PATIENCE as PATIENCE
from tests.store.cluster import Cluster
from tests.store.program import count

LANE = "counting"


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    async with open_store(url) as opened:
        await _make(opened)
        yield opened


async def _make(store: Store) -> None:
    await store.execute("CREATE TABLE counters (name text PRIMARY KEY, value integer NOT NULL)")
    await store.execute("INSERT INTO counters VALUES ('all', 0)")


async def counted(store: Store) -> int:
    [row] = await store.fetch("SELECT value FROM counters WHERE name = $1", "all")
    value: int = row["value"]
    return value


async def test_each_sees_what_those_before_it_did(url: str, store: Store) -> None:
    async with open_store(url) as other:
        await asyncio.gather(
            *(each.transact(count, lane=LANE) for _ in range(60) for each in (store, other))
        )
    assert await counted(store) == 120


async def test_one_that_fails_takes_back_its_own_changes_only(store: Store) -> None:
    async def fail(transaction: Transaction) -> None:
        await count(transaction)
        raise LookupError

    async def break_a_rule(transaction: Transaction) -> None:
        await count(transaction)
        await transaction.execute("INSERT INTO counters VALUES ('all', 1)")

    async def mistake(transaction: Transaction) -> None:
        await count(transaction)
        await transaction.fetch("SELECT * FROM nowhere")

    kinds = [count, fail, break_a_rule, count, mistake, count] * 4
    results = await asyncio.gather(
        *(store.transact(work, lane=LANE) for work in kinds), return_exceptions=True
    )
    none = type(None)
    assert [type(result) for result in results] == [
        *(none, LookupError, ConstraintError, none, StoreError, none),
    ] * 4
    assert await counted(store) == 12


async def test_one_that_fails_last_does_not_harm_those_before_it(store: Store) -> None:
    async def fail(transaction: Transaction) -> None:
        await count(transaction)
        raise LookupError

    first = asyncio.create_task(store.transact(count, lane=LANE))
    second = asyncio.create_task(store.transact(fail, lane=LANE))
    await asyncio.gather(first, second, return_exceptions=True)
    assert (first.result(), type(second.exception())) == (None, LookupError)
    assert await counted(store) == 1


async def test_what_was_begun_in_a_lane_is_finished_before_a_store_closes(
    url: str, store: Store
) -> None:
    begun = [asyncio.create_task(store.transact(count, lane=LANE)) for _ in range(100)]
    await asyncio.sleep(0)
    await store.close()
    assert await asyncio.gather(*begun) == [None] * 100
    async with open_store(url) as again:
        assert await counted(again) == 100
    with pytest.raises(StoreUnavailableError, match="the store is closed"):
        await store.transact(count, lane=LANE)


async def test_lanes_do_not_wait_for_each_other(cluster: Cluster) -> None:
    async with open_store(cluster.database()) as store:
        await _make(store)
        held, go_on = asyncio.Event(), asyncio.Event()

        async def hold(transaction: Transaction) -> None:
            held.set()
            await go_on.wait()

        first = asyncio.create_task(store.transact(hold, lane="one"))
        await held.wait()
        await asyncio.wait_for(store.transact(count, lane="two"), PATIENCE)
        assert not first.done()
        assert await counted(store) == 1
        go_on.set()
        await first


async def test_those_who_wait_take_no_connection(cluster: Cluster) -> None:
    async with open_store(cluster.database()) as store:
        await _make(store)
        held, go_on = asyncio.Event(), asyncio.Event()

        async def hold(transaction: Transaction) -> None:
            held.set()
            await go_on.wait()

        first = asyncio.create_task(store.transact(hold, lane=LANE))
        await held.wait()
        waiting = [asyncio.create_task(store.transact(count, lane=LANE)) for _ in range(50)]
        await asyncio.sleep(0)
        assert await asyncio.wait_for(counted(store), PATIENCE) == 0
        go_on.set()
        await asyncio.gather(first, *waiting)
        assert await counted(store) == 50


async def test_one_that_is_no_longer_wanted_is_not_run(cluster: Cluster) -> None:
    async with open_store(cluster.database()) as store:
        await _make(store)
        held, go_on = asyncio.Event(), asyncio.Event()

        async def hold(transaction: Transaction) -> None:
            held.set()
            await go_on.wait()

        first = asyncio.create_task(store.transact(hold, lane=LANE))
        await held.wait()
        second = asyncio.create_task(store.transact(count, lane=LANE))
        third = asyncio.create_task(store.transact(count, lane=LANE))
        await asyncio.sleep(0)
        second.cancel()
        go_on.set()
        await asyncio.gather(first, third)
        assert await counted(store) == 1


async def test_too_many_are_refused(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.store.postgres_lane.MAX_WAITING", 3)
    async with open_store(cluster.database()) as store:
        await _make(store)
        results = await asyncio.gather(
            *(store.transact(count, lane=LANE) for _ in range(5)), return_exceptions=True
        )
        assert [type(result) for result in results] == [type(None)] * 3 + [
            StoreUnavailableError
        ] * 2
        assert await counted(store) == 3


async def test_a_failure_that_was_swallowed_takes_the_transaction_back(cluster: Cluster) -> None:
    async def swallow(transaction: Transaction) -> str:
        await count(transaction)
        try:
            await transaction.execute("INSERT INTO counters VALUES ('all', 1)")
        except ConstraintError:
            pass
        return "fine"

    async with open_store(cluster.database()) as store:
        await _make(store)
        results = await asyncio.gather(
            *(store.transact(work, lane=LANE) for work in (swallow, count, swallow)),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [StoreError, type(None), StoreError]
        assert await counted(store) == 1


async def test_a_lost_connection_fails_those_who_are_not_committed(cluster: Cluster) -> None:
    url = cluster.database()
    async with open_store(url) as store, open_store(url) as other:
        await _make(store)

        async def lose(transaction: Transaction) -> None:
            await count(transaction)
            [row] = await transaction.fetch("SELECT pg_backend_pid() AS pid")
            await other.fetch("SELECT pg_terminate_backend($1)", row["pid"])
            await transaction.fetch("SELECT 1")

        results = await asyncio.gather(
            *(store.transact(work, lane=LANE) for work in (count, lose, count)),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [StoreUnavailableError] * 3
        assert await counted(store) == 0
        await store.transact(count, lane=LANE)
        assert await counted(store) == 1


async def test_connections_that_were_lost_meanwhile_are_made_again(cluster: Cluster) -> None:
    url = cluster.database()
    async with open_store(url) as store, open_store(url) as other:
        await _make(store)
        await store.transact(count, lane=LANE)
        await other.fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await store.transact(count, lane=LANE)
        assert await counted(store) == 2


async def test_one_that_others_got_in_the_way_of_is_run_again(cluster: Cluster) -> None:
    url = cluster.database()
    runs = 0
    async with open_store(url) as store, open_store(url) as other:
        await _make(store)
        await store.execute("INSERT INTO counters VALUES ('other', 0)")
        locked = asyncio.Event()

        async def outside(transaction: Transaction) -> None:
            await transaction.execute("UPDATE counters SET value = 5 WHERE name = 'other'")
            locked.set()
            await transaction.execute("UPDATE counters SET value = 5 WHERE name = 'all'")

        async def inside(transaction: Transaction) -> None:
            nonlocal runs
            runs += 1
            await transaction.execute("UPDATE counters SET value = value + 1 WHERE name = 'all'")
            if runs == 1:
                asyncio.get_running_loop().call_soon(begin.set)
                await locked.wait()
            await transaction.execute("UPDATE counters SET value = value + 1 WHERE name = 'other'")

        begin = asyncio.Event()
        task = asyncio.create_task(store.transact(inside, lane=LANE))
        await begin.wait()
        await asyncio.wait_for(asyncio.gather(task, other.transact(outside)), PATIENCE)
        rows = await store.fetch("SELECT value FROM counters ORDER BY name")
        assert sorted(row["value"] for row in rows) in ([5, 5], [6, 6])
