"""A database that cannot be written says why, loses nothing, and is found well again by itself."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from accord.store import Store, Transaction, open_store
from accord.store.sqlite import MIN_FREE
from accord.store.store import StoreUnavailableError, StoreUnwritableError
from tests.patience import PATIENCE
from tests.store.unwritable import TROUBLES, Trouble, unwritable

LARGE = "x" * 100_000
every_trouble = pytest.mark.parametrize("trouble", TROUBLES)


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    async with open_store(url) as opened:
        await opened.execute("CREATE TABLE notes (id text PRIMARY KEY, content text NOT NULL)")
        yield opened


async def write(store: Store, id: str, content: str = LARGE, *, lane: str = "") -> None:
    async def work(db: Transaction) -> None:
        await db.execute("INSERT INTO notes VALUES ($1, $2)", id, content)

    await store.transact(work, lane=lane)


async def ids(store: Store) -> list[str]:
    return [row["id"] for row in await store.fetch("SELECT id FROM notes ORDER BY id")]


@pytest.mark.req("H-44")
@every_trouble
@pytest.mark.parametrize("lane", ["", "writes"])
async def test_a_write_that_cannot_be_made_says_why(
    store: Store, trouble: Trouble, lane: str
) -> None:
    await write(store, "before", lane=lane)
    assert await store.writing_fault() == ""
    async with unwritable(store, trouble, "notes"):
        with pytest.raises(StoreUnwritableError) as raised:
            await write(store, "lost", lane=lane)
        assert isinstance(raised.value, StoreUnavailableError)
        assert raised.value.told == f"the database cannot be written at the moment: {trouble}"
        for _ in range(3):
            assert await store.writing_fault() == trouble
        assert await ids(store) == ["before"]
    assert await store.writing_fault() == ""
    await write(store, "lost", lane=lane)
    assert await ids(store) == ["before", "lost"]


@pytest.mark.req("H-44")
@every_trouble
async def test_of_writes_that_are_committed_together_each_is_told_the_truth(
    store: Store, trouble: Trouble
) -> None:
    async with unwritable(store, trouble, "notes"):
        names = [f"{number:02}" for number in range(20)]
        writes = (write(store, name, lane="writes") for name in names)
        results = await asyncio.gather(*writes, return_exceptions=True)
        assert {type(result) for result in results} <= {type(None), StoreUnwritableError}
        done = [name for name, result in zip(names, results, strict=True) if result is None]
        assert await ids(store) == done
    await write(store, "after", lane="writes")
    assert await ids(store) == [*done, "after"]


FEW_BYTES = 600_000
LIMITED = f"""
import asyncio, resource, signal, sys
from accord.store import open_store
from accord.store.store import StoreUnwritableError as UnwritableError

async def main():
    async with open_store(f"sqlite://{{sys.argv[1]}}") as store:
        await store.execute("CREATE TABLE notes (content text NOT NULL)")
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, ({FEW_BYTES}, resource.RLIM_INFINITY))
        try:
            for _ in range(100):
                await store.execute("INSERT INTO notes VALUES ($1)", "x" * 200_000)
        except UnwritableError:
            await store.execute("INSERT INTO notes VALUES ('short')")
            print(await store.writing_fault(), await store.writing_fault(), sep=", ")
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        print(repr(await store.writing_fault()))
        print(await store.fetch("SELECT name FROM sqlite_master WHERE name LIKE '%probe%'"))

asyncio.run(main())
"""


@pytest.mark.req("H-44")
def test_a_database_with_room_for_short_writes_only_is_not_ready(tmp_path: Path) -> None:
    """The file may not grow, as with a quota, but its log has a little room left over."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "store.db")],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.stdout.splitlines() == ["its disk fails, its disk fails", "''", "[]"], done.stderr


@pytest.mark.req("H-44")
async def test_a_disk_without_room_is_seen_before_anybody_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_store(f"sqlite://{tmp_path}/store.db") as store:
        assert await store.writing_fault() == ""
        found = os.statvfs(tmp_path)
        values = list(found)
        values[4] = MIN_FREE // found.f_frsize - 1  # f_bavail
        monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result(values))
        assert await store.writing_fault() == "its disk is full"
