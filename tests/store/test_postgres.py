"""What is special about a store in PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys

import pytest

from accord.store import Transaction, open_store
from accord.store.postgres import PostgresStore
from accord.store.postgres_lane import combined
from accord.store.store import ReadTransaction, StoreUnavailableError
from tests.patience import PATIENCE as PATIENCE
from tests.store.cluster import Cluster


async def test_a_database_that_is_not_there_is_said(cluster: Cluster) -> None:
    with pytest.raises(StoreUnavailableError, match="does not exist"):
        await open_store(cluster.url("nowhere"))
    with pytest.raises(StoreUnavailableError, match="the database cannot be used"):
        await open_store("postgresql://me@127.0.0.1:1/x")


async def test_a_lost_connection_is_made_again_and_everybody_woken(cluster: Cluster) -> None:
    url = cluster.database()
    async with open_store(url) as store, open_store(url) as other:
        heard = asyncio.Event()
        await store.listen("news", heard.set)
        await other.fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await asyncio.wait_for(heard.wait(), PATIENCE)
        heard.clear()
        await other.notify("news")
        await asyncio.wait_for(heard.wait(), PATIENCE)
        assert len(await store.fetch("SELECT 1")) == 1


@pytest.mark.parametrize("snapshot", [False, True])
async def test_a_connection_that_is_lost_while_it_is_read_is_said(
    cluster: Cluster, snapshot: bool
) -> None:
    async def read(db: ReadTransaction) -> None:
        [row] = await db.fetch("SELECT pg_backend_pid() AS pid")
        await other.fetch("SELECT pg_terminate_backend($1)", row["pid"])
        await db.fetch("SELECT 1")

    url = cluster.database()
    async with open_store(url) as store, open_store(url) as other:
        with pytest.raises(StoreUnavailableError, match="the database cannot be used"):
            await store.read(read, snapshot=snapshot)
        assert len(await store.fetch("SELECT 1")) == 1


async def test_a_transaction_is_run_again_when_another_got_in_its_way(cluster: Cluster) -> None:
    runs = 0
    url = cluster.database()
    async with open_store(url) as store, open_store(url) as other:
        await store.execute("CREATE TABLE t (x integer)")
        await store.execute("INSERT INTO t VALUES (1)")

        async def double(transaction: Transaction) -> None:
            nonlocal runs
            runs += 1
            [row] = await transaction.fetch("SELECT x FROM t")
            if runs == 1:
                await other.execute("UPDATE t SET x = x + 10")
            await transaction.execute("UPDATE t SET x = $1", row["x"] * 2)

        await store.transact(double)
        [row] = await store.fetch("SELECT x FROM t")
        assert (row["x"], runs) == (22, 2)


async def test_a_store_closes_though_its_connection_broke_a_moment_ago(cluster: Cluster) -> None:
    store = await open_store(cluster.database())
    assert isinstance(store, PostgresStore)
    async with store._open.acquire() as connection:
        backend, plug = connection.get_server_pid(), connection._con._transport
    os.kill(backend, signal.SIGSTOP)  # it says nothing of it
    try:
        plug.get_extra_info("socket").shutdown(socket.SHUT_WR)
        await store.close()
    finally:
        os.kill(backend, signal.SIGCONT)
    with pytest.raises(StoreUnavailableError, match="the store is closed"):
        await store.fetch("SELECT 1")


def test_statements_are_put_together_with_arguments_of_their_own() -> None:
    insert, update = "INSERT INTO a VALUES ($1, $2)", "UPDATE b SET x = $1 || $2 || $1"
    assert combined(((insert, 2),)) == insert
    assert combined(((insert, 2), (update, 2), ("DELETE FROM c WHERE x = $1", 1))) == (
        "WITH later_0 AS (INSERT INTO a VALUES ($1, $2)), "
        "later_1 AS (UPDATE b SET x = $3 || $4 || $3)\n"
        "DELETE FROM c WHERE x = $5"
    )


def test_without_asyncpg_it_is_said_what_to_install() -> None:
    program = (
        "import asyncio, sys\n"
        "sys.modules['asyncpg'] = None\n"
        "from accord.store import open_store\n"
        "asyncio.run(open_store('postgresql://x')._open())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert "pip install 'accord[postgres]'" in done.stderr
