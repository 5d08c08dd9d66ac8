"""Rehearsals: what a transaction would do, of which nothing is kept, and for which nobody waits."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from accord.store import Store, Transaction, open_store
from accord.store.store import ConstraintError
from tests.patience import PATIENCE as PATIENCE

TABLES = ("notes", "tags")


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    async with open_store(url) as opened:
        number = (
            "bigint GENERATED ALWAYS AS IDENTITY UNIQUE"
            if opened.engine == "postgresql"
            else "integer"
        )
        await opened.execute(f"CREATE TABLE notes (id text PRIMARY KEY, n {number}, text text)")
        await opened.execute("CREATE TABLE tags (note text REFERENCES notes (id), tag text)")
        await opened.execute("INSERT INTO notes (id, text) VALUES ('a', 'one')")
        yield opened


async def texts(db: Store | Transaction) -> dict[str, str]:
    return {row["id"]: row["text"] for row in await db.fetch("SELECT * FROM notes ORDER BY id")}


async def change(db: Transaction) -> None:
    await db.execute("UPDATE notes SET text = 'two' WHERE id = 'a'")
    await db.execute("INSERT INTO notes (id, text) VALUES ('b', 'new')")
    await db.execute_later("INSERT INTO tags (note, tag) VALUES ('b', 'x')")


@pytest.mark.req("F-43")
async def test_a_rehearsal_sees_what_it_does_and_nothing_of_it_is_kept(store: Store) -> None:
    async def work(db: Transaction) -> dict[str, str]:
        await change(db)
        return await texts(db)

    for _ in range(2):
        assert await store.rehearse(work, TABLES) == {"a": "two", "b": "new"}
        assert await texts(store) == {"a": "one"}
    await store.transact(change)
    assert await texts(store) == {"a": "two", "b": "new"}


@pytest.mark.req("F-43")
async def test_others_write_to_the_same_rows_while_one_is_rehearsed(store: Store) -> None:
    begun, written = threading.Event(), threading.Event()

    async def work(db: Transaction) -> dict[str, str]:
        await change(db)
        begun.set()
        while not written.is_set():
            if db.engine == "sqlite":  # in a thread
                assert written.wait(PATIENCE)
            else:
                await asyncio.sleep(0.001)
        return await texts(db)

    rehearsed = asyncio.create_task(store.rehearse(work, TABLES))
    async with asyncio.timeout(PATIENCE):
        await asyncio.to_thread(begun.wait)
        await store.transact(change, lane="writes")
        await store.execute("UPDATE notes SET text = 'three' WHERE id = 'a'")
        written.set()
        assert await rehearsed == {"a": "two", "b": "new"}
    assert await texts(store) == {"a": "three", "b": "new"}


@pytest.mark.req("F-43")
async def test_what_a_rehearsal_raises_is_raised(store: Store) -> None:
    async def twice(db: Transaction) -> None:
        await db.execute("INSERT INTO notes (id, text) VALUES ('a', 'again')")

    async def fail(db: Transaction) -> None:
        await change(db)
        raise LookupError("enough")

    with pytest.raises(ConstraintError):
        await store.rehearse(twice, TABLES)
    with pytest.raises(LookupError, match="enough"):
        await store.rehearse(fail, TABLES)
    assert await texts(store) == {"a": "one"}


@pytest.mark.req("F-43")
async def test_a_part_of_a_rehearsal_is_taken_back(store: Store) -> None:
    async def work(db: Transaction) -> dict[str, str]:
        await db.execute("SAVEPOINT part")
        await change(db)
        await db.execute("ROLLBACK TO SAVEPOINT part")
        await db.execute("RELEASE SAVEPOINT part")
        return await texts(db)

    assert await store.rehearse(work, TABLES) == {"a": "one"}


@pytest.mark.req("F-43")
async def test_nothing_is_left_in_the_folder(store: Store, url: str) -> None:
    if store.engine == "postgresql":
        pytest.skip("only on SQLite, which copies a file")
    folder = Path(urlsplit(url).path).parent
    before = set(os.listdir(folder))
    seen: list[set[str]] = []

    async def work(db: Transaction) -> None:
        await change(db)
        seen.append(set(os.listdir(folder)))

    await store.rehearse(work, TABLES)
    assert [*seen, set(os.listdir(folder))] == [before, before]
