"""Wrong passwords are counted for all processes together."""

from __future__ import annotations

import asyncio

import pytest

from accord.operations.auth.attempts import FORGET_SECONDS, FREE_ATTEMPTS, SignInAttempts
from accord.store import open_store
from accord.store.store import DATABASE_CLOCK

SECRET = b"s" * 32


@pytest.mark.req("H-16")
async def test_processes_count_wrong_passwords_together(migrated_url: str) -> None:
    async with open_store(migrated_url) as one, open_store(migrated_url) as other:
        here, there = SignInAttempts(one, SECRET), SignInAttempts(other, SECRET)
        paces = await asyncio.gather(
            *(each.begin("ada", "A") for _ in range(FREE_ATTEMPTS) for each in (here, there))
        )
        assert (
            sorted(pace.wait > 0 for pace in paces)
            == [False] * FREE_ATTEMPTS + [True] * FREE_ATTEMPTS
        )
        assert 0 < (await there.begin("ada", "A")).wait <= 1.0
        assert (await there.begin("ada", "B")).wait == 0.0
        await here.succeeded("ada", "A")
        assert (await there.begin("ada", "A")).wait == 0.0


async def test_neither_names_nor_addresses_can_be_read(migrated_url: str) -> None:
    async with open_store(migrated_url) as store:
        await SignInAttempts(store, SECRET).begin("hunter2", "198.51.100.7")
        rows = await store.fetch("SELECT key, count FROM sign_in_failures")
        assert [row["count"] for row in rows] == [1, 1, 1]
        assert all(len(row["key"]) == 64 and "hunter2" not in row["key"] for row in rows)


async def test_what_is_forgotten_is_removed(migrated_url: str) -> None:
    async with open_store(migrated_url) as store:
        await store.execute(
            "INSERT INTO sign_in_failures (key, count, last) "
            f"VALUES ('old', 9, {DATABASE_CLOCK[store.engine]} - {FORGET_SECONDS + 1})"
        )
        await SignInAttempts(store, SECRET).succeeded("ada", "A")
        assert await store.fetch("SELECT key FROM sign_in_failures") == []
