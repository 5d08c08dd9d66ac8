"""Calls with an idempotency key are remembered for a day, on both engines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from accord.operations import runner
from accord.operations.context import SYSTEM, OperationContext
from accord.operations.errors import ConflictError
from accord.operations.runner import EarlierCall
from accord.store import Store, Transaction, open_store

BEGIN = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)


async def call(store: Store, key: str, hashed: str, *, after: timedelta) -> EarlierCall | None:
    """What an earlier call gave; without one, this is it."""

    async def body(transaction: Transaction) -> EarlierCall | None:
        now = (BEGIN + after).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        work = OperationContext(
            transaction, SYSTEM, now=now, new_id=str, engine=store.engine, services={}
        )
        before = await runner.find_earlier_call(work, key, hashed)
        if before is None:
            await runner.store_call(work, key, hashed, f"change {key}", {"key": key, "token": "x"})
        return before

    return await store.transact(body, lane="operations")


async def test_a_call_is_remembered_for_a_day(migrated_url: str) -> None:
    async with open_store(migrated_url) as store:
        kept = EarlierCall({"key": "k"}, "change k")
        assert await call(store, "k", "h", after=timedelta()) is None
        assert await call(store, "k", "h", after=timedelta(hours=23)) == kept
        with pytest.raises(ConflictError, match="was used for another request"):
            await call(store, "k", "other", after=timedelta(hours=23))
        assert await call(store, "k", "other", after=timedelta(hours=25)) is None
        assert await call(store, "k", "other", after=timedelta(hours=26)) == kept


async def test_a_call_that_is_kept_removes_some_that_are_old(migrated_url: str) -> None:
    async with open_store(migrated_url) as store:
        for number in range(15):
            await call(store, f"k{number}", "h", after=timedelta(seconds=number))
        await call(store, "new", "h", after=timedelta(hours=30))
        rows = await store.fetch("SELECT change_id FROM idempotency ORDER BY created_at")
        kept = ["k10", "k11", "k12", "k13", "k14", "new"]
        assert [row["change_id"] for row in rows] == [f"change {key}" for key in kept]


async def test_of_a_key_only_a_hash_is_kept(migrated_url: str) -> None:
    async with open_store(migrated_url) as store:
        await call(store, "secret", "h", after=timedelta())
        [row] = await store.fetch("SELECT key FROM idempotency")
        assert len(row["key"]) == 64
