"""What is special about a store in a file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from pathlib import Path

import pytest

from accord.store import Store, StoreError, Transaction, open_store
from accord.store.errors import UnavailableError
from accord.store.wake import WakeFolder


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
    with pytest.raises(UnavailableError, match="cannot open"):
        await open_store(url(tmp_path / "nowhere"))


async def test_a_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_text("no database" * 100)
    with pytest.raises(StoreError, match="not a database"):
        await open_store(url(tmp_path))


async def test_many_open_a_new_file_at_the_same_time(tmp_path: Path) -> None:
    for number in range(10):
        new = f"sqlite://{tmp_path}/{number}.db"
        stores = await asyncio.gather(*(_opened(new) for _ in range(6)))
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
    monkeypatch.setattr("accord.store.sqlite_connection.BUSY_SECONDS", 0.05)
    async with open_store(url(tmp_path)) as store:
        await store.execute("CREATE TABLE t (x integer)")
        other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UnavailableError, match="locked"):
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
        await asyncio.wait_for(heard.wait(), 30)
        assert not left.exists()
        stop()
        assert os.listdir(left.parent) == []


async def test_a_listener_that_is_slow_is_woken_all_the_same(tmp_path: Path) -> None:
    folder = WakeFolder(tmp_path / "wake")
    heard = asyncio.Event()
    stop = folder.listen("news", heard.set)
    for _ in range(70_000):  # more than a pipe holds
        folder.notify("news")
    await asyncio.wait_for(heard.wait(), 30)
    stop()
