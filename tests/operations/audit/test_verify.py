"""Whoever can write to the database but has not the key: all that they can do is found."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any

import pytest

from accord.operations.audit.record import Chain, ChainHead, Record
from accord.operations.audit.storage import INSERT_RECORD
from accord.operations.audit.trail import AuditTrail
from accord.operations.audit.verify import VerificationReport, verify_snapshot
from accord.store import Store, Transaction, open_store
from tests.operations.audit.trails import KEY, record

ROUNDS = {"sqlite": 1000, "postgresql": 100}
RECORDS = 60
BATCH = 6

CHAIN = Chain(KEY)


class Attacker:
    """Somebody at the database, without the key."""

    def __init__(self, db: Transaction, chance: random.Random, old_heads: list[str]) -> None:
        self.db = db
        self.chance = chance
        self.old_heads = old_heads

    async def edit_a_record(self) -> None:
        column = self.chance.choice([*Record.__struct_fields__[1:], "mac"])
        await self._edit("audit_records", column, "id", await self._record_id())

    async def edit_the_id_of_a_record(self) -> None:
        await self._edit("audit_records", "id", "id", await self._record_id())

    async def edit_a_seal(self) -> None:
        column = self.chance.choice(["record_id", "previous_hash", "hash"])
        await self._edit("audit_seals", column, "sequence", self._sequence())

    async def renumber_a_seal(self) -> None:
        await self.db.execute(
            "UPDATE audit_seals SET sequence = $1 WHERE sequence = $2",
            *(self.chance.choice([-1, 0, RECORDS + 1, 2**60]), self._sequence()),
        )

    async def remove_a_record(self) -> None:
        await self.db.execute("DELETE FROM audit_records WHERE id = $1", await self._record_id())

    async def remove_a_seal(self) -> None:
        await self.db.execute("DELETE FROM audit_seals WHERE sequence = $1", self._sequence())

    async def remove_a_record_with_its_seal(self) -> None:
        await self._remove(self._sequence())

    async def remove_a_record_with_its_seal_and_close_the_gap(self) -> None:
        sequence = self._sequence()
        await self._remove(sequence)
        for number in range(sequence + 1, RECORDS + 1):
            await self.db.execute(
                "UPDATE audit_seals SET sequence = $1 WHERE sequence = $2", number - 1, number
            )

    async def cut_off_the_newest(self) -> None:
        for sequence in range(self._sequence(), RECORDS + 1):
            await self._remove(sequence)

    async def cut_off_the_newest_and_the_head(self) -> None:
        await self.cut_off_the_newest()
        await self.remove_the_head()

    async def cut_off_the_newest_and_write_a_head(self) -> None:
        sequence = self._sequence()
        for number in range(sequence, RECORDS + 1):
            await self._remove(number)
        rows = await self.db.fetch("SELECT hash FROM audit_seals WHERE sequence = $1", sequence - 1)
        told = rows[0]["hash"] if rows else ""
        mac = sha256(told.encode()).hexdigest()
        await self._write_head(f'{{"sequence":{sequence - 1},"hash":"{told}","mac":"{mac}"}}')

    async def turn_all_of_it_back(self) -> None:
        signed = self.chance.choice(self.old_heads)
        head = CHAIN.head(signed)
        assert head is not None
        for sequence in range(head.sequence + 1, RECORDS + 1):
            await self._remove(sequence)
        await self._write_head(signed)

    async def turn_the_head_back(self) -> None:
        await self._write_head(self.chance.choice(self.old_heads))

    async def remove_the_head(self) -> None:
        await self.db.execute("DELETE FROM settings WHERE name = 'audit_head'")

    async def remove_everything(self) -> None:
        for table in ("audit_records", "audit_seals", "audit_pending"):
            await self.db.execute(f"DELETE FROM {table}")
        await self.remove_the_head()

    async def exchange_two_records(self) -> None:
        one, other = await self._two_record_ids()
        for id, new in ((one, "moved"), (other, one), ("moved", other)):
            await self.db.execute("UPDATE audit_records SET id = $1 WHERE id = $2", new, id)

    async def exchange_what_two_seals_are_of(self) -> None:
        one, other = await self._two_record_ids()
        for id, new in ((one, "moved"), (other, one), ("moved", other)):
            await self.db.execute(
                "UPDATE audit_seals SET record_id = $1 WHERE record_id = $2", new, id
            )

    async def exchange_the_numbers_of_two_seals(self) -> None:
        one, other = self.chance.sample(range(1, RECORDS + 1), 2)
        for number, new in ((one, 10**6), (other, one), (10**6, other)):
            await self.db.execute(
                "UPDATE audit_seals SET sequence = $1 WHERE sequence = $2", new, number
            )

    async def forge_a_record(self) -> str:
        made = record(actor="mallory")
        mac = sha256(made.id.encode()).hexdigest()
        values = [getattr(made, name) for name in Record.__struct_fields__]
        await self.db.execute(INSERT_RECORD, *values, mac)
        await self._pend(made.id)
        return made.id

    async def copy_a_record(self) -> None:
        columns = ", ".join((*Record.__struct_fields__[1:], "mac"))
        await self.db.execute(
            f"INSERT INTO audit_records (id, {columns}) "
            f"SELECT 'copy', {columns} FROM audit_records WHERE id = $1",
            await self._record_id(),
        )
        await self._pend("copy")

    async def forge_a_record_with_its_seal(self) -> None:
        id = await self.forge_a_record()
        await self.db.execute("DELETE FROM audit_pending WHERE record_id = $1", id)
        rows = await self.db.fetch("SELECT hash FROM audit_seals WHERE sequence = $1", RECORDS)
        previous = rows[0]["hash"]
        forged = sha256((previous + id).encode()).hexdigest()
        await self.db.execute(
            "INSERT INTO audit_seals VALUES ($1, $2, $3, $4)", RECORDS + 1, id, previous, forged
        )

    async def keep_a_record_from_being_sealed(self) -> None:
        await self.db.execute("DELETE FROM audit_pending")

    async def remove_a_record_before_it_is_sealed(self) -> None:
        await self.db.execute(
            "DELETE FROM audit_records WHERE id IN (SELECT record_id FROM audit_pending)"
        )

    async def edit_a_record_before_it_is_sealed(self) -> None:
        await self.db.execute(
            "UPDATE audit_records SET actor = 'mallory' "
            "WHERE id IN (SELECT record_id FROM audit_pending)"
        )

    def _sequence(self) -> int:
        return self.chance.randint(1, RECORDS)

    async def _record_id(self) -> str:
        [row] = await self.db.fetch(
            "SELECT record_id FROM audit_seals WHERE sequence = $1", self._sequence()
        )
        id: str = row["record_id"]
        return id

    async def _two_record_ids(self) -> list[str]:
        rows = await self.db.fetch("SELECT record_id FROM audit_seals ORDER BY sequence")
        return self.chance.sample([row["record_id"] for row in rows], 2)

    async def _edit(self, table: str, column: str, key: str, value: Any) -> None:
        """Change a value: one letter of it, or all."""
        [row] = await self.db.fetch(f"SELECT {column} AS it FROM {table} WHERE {key} = $1", value)
        old: str = row["it"]
        place = self.chance.randrange(len(old) + 1)
        new = old[:place] + self.chance.choice("x0 ä\n'") + old[place + 1 :]
        if new == old:
            new = old + "!"
        await self.db.execute(f"UPDATE {table} SET {column} = $1 WHERE {key} = $2", new, value)

    async def _remove(self, sequence: int) -> None:
        await self.db.execute(
            "DELETE FROM audit_records "
            "WHERE id IN (SELECT record_id FROM audit_seals WHERE sequence = $1)",
            sequence,
        )
        await self.db.execute("DELETE FROM audit_seals WHERE sequence = $1", sequence)

    async def _write_head(self, text: str) -> None:
        await self.db.execute("UPDATE settings SET value = $1 WHERE name = 'audit_head'", text)

    async def _pend(self, id: str) -> None:
        await self.db.execute("INSERT INTO audit_pending VALUES ($1)", id)


Attack = Callable[[Attacker], Awaitable[object]]
ATTACKS: list[Attack] = [
    attack
    for name, attack in vars(Attacker).items()
    if not name.startswith("_") and callable(attack)
]
NEEDS_A_HEAD_KEPT_ELSEWHERE = (Attacker.turn_all_of_it_back,)


class TakenBackError(Exception):
    def __init__(self, *reports: VerificationReport) -> None:
        self.reports = reports


async def prepared(store: Store) -> tuple[ChainHead, list[str]]:
    """A trail with a record that is not sealed yet, without its triggers; its head, and all heads
    that it had before."""
    heads = []
    async with AuditTrail(store, KEY) as trail:
        for _ in range(RECORDS // BATCH):
            [row] = await store.fetch("SELECT value FROM settings WHERE name = 'audit_head'")
            heads.append(row["value"])
            for _ in range(BATCH):
                trail.enqueue(record())
            await trail.flush()
    [row] = await store.fetch("SELECT value FROM settings WHERE name = 'audit_head'")
    head = CHAIN.head(row["value"])
    assert head is not None
    await store.transact(lambda db: AuditTrail(store, KEY).write(db, record()))
    for sql in _WITHOUT_TRIGGERS[store.engine]:
        await store.execute(sql)
    return head, heads


_WITHOUT_TRIGGERS = {
    "sqlite": [
        f"DROP TRIGGER {name}"
        for name in (
            *("audit_records_pending", "audit_records_no_update", "audit_records_no_delete"),
            *("audit_seals_no_update", "audit_seals_no_delete"),
        )
    ],
    "postgresql": [
        f"ALTER TABLE {table} DISABLE TRIGGER ALL" for table in ("audit_records", "audit_seals")
    ],
}


@pytest.mark.req("H-17")
async def test_a_thousand_edits_removals_and_cut_off_tails_are_found(migrated_url: str) -> None:
    chance = random.Random(17)
    async with open_store(migrated_url, durable=False) as store:
        head, old_heads = await prepared(store)

        async def attacked(attack: Attack | None) -> tuple[VerificationReport, ...]:
            """What is found with a head that was kept elsewhere, and without."""

            async def work(db: Transaction) -> None:
                if attack is not None:
                    await attack(Attacker(db, chance, old_heads))
                raise TakenBackError(
                    await verify_snapshot(db, CHAIN, [head]), await verify_snapshot(db, CHAIN, [])
                )

            with pytest.raises(TakenBackError) as taken_back:
                await store.transact(work)
            return taken_back.value.reports

        untouched = VerificationReport(sealed=RECORDS, pending=1, head=head, findings=())
        assert await attacked(None) == (untouched, untouched)
        found = 0
        for number in range(ROUNDS[store.engine]):
            attack = ATTACKS[number] if number < len(ATTACKS) else chance.choice(ATTACKS)
            anchored, alone = await attacked(attack)
            assert not anchored.is_intact, attack
            assert not alone.is_intact or attack in NEEDS_A_HEAD_KEPT_ELSEWHERE, attack
            found += 1
        assert found == ROUNDS[store.engine]
        assert await attacked(None) == (untouched, untouched)


async def test_rows_that_sqlite_keeps_and_no_key_compares_with_are_found(
    migrated_file: Any, tmp_path: Any
) -> None:
    path = tmp_path / "accord.db"
    path.write_bytes(migrated_file.read_bytes())
    async with open_store(f"sqlite://{path}") as store:
        head, _ = await prepared(store)
        for sql in (
            "INSERT INTO audit_seals VALUES (NULL, 'x', 'x', 'x')",
            "INSERT INTO audit_seals VALUES ('text', 'x', 'x', 'x')",
            "INSERT INTO audit_seals VALUES (x'00', 'x', 'x', 'x')",
            "UPDATE audit_records SET actor = CAST(actor AS blob) WHERE id IN "
            "(SELECT record_id FROM audit_seals WHERE sequence = 7)",
            "UPDATE audit_records SET actor = CAST(x'ff' AS text) WHERE id IN "
            "(SELECT record_id FROM audit_seals WHERE sequence = 7)",
        ):

            async def work(db: Transaction, sql: str = sql) -> None:
                await db.execute(sql)
                raise TakenBackError(await verify_snapshot(db, CHAIN, [head]))

            with pytest.raises(TakenBackError) as taken_back:
                await store.transact(work)
            assert not taken_back.value.reports[0].is_intact, sql
