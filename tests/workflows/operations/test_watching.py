"""Runs are followed from any place on, by many, at the cost of one."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any, cast

from accord.store.store import Store
from accord.workflows.watching import LAST_PLACE, MAX_WAITING, RunWatch
from tests.workflows.operations.office import PATIENCE, Office

HEAR = {
    "name": "hear",
    "steps": [
        {"name": "on", "type": "wait", "signal": "go"},
        {"name": "off", "type": "wait", "signal": "stop"},
    ],
}


async def numbers(
    watch: RunWatch, id: str, after: int = 0, *, ready: asyncio.Semaphore | None = None
) -> list[int]:
    """Those of the events that are heard; `ready` counts who heard something."""
    found: list[int] = []
    async with asyncio.timeout(PATIENCE), aclosing(watch.follow(id, after)) as following:
        async for events in following:
            if ready is not None and not found:
                ready.release()
            found += [number for number, _ in events]
    return found


async def test_who_comes_late_hears_everything_and_who_comes_back_the_rest(busy: Office) -> None:
    await busy.save(HEAR)
    id = await busy.start("hear")
    watch = busy.local.watch
    early = asyncio.create_task(numbers(watch, id))
    await busy.until(id, "waiting")
    await busy.call("signal_run", run=id, name="go")
    await busy.until(id, "waiting")
    late = asyncio.create_task(numbers(watch, id))
    beyond = asyncio.create_task(numbers(watch, id, LAST_PLACE))
    back = asyncio.create_task(numbers(watch, id, 2))
    await busy.call("signal_run", run=id, name="stop")
    every = await early
    assert every == list(range(1, len(every) + 1))
    assert await late == every
    assert await back == every[2:]
    assert await beyond == []
    assert await numbers(watch, id) == every
    assert await numbers(watch, id, every[-1]) == []


class Counted:
    """A store that counts how often it is read."""

    def __init__(self, store: Store) -> None:
        self.reads = 0
        self.engine = store.engine
        self.listen = store.listen
        self._store = store

    async def fetch(self, sql: str, /, *arguments: Any) -> Any:
        self.reads += 1
        return await self._store.fetch(sql, *arguments)

    async def read(self, work: Any, *, snapshot: bool = False) -> Any:
        self.reads += 1
        return await self._store.read(work, snapshot=snapshot)


class Held:
    """A store that holds up the next read once it is told to."""

    def __init__(self, store: Store) -> None:
        self.let: asyncio.Event | None = None
        self.engine = store.engine
        self.listen = store.listen
        self.fetch = store.fetch
        self._store = store

    async def read(self, work: Any, *, snapshot: bool = False) -> Any:
        held, self.let = self.let, None
        if held is not None:
            await held.wait()
        return await self._store.read(work, snapshot=snapshot)


async def test_what_happens_while_somebody_catches_up_is_heard_once(busy: Office) -> None:
    await busy.save(HEAR)
    id = await busy.start("hear")
    await busy.until(id, "waiting")
    store = Held(busy.local.store)
    watch = RunWatch(cast(Store, store))
    ready = asyncio.Semaphore(0)
    early = asyncio.create_task(numbers(watch, id, ready=ready))
    await ready.acquire()
    store.let = let = asyncio.Event()
    late = asyncio.create_task(numbers(watch, id))
    await asyncio.sleep(0)
    await busy.call("signal_run", run=id, name="go")
    await busy.call("signal_run", run=id, name="stop")
    every = await early
    let.set()
    assert await late == every
    await watch.close()


async def test_many_cost_what_one_costs(busy: Office) -> None:
    await busy.save(HEAR)
    id = await busy.start("hear")
    await busy.until(id, "waiting")
    store = Counted(busy.local.store)
    watch = RunWatch(cast(Store, store))
    ready = asyncio.Semaphore(0)
    following = [asyncio.create_task(numbers(watch, id, ready=ready)) for _ in range(200)]
    async with asyncio.timeout(PATIENCE):
        for _ in following:
            await ready.acquire()
    before = store.reads
    await busy.call("signal_run", run=id, name="go")
    await busy.call("signal_run", run=id, name="stop")
    found = await asyncio.gather(*following)
    assert all(each == found[0] for each in found)
    assert store.reads - before < 100
    await watch.close()


async def test_no_more_than_so_many_wait(office: Office) -> None:
    await office.save(HEAR)
    id = await office.start("hear")
    watch = RunWatch(office.local.store)
    waiting = [asyncio.create_task(watch.wait(id, 600)) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE):
        await watch.wait(id, 600)
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    await watch.wait(id, 0.01)
    await watch.close()


async def test_a_run_that_is_not_there_has_ended(office: Office) -> None:
    assert await numbers(office.local.watch, "none") == []
    await office.local.watch.wait("none", 10)
