"""Rows that requests are recognized by, on both engines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from accord.operations.auth.credentials import BatchedLookup
from accord.operations.auth.storage import HASH_CONDITION
from accord.store import Store, open_store
from accord.store.store import Row, StoreError, StoreUnavailableError

STATEMENTS = {
    engine: f"SELECT hash, value FROM things WHERE hash {equals}"
    for engine, equals in HASH_CONDITION.items()
}


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    async with open_store(url, durable=False) as opened:
        await opened.execute("CREATE TABLE things (hash text, value integer)")
        for number in range(20):
            await opened.execute("INSERT INTO things VALUES ($1, $2)", f"h{number}", number)
        yield opened


class Counted:
    """A store whose reads are counted, and may be held up."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.engine = store.engine
        self.reads: list[Any] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def fetch(self, sql: str, *arguments: Any) -> list[Row]:
        self.reads.append(arguments[0])
        rows = await self._store.fetch(sql, *arguments)
        await self.gate.wait()
        return rows


async def test_each_gets_its_own(store: Store) -> None:
    lookups = BatchedLookup(store, STATEMENTS)
    asked = [f"h{number % 25}" for number in range(100)]
    found = await asyncio.gather(*(lookups.find(each) for each in asked))
    expected = [number % 25 if number % 25 < 20 else None for number in range(100)]
    assert [_value(row) for row in found] == expected


async def test_many_are_found_by_a_few_reads(store: Store) -> None:
    _needs_waiting(store)
    counted = Counted(store)
    lookups = BatchedLookup(counted, STATEMENTS)  # type: ignore[arg-type]
    await asyncio.gather(*(lookups.find(f"h{number % 10}") for number in range(100)))
    assert counted.reads == [[f"h{number}" for number in range(10)]]


@pytest.mark.req("H-15")
async def test_who_comes_during_a_read_sees_what_was_changed_before(store: Store) -> None:
    _needs_waiting(store)
    counted = Counted(store)
    lookups = BatchedLookup(counted, STATEMENTS)  # type: ignore[arg-type]
    counted.gate.clear()
    first = asyncio.create_task(lookups.find("h1"))
    while not counted.reads:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.05)  # by now it has read
    await store.execute("UPDATE things SET value = 100 WHERE hash = 'h1'")
    late = [asyncio.create_task(lookups.find("h1")) for _ in range(3)]
    await asyncio.sleep(0.01)
    counted.gate.set()
    before = await first
    after = await asyncio.gather(*late)
    assert [_value(row) for row in (before, *after)] == [1, 100, 100, 100]
    assert counted.reads == [["h1"], ["h1"]]


async def test_an_error_is_everybodys_and_the_next_may_succeed(store: Store) -> None:
    lookups = BatchedLookup(store, STATEMENTS)
    await store.execute("ALTER TABLE things RENAME TO hidden")
    failed = await asyncio.gather(*(lookups.find("h1") for _ in range(5)), return_exceptions=True)
    assert all(isinstance(each, StoreError) for each in failed)
    await store.execute("ALTER TABLE hidden RENAME TO things")
    assert await lookups.find("h1") is not None
    await store.close()
    with pytest.raises(StoreUnavailableError):
        await lookups.find("h1")


async def test_who_gives_up_takes_nobody_along(store: Store) -> None:
    lookups = BatchedLookup(store, STATEMENTS)
    tasks = [asyncio.create_task(lookups.find("h1")) for _ in range(5)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    rest = await asyncio.gather(*tasks[1:])
    assert [_value(row) for row in rest] == [1, 1, 1, 1]


def _needs_waiting(store: Store) -> None:
    if store.engine == "sqlite":
        pytest.skip("only on PostgreSQL: a read of SQLite is over before anybody else can come")


def _value(row: Row | None) -> int | None:
    return None if row is None else row["value"]
