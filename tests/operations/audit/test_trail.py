"""The trail of a running server, on both engines."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from accord.operations.audit import trail as trail_module
from accord.operations.audit.record import Chain, ChainHead
from accord.operations.audit.trail import AuditTrail
from accord.operations.audit.verify import VerificationReport, verify
from accord.operations.errors import ServiceUnavailableError
from accord.store import Store, StoreError, Transaction, open_store
from tests.operations.audit.trails import KEY, migrated, record, values
from tests.patience import PATIENCE


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    async with migrated(url) as found:
        yield found


async def head_of(store: Store) -> ChainHead:
    [row] = await store.fetch("SELECT value FROM settings WHERE name = 'audit_head'")
    head = Chain(KEY).head(row["value"])
    assert head is not None
    return head


@pytest.mark.req("H-17")
async def test_what_was_written_is_sealed_in_order_and_found_intact(store: Store) -> None:
    first, second, third = record(), record(actor=""), record(outcome="denied", error="x")
    async with AuditTrail(store, KEY) as trail:
        trail.enqueue(first)
        trail.enqueue(second)

        async def write(transaction: Transaction) -> None:
            await trail.write(transaction, third)

        await store.transact(write)
    rows = await store.fetch("SELECT sequence, record_id FROM audit_seals ORDER BY sequence")
    assert [values(row) for row in rows] == [(1, first.id), (2, second.id), (3, third.id)]
    head = await head_of(store)
    assert head.sequence == 3
    assert await verify(store, KEY, anchors=[head]) == VerificationReport(
        sealed=3, pending=0, head=head, findings=()
    )


async def test_an_empty_trail_has_a_head(store: Store) -> None:
    async with AuditTrail(store, KEY):
        pass
    assert await verify(store, KEY) == VerificationReport(
        sealed=0, pending=0, head=ChainHead(0, ""), findings=()
    )


@pytest.mark.req("H-17")
@pytest.mark.parametrize("table", ["audit_records", "audit_seals"])
async def test_the_database_refuses_to_change_or_remove(store: Store, table: str) -> None:
    async with AuditTrail(store, KEY) as trail:
        trail.enqueue(record())
    key = {"audit_records": "id", "audit_seals": "hash"}[table]
    for sql in (f"UPDATE {table} SET {key} = 'x'", f"DELETE FROM {table}"):
        with pytest.raises(StoreError, match="the audit trail is append-only"):
            await store.execute(sql)


async def test_a_record_of_what_is_taken_back_is_taken_back_with_it(store: Store) -> None:
    async with AuditTrail(store, KEY) as trail:

        async def fail(transaction: Transaction) -> None:
            await trail.write(transaction, record())
            raise LookupError

        with pytest.raises(LookupError):
            await store.transact(fail)
    assert await store.fetch("SELECT id FROM audit_records") == []
    assert (await verify(store, KEY)).is_intact


async def test_records_are_written_within_a_second_without_being_asked_for(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail_module, "FLUSH_SECONDS", 0.01)
    async with AuditTrail(store, KEY) as trail:
        trail.enqueue(record())
        async with asyncio.timeout(PATIENCE):
            while not await store.fetch("SELECT sequence FROM audit_seals"):  # noqa: ASYNC110
                await asyncio.sleep(0)  # of the database there is no event


async def test_calls_are_refused_rather_than_left_off_the_record(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail_module, "MAX_QUEUED", 3)
    async with AuditTrail(store, KEY) as trail:
        for _ in range(3):
            trail.enqueue(record())
        with pytest.raises(ServiceUnavailableError, match="the audit trail cannot be written"):
            trail.enqueue(record())
    assert len(await store.fetch("SELECT id FROM audit_records")) == 3


async def test_many_records_are_written_in_several_transactions(store: Store) -> None:
    async with AuditTrail(store, KEY) as trail:
        for _ in range(2300):
            trail.enqueue(record())
    report = await verify(store, KEY)
    assert (report.sealed, report.findings) == (2300, ())


async def test_what_no_database_takes_is_replaced_or_cut(store: Store) -> None:
    async with AuditTrail(store, KEY) as trail:
        trail.enqueue(record(client="a\0b", actor="\ud800", target="x" * 5000))
    [row] = await store.fetch("SELECT client, actor, target FROM audit_records")
    assert values(row) == ("a\ufffdb", "?", "x" * 1000)
    assert (await verify(store, KEY)).is_intact


async def test_what_another_left_unsealed_is_sealed_at_the_start(store: Store) -> None:
    killed = AuditTrail(store, KEY)

    async def write(transaction: Transaction) -> None:
        await killed.write(transaction, record())

    await store.transact(write)
    report = await verify(store, KEY)
    assert report.pending == 1
    async with AuditTrail(store, KEY):
        assert (await verify(store, KEY)).sealed == 1


async def test_several_processes_make_one_chain(url: str, store: Store) -> None:
    async with (
        open_store(url) as other,
        AuditTrail(store, KEY) as here,
        AuditTrail(other, KEY) as there,
    ):
        for _ in range(20):
            for trail in (here, there):
                trail.enqueue(record())
            await asyncio.gather(here.flush(), there.flush())
    report = await verify(store, KEY)
    assert (report.sealed, report.findings) == (40, ())


async def test_the_head_goes_to_the_log_and_into_a_file(
    store: Store,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("accord.operations.audit.trail.LOG_SECONDS", 0.0)
    caplog.set_level(logging.INFO, "accord.audit")
    file = tmp_path / "audit-head"
    async with AuditTrail(store, KEY, head_file=file) as trail:
        trail.enqueue(record())
        async with asyncio.timeout(PATIENCE):
            while not caplog.messages:  # noqa: ASYNC110 - the log wakes nobody
                await asyncio.sleep(0.01)
        trail.enqueue(record())
    head = await head_of(store)
    assert head is not None
    assert head.sequence == 2
    assert caplog.messages[-1] == f"the head of the audit trail is {head}"
    assert len(set(caplog.messages)) == len(caplog.messages), "a head is logged once"
    assert Chain(KEY).head(file.read_bytes()) == head
    assert file.stat().st_mode & 0o077 == 0


async def test_a_trail_that_is_open_for_a_moment_logs_no_head(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "accord.audit")
    async with AuditTrail(store, KEY) as trail:
        trail.enqueue(record())
    assert caplog.messages == []


# When somebody changes the trail while the server runs


async def test_a_head_that_was_turned_back_leaves_a_gap(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async with AuditTrail(store, KEY) as trail:
        trail.enqueue(record())
        await trail.flush()
        [old] = await store.fetch("SELECT value FROM settings WHERE name = 'audit_head'")
        trail.enqueue(record())
        await trail.flush()
        await store.execute(
            "UPDATE settings SET value = $1 WHERE name = 'audit_head'", old["value"]
        )
        trail.enqueue(record())
    assert "somebody changed the audit trail: its head was turned back" in caplog.text
    assert (await head_of(store)).sequence == 3


async def test_the_head_in_the_file_is_believed_after_a_restart(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "audit-head"
    async with AuditTrail(store, KEY, head_file=file) as trail:
        trail.enqueue(record())
    await store.execute("DELETE FROM settings WHERE name = 'audit_head'")
    async with AuditTrail(store, KEY, head_file=file) as trail:
        trail.enqueue(record())
    assert "its head is gone or not genuine" in caplog.text
    assert (await verify(store, KEY)).is_intact
    file.write_text("nonsense")
    async with AuditTrail(store, KEY, head_file=file):
        assert "holds no genuine head" in caplog.text


async def test_nothing_is_sealed_when_the_head_is_gone_and_nothing_is_known(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async with AuditTrail(store, KEY) as trail:
        trail.enqueue(record())
    await store.execute("DELETE FROM settings WHERE name = 'audit_head'")
    async with AuditTrail(store, KEY) as trail:
        trail.enqueue(record())
    assert "nothing is sealed" in caplog.text
    report = await verify(store, KEY)
    assert [finding.fault for finding in report.findings] == ["head"]
    assert (report.sealed, report.pending) == (1, 1)


async def test_seals_that_somebody_put_in_the_way_do_not_stop_sealing(store: Store) -> None:
    async with AuditTrail(store, KEY) as trail:
        await store.execute("INSERT INTO audit_seals VALUES (1, 'none', '', 'x')")
        trail.enqueue(record())
    report = await verify(store, KEY)
    assert {finding.fault for finding in report.findings} >= {"removed", "edited"}
    assert (await head_of(store)).sequence == 2
