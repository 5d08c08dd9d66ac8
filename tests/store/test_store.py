"""Stores in SQLite and PostgreSQL: statements, transactions, wakes and full-text search."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator
from copy import copy
from pathlib import Path

import pytest

from accord.store import Row, Store, StoreError, Transaction, open_store
from accord.store.sqlite_reader import translate_error
from accord.store.store import ConstraintError, ReadTransaction, StoreUnavailableError
from tests.patience import PATIENCE as PATIENCE
from tests.store.program import count

PROGRAM = Path(__file__).with_name("program.py")


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    async with open_store(url) as opened:
        await opened.execute(
            "CREATE TABLE counters (name text PRIMARY KEY, value integer NOT NULL)"
        )
        await opened.execute("INSERT INTO counters VALUES ('all', 0)")
        yield opened


async def counted(store: Store) -> int:
    [row] = await store.fetch("SELECT value FROM counters WHERE name = $1", "all")
    value: int = row["value"]
    return value


async def test_what_is_written_is_read(store: Store) -> None:
    await store.execute("CREATE TABLE things (id text, n bigint, x double precision, b bytea)")
    changed = await store.execute(
        "INSERT INTO things VALUES ($1, $2, $3, $4), ('b', NULL, NULL, NULL)",
        "ä\n", 2**62, 1.5, b"\x00\xff",
    )  # fmt: skip
    rows = await store.fetch("SELECT * FROM things ORDER BY n NULLS LAST")
    assert changed == 2
    assert [tuple(_values(row)) for row in rows] == [
        ("ä\n", 2**62, 1.5, b"\x00\xff"),
        ("b", None, None, None),
    ]
    assert rows[0]["id"] == rows[0][0] == "ä\n"


def _values(row: Row) -> list[object]:
    return [row[place] for place in range(len(row))]


async def test_many_rows_are_written_by_one_statement_all_or_none(store: Store) -> None:
    insert = "INSERT INTO counters VALUES ($1, $2)"
    await store.transact(lambda db: db.execute_many(insert, [("a", 1), ("b", 2)]))
    with pytest.raises(ConstraintError):
        await store.transact(lambda db: db.execute_many(insert, [("c", 3), ("a", 4)]))
    rows = await store.fetch("SELECT name, value FROM counters ORDER BY name")
    assert [tuple(_values(row)) for row in rows] == [("a", 1), ("all", 0), ("b", 2)]


@pytest.mark.parametrize("lane", ["", "counting"])
async def test_what_is_run_later_is_there_for_the_next_statement_and_at_the_end(
    store: Store, lane: str
) -> None:
    async def work(transaction: Transaction) -> list[str]:
        await transaction.execute_later("INSERT INTO counters VALUES ($1, $2)", "a", 1)
        await transaction.execute_later("UPDATE counters SET value = $1 WHERE name = 'all'", 2)
        seen = await transaction.fetch("SELECT name, value FROM counters ORDER BY name")
        await transaction.execute_later("INSERT INTO counters VALUES ($1, $2)", "b", 3)
        await transaction.execute_later("INSERT INTO counters VALUES ('c', $1)", 4)
        return [f"{row['name']} {row['value']}" for row in seen]

    assert await store.transact(work, lane=lane) == ["a 1", "all 2"]
    rows = await store.fetch("SELECT name, value FROM counters ORDER BY name")
    assert [tuple(_values(row)) for row in rows] == [("a", 1), ("all", 2), ("b", 3), ("c", 4)]


@pytest.mark.parametrize("lane", ["", "counting"])
async def test_what_is_run_later_and_breaks_a_rule_takes_the_transaction_back(
    store: Store, lane: str
) -> None:
    async def work(transaction: Transaction) -> None:
        await transaction.execute_later("INSERT INTO counters VALUES ('a', 1)")
        await transaction.execute_later("INSERT INTO counters VALUES ($1, 1)", "all")

    with pytest.raises(ConstraintError):
        await store.transact(work, lane=lane)
    assert [row["name"] for row in await store.fetch("SELECT name FROM counters")] == ["all"]


async def test_a_statement_that_is_run_later_several_times_sees_what_it_did(store: Store) -> None:
    following = "INSERT INTO counters SELECT $1, MAX(value) + 1 FROM counters"

    async def work(transaction: Transaction) -> None:
        for name in "abc":
            await transaction.execute_later(following, name)

    await store.transact(work)
    rows = await store.fetch("SELECT name, value FROM counters ORDER BY value")
    assert [tuple(_values(row)) for row in rows] == [("all", 0), ("a", 1), ("b", 2), ("c", 3)]


async def test_a_transaction_is_all_or_nothing(store: Store) -> None:
    async def fail(transaction: Transaction) -> None:
        await count(transaction)
        raise LookupError("halfway")

    with pytest.raises(LookupError, match="halfway"):
        await store.transact(fail)
    assert await counted(store) == 0


async def test_a_transaction_gives_its_result(store: Store) -> None:
    async def work(transaction: Transaction) -> str:
        assert await transaction.execute("UPDATE counters SET value = 7") == 1
        [row] = await transaction.fetch("SELECT value FROM counters")
        return f"it is {row['value']}"

    assert await store.transact(work) == "it is 7"


async def test_transactions_at_the_same_time_lose_nothing(store: Store) -> None:
    await asyncio.gather(*(store.transact(count) for _ in range(40)))
    assert await counted(store) == 40


async def test_one_that_fails_does_not_harm_those_committed_with_it(store: Store) -> None:
    async def fail(transaction: Transaction) -> None:
        await transaction.execute("INSERT INTO counters VALUES ('all', 1)")

    results = await asyncio.gather(
        *(store.transact(fail if number % 3 == 0 else count) for number in range(12)),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [ConstraintError, type(None), type(None)] * 4
    assert await counted(store) == 8


async def test_wrong_sql_is_an_error_of_the_store(store: Store) -> None:
    with pytest.raises(StoreError, match="nowhere"):
        await store.fetch("SELECT * FROM nowhere")
    with pytest.raises(StoreError, match="nowhere"):
        await store.execute("UPDATE nowhere SET x = 1")
    assert await counted(store) == 0


async def test_a_closed_store_says_so(store: Store) -> None:
    await store.close()
    await store.close()
    for use in (store.fetch, store.execute):
        with pytest.raises(StoreUnavailableError, match="the store is closed"):
            await use("SELECT 1")


async def test_what_was_begun_is_finished_before_a_store_closes(url: str, store: Store) -> None:
    begun = [asyncio.create_task(store.transact(count)) for _ in range(10)]
    await asyncio.sleep(0)
    await store.close()
    done = await asyncio.gather(*begun, return_exceptions=True)
    async with open_store(url) as again:
        assert await counted(again) == sum(result is None for result in done)


async def test_those_who_listen_are_woken_once_it_is_committed(store: Store) -> None:
    heard = asyncio.Event()
    stop = await store.listen("counted", heard.set)
    await store.transact(count)
    await asyncio.wait_for(heard.wait(), PATIENCE)
    stop()
    stop()
    heard.clear()
    await store.notify("counted")
    other = asyncio.Event()
    await store.listen("other", other.set)
    await store.notify("other")
    await asyncio.wait_for(other.wait(), PATIENCE)
    assert not heard.is_set()


async def test_nobody_is_woken_by_what_is_taken_back(store: Store) -> None:
    heard: list[str] = []
    last = asyncio.Event()
    await store.listen("counted", lambda: heard.append("counted"))
    await store.listen("last", last.set)

    async def fail(transaction: Transaction) -> None:
        await transaction.notify("counted")
        raise LookupError

    with pytest.raises(LookupError):
        await store.transact(fail)
    await store.notify("last")
    await asyncio.wait_for(last.wait(), PATIENCE)
    assert heard == []


async def test_a_channel_has_a_plain_name(store: Store) -> None:
    for channel in ("", "Upper", "a-b", "a;b", "../x", "x" * 64):
        with pytest.raises(ValueError, match="is no channel"):
            await store.notify(channel)
        with pytest.raises(ValueError, match="is no channel"):
            await store.listen(channel, lambda: None)


async def test_processes_count_together_and_wake_each_other(url: str, store: Store) -> None:
    changes = asyncio.Event()
    await store.listen("counted", changes.set)
    programs = [
        await asyncio.create_subprocess_exec(sys.executable, str(PROGRAM), url, "25")
        for _ in range(3)
    ]
    async with asyncio.timeout(PATIENCE):
        while await counted(store) < 75:
            await changes.wait()
            changes.clear()
        assert [await program.wait() for program in programs] == [0, 0, 0]


# Migrations


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, sql in files.items():
        (folder / f"{name.replace('__', '.')}.sql").write_text(sql)
    return folder


async def test_migrations_are_run_in_order_and_once(store: Store, tmp_path: Path) -> None:
    folder = write(
        tmp_path / "shop",
        **{
            "0001_carts": "CREATE TABLE carts (id text); -- carts; of people\nCREATE INDEX i ON carts (id);",
            "0002_fill__sqlite": "INSERT INTO carts VALUES ('sqlite')",
            "0002_fill__postgresql": "INSERT INTO carts VALUES ('postgresql');",
            "notes": "nonsense",
        },
    )
    await store.migrate("shop", folder)
    await store.migrate("shop", folder)
    rows = await store.fetch("SELECT id FROM carts")
    assert [row["id"] for row in rows] == [store.engine]
    write(folder, **{"0003_more": "INSERT INTO carts VALUES ('more');"})
    await store.migrate("shop", folder)
    assert len(await store.fetch("SELECT id FROM carts")) == 2


async def test_a_migration_that_fails_leaves_nothing(store: Store, tmp_path: Path) -> None:
    folder = write(tmp_path / "shop", **{"0001_carts": "CREATE TABLE carts (id text);\nnonsense;"})
    with pytest.raises(StoreError, match="nonsense"):
        await store.migrate("shop", folder)
    with pytest.raises(StoreError, match="carts"):
        await store.fetch("SELECT * FROM carts")


async def test_processes_that_migrate_at_the_same_time_do_it_once(
    url: str, store: Store, tmp_path: Path
) -> None:
    folder = write(tmp_path / "shop", **{"0001_carts": "CREATE TABLE carts (id text);"})
    others = [await open_store(url) for _ in range(3)]
    await asyncio.gather(*(other.migrate("shop", folder) for other in others))
    for other in others:
        await other.close()
    assert await store.fetch("SELECT * FROM carts") == []


async def test_a_database_of_another_history_is_refused(store: Store, tmp_path: Path) -> None:
    newer = write(tmp_path / "newer", **{"0001_a": "SELECT 1;", "0002_b": "SELECT 1;"})
    older = write(tmp_path / "older", **{"0001_a": "SELECT 1;"})
    other = write(tmp_path / "other", **{"0001_c": "SELECT 1;"})
    gap = write(tmp_path / "gap", **{"0002_b": "SELECT 1;"})
    await store.migrate("shop", newer)
    with pytest.raises(StoreError, match="has migration 2 of shop"):
        await store.migrate("shop", older)
    with pytest.raises(StoreError, match="is a in the database and c here"):
        await store.migrate("shop", other)
    with pytest.raises(StoreError, match=r"are numbered \[2\]"):
        await store.migrate("shop", gap)


async def test_it_is_known_which_migrations_were_run(store: Store, tmp_path: Path) -> None:
    assert await store.applied("shop") == {}
    folder = write(tmp_path / "shop", **{"0001_a": "SELECT 1;", "0002_b": "SELECT 1;"})
    await store.migrate("shop", folder)
    assert await store.applied("shop") == {1: "a", 2: "b"}
    assert await store.applied("other") == {}


# Reading, and writing with one statement


async def test_one_statement_writes_and_gives_its_rows(store: Store) -> None:
    rows = await store.write("UPDATE counters SET value = value + 7 RETURNING name, value")
    assert [_values(row) for row in rows] == [["all", 7]]
    with pytest.raises(ConstraintError):
        await store.write("INSERT INTO counters VALUES ('all', 1) RETURNING value")


async def test_a_read_gives_its_result_and_raises_what_it_raises(store: Store) -> None:
    async def read(db: ReadTransaction) -> int:
        rows = await db.fetch("SELECT value FROM counters WHERE name = $1", "all")
        return len(rows)

    async def fail(db: ReadTransaction) -> None:
        await db.fetch("SELECT value FROM counters")
        raise LookupError

    for snapshot in (False, True):
        assert await store.read(read, snapshot=snapshot) == 1
        with pytest.raises(LookupError):
            await store.read(fail, snapshot=snapshot)
    with pytest.raises(StoreError, match="nowhere"):
        await store.read(lambda db: db.fetch("SELECT * FROM nowhere"))


async def test_what_is_fetched_now_is_the_same_where_nothing_is_waited_for(store: Store) -> None:
    rows = store.fetch_now("SELECT value FROM counters WHERE name = $1", "all")
    if store.engine == "sqlite":
        assert [tuple(row) for row in rows or ()] == [(0,)]
    else:
        assert rows is None


async def test_a_read_sees_what_was_committed_before_it(store: Store) -> None:
    for number in range(1, 20):
        await store.transact(count, lane="counting")
        assert await counted(store) == number


async def test_a_store_counts_what_it_writes_and_who_waits(store: Store) -> None:
    before = copy(store.counts)
    await asyncio.gather(*(store.transact(count, lane="counting") for _ in range(5)))
    counts = store.counts
    assert counts.transactions - before.transactions == 5
    assert 1 <= counts.commits - before.commits <= 5  # those that wait are committed together
    assert counts.waited > before.waited
    assert (counts.conflicts, counts.failed_commits) == (0, 0)
    load = store.load
    assert load.waiting == 0
    assert load.busy + load.idle <= load.most


# Opening


@pytest.mark.parametrize(
    "url", ["mysql://x", "sqlite://host/x", "sqlite:", "sqlite:///", "nonsense"]
)
async def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="sqlite:///PATH"):
        await open_store(url)


async def test_passwords_are_not_repeated() -> None:
    with pytest.raises(ValueError) as refused:
        await open_store("mysql://me:secret@host/x?password=secret")
    assert "secret" not in str(refused.value)


async def test_a_relative_path_is_where_the_program_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with open_store("sqlite:a%20b.db", durable=False) as store:
        await store.execute("CREATE TABLE t (x text)")
    assert (tmp_path / "a b.db").exists()


def test_a_sqlite_without_full_text_search_is_told_by_name() -> None:
    error = translate_error(sqlite3.OperationalError("no such module: fts5"))
    assert type(error) is StoreError
    assert str(error) == (
        f"SQLite {sqlite3.sqlite_version} of this Python has no full text search (FTS5): use "
        "another build of Python, or PostgreSQL"
    )
