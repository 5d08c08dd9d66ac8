"""What is special about a store in a file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from itertools import count
from pathlib import Path

import pytest

from accord.store import Store, StoreError, Transaction, open_store, sqlite_reader
from accord.store.sqlite_reader import WakeFolder
from accord.store.store import ReadTransaction, StoreUnavailableError
from tests.patience import PATIENCE


def url(folder: Path) -> str:
    return f"sqlite://{folder}/store.db"


async def _opened(url: str) -> Store:
    return await open_store(url)


async def test_nobody_else_can_read_the_files(tmp_path: Path) -> None:
    async with open_store(url(tmp_path)) as store:
        await store.execute("CREATE TABLE t (x text)")
        modes = {entry.name: entry.stat().st_mode & 0o077 for entry in os.scandir(tmp_path)}
    assert set(modes.values()) == {0}, modes


async def test_a_file_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match="cannot open"):
        await open_store(url(tmp_path / "nowhere"))


async def test_a_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_text("no database" * 100)
    with pytest.raises(StoreError, match="not a database"):
        await open_store(url(tmp_path))


async def test_many_open_a_new_file_at_the_same_time(tmp_path: Path) -> None:
    for number in range(10):
        new = f"sqlite://{tmp_path}/{number}.db"
        stores = await asyncio.gather(*(_opened(new) for _ in range(6)))
        await stores[0].execute("CREATE TABLE t AS SELECT 7 AS x")
        rows = [await store.fetch("SELECT x FROM t") for store in stores]
        assert [row["x"] for [row] in rows] == [7] * 6
        await asyncio.gather(*(store.close() for store in stores))


async def test_a_transaction_waits_for_nothing_else(tmp_path: Path) -> None:
    async def wait(transaction: Transaction) -> None:
        await asyncio.sleep(0)

    async with open_store(url(tmp_path)) as store:
        with pytest.raises(StoreError, match="nothing but its own statements"):
            await store.transact(wait)


async def test_transactions_that_wait_are_committed_together(tmp_path: Path) -> None:
    held = threading.Event()

    async def hold(transaction: Transaction) -> None:
        held.wait(30)

    async with open_store(url(tmp_path)) as store:
        await store.execute("CREATE TABLE t (x integer)")
        first = asyncio.create_task(store.transact(hold))
        work = [
            asyncio.create_task(store.execute("INSERT INTO t VALUES ($1)", n)) for n in range(99)
        ]
        await asyncio.sleep(0)
        before = (tmp_path / "store.db-wal").stat().st_size
        held.set()
        await asyncio.gather(first, *work)
        # Each commit adds the page of the table at least; together they add it once.
        pages = ((tmp_path / "store.db-wal").stat().st_size - before) / 4096
        assert pages < 20


async def test_cancelled_transactions_that_have_not_begun_are_not_run(tmp_path: Path) -> None:
    held = threading.Event()

    async def hold(transaction: Transaction) -> None:
        held.wait(30)

    async with open_store(url(tmp_path)) as store:
        await store.execute("CREATE TABLE t (x integer)")
        first = asyncio.create_task(store.transact(hold))
        await asyncio.sleep(0.01)
        second = asyncio.create_task(store.execute("INSERT INTO t VALUES (1)"))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        held.set()
        await first
        assert await store.fetch("SELECT * FROM t") == []


async def test_a_database_that_is_locked_for_too_long_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.store.sqlite_reader.BUSY_SECONDS", 0.05)
    async with open_store(url(tmp_path)) as store:
        await store.execute("CREATE TABLE t (x integer)")
        other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailableError, match="locked"):
            await store.execute("INSERT INTO t VALUES (1)")
        other.execute("ROLLBACK")
        other.close()
        assert await store.execute("INSERT INTO t VALUES (1)") == 1


async def test_pipes_that_nobody_reads_are_removed(tmp_path: Path) -> None:
    async with open_store(url(tmp_path)) as store:
        left = tmp_path / "store.db.wake" / "news.0"
        os.mkfifo(left)
        heard = asyncio.Event()
        stop = await store.listen("news", heard.set)
        await store.notify("news")
        await asyncio.wait_for(heard.wait(), PATIENCE)
        assert not left.exists()
        stop()
        assert os.listdir(left.parent) == []


async def test_a_listener_that_is_slow_is_woken_all_the_same(tmp_path: Path) -> None:
    folder = WakeFolder(tmp_path / "wake")
    heard = asyncio.Event()
    stop = folder.listen("news", heard.set)
    for _ in range(70_000):  # more than a pipe holds
        folder.notify("news")
    await asyncio.wait_for(heard.wait(), PATIENCE)
    stop()


COUNT_TO = (
    "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < $1) "
    "SELECT count(*) AS n FROM n"
)


async def test_a_read_that_takes_long_leaves_the_event_loop(tmp_path: Path) -> None:
    threads: list[str] = []

    async def read(db: ReadTransaction) -> int:
        threads.append(threading.current_thread().name)
        [row] = await db.fetch(COUNT_TO, 300_000)
        number: int = row["n"]
        return number

    async with open_store(url(tmp_path)) as store:
        assert await store.read(read) == 300_000
        assert await store.read(read) == 300_000
    here = threading.current_thread().name
    # Begun here and run again elsewhere; the second time its statement is known.
    assert threads[::2] == [here, here]
    assert all(name.startswith("accord-store-reader") for name in threads[1::2])


async def test_a_read_that_is_short_stays_on_the_event_loop(tmp_path: Path) -> None:
    threads: set[str] = set()

    async def read(db: ReadTransaction) -> None:
        threads.add(threading.current_thread().name)
        await db.fetch(COUNT_TO, 3)

    async with open_store(url(tmp_path)) as store:
        for _ in range(2000):  # more steps in all than one may take
            await store.read(read)
    assert threads == {threading.current_thread().name}


async def test_what_is_long_now_and_then_only_stays_on_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    seconds = count()

    async def read(db: ReadTransaction) -> None:
        threads.append(threading.current_thread().name)
        await db.fetch(COUNT_TO, 3)

    async with open_store(url(tmp_path)) as store:
        for each in range(40):
            # A clock by which every ninth run takes a second, and the others no time.
            monkeypatch.setattr(
                sqlite_reader, "perf_counter", (lambda: 0) if each % 9 else lambda: next(seconds)
            )
            await store.read(read)
    assert set(threads) == {threading.current_thread().name}


@pytest.mark.parametrize(("of_the_processor", "leaves"), [(0, False), (1, True)])
async def test_only_what_is_long_by_what_it_takes_of_the_processor_leaves_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_the_processor: int, leaves: bool
) -> None:
    threads: list[str] = []

    async def read(db: ReadTransaction) -> None:
        threads.append(threading.current_thread().name)
        await db.fetch(COUNT_TO, 3)

    monkeypatch.setattr(sqlite_reader, "perf_counter", count().__next__)
    monkeypatch.setattr(sqlite_reader, "thread_time", count(0, of_the_processor).__next__)
    async with open_store(url(tmp_path)) as store:
        for _ in range(40):
            await store.read(read)
    assert any(name.startswith("accord-store-reader") for name in threads) is leaves


async def test_a_read_changes_nothing(tmp_path: Path) -> None:
    async with open_store(url(tmp_path)) as store:
        await store.execute("CREATE TABLE t (x integer)")
        with pytest.raises(StoreError, match="readonly"):
            await store.fetch("INSERT INTO t VALUES (1) RETURNING x")


async def test_a_snapshot_does_not_change_while_others_write(tmp_path: Path) -> None:
    async with open_store(url(tmp_path)) as store:
        await store.execute("CREATE TABLE t (x integer)")
        begun, written = threading.Event(), threading.Event()

        async def read(db: ReadTransaction) -> list[int]:
            first = len(await db.fetch("SELECT x FROM t"))
            begun.set()
            assert written.wait(30)
            return [first, len(await db.fetch("SELECT x FROM t"))]

        reading = asyncio.create_task(store.read(read, snapshot=True))
        await asyncio.to_thread(begun.wait, 30)
        await store.execute("INSERT INTO t VALUES (1)")
        written.set()
        assert await reading == [0, 0]
        assert len(await store.fetch("SELECT x FROM t")) == 1


async def test_all_statements_of_a_read_see_one_state(tmp_path: Path) -> None:
    async with open_store(url(tmp_path)) as store:
        await store.execute("CREATE TABLE t (x integer)")
        other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)

        async def read(db: ReadTransaction) -> list[int]:
            first = len(await db.fetch("SELECT x FROM t"))
            other.execute("INSERT INTO t VALUES (1)")
            within = await store.read(lambda nested: nested.fetch("SELECT x FROM t"))
            return [first, len(within), len(await db.fetch("SELECT x FROM t"))]

        assert await store.read(read) == [0, 0, 0]
        assert await store.read(read) == [1, 1, 1]
        other.close()


async def test_what_takes_too_long_for_now_is_not_fetched_now(tmp_path: Path) -> None:
    async with open_store(url(tmp_path)) as store:
        assert [tuple(row) for row in store.fetch_now("SELECT $1 AS x", 1) or ()] == [(1,)]
        assert store.fetch_now(COUNT_TO, 300_000) is None
        [row] = await store.fetch(COUNT_TO, 300_000)
        assert row["n"] == 300_000
    with pytest.raises(StoreUnavailableError, match="closed"):
        store.fetch_now("SELECT 1")


async def test_a_statement_has_so_many_arguments(tmp_path: Path) -> None:
    async with open_store(url(tmp_path)) as store:
        with pytest.raises(StoreError, match="takes 4999 arguments, not 5,000"):
            await store.fetch("SELECT 1", *range(5000))


async def test_the_log_beside_the_file_is_cut_once_it_is_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.store.sqlite_reader.MAX_WAL", 1024 * 1024)
    async with open_store(url(tmp_path), durable=False) as store:
        await store.execute("CREATE TABLE t (x blob)")
        for _ in range(3):
            await store.execute("INSERT INTO t VALUES ($1)", b"x" * 8 * 1024 * 1024)
            await store.execute("DELETE FROM t")
        assert (tmp_path / "store.db-wal").stat().st_size <= 10 * 1024 * 1024


async def test_who_begins_to_listen_is_not_taken_for_one_that_is_gone(tmp_path: Path) -> None:
    folder = WakeFolder(tmp_path / "wake")
    over = threading.Event()

    def notify() -> None:
        while not over.is_set():
            folder.notify("news")

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        notifying = tasks.create_task(asyncio.to_thread(notify))
        try:
            for _ in range(500):
                folder.listen("news", lambda: None)()
                await asyncio.sleep(0)
        finally:
            over.set()
        await notifying
    assert list((tmp_path / "wake").iterdir()) == []
