"""Verifies the audit trail, and the data that it describes.

Without the key, anyone with write access to the database can forge neither a record, nor a seal,
nor a head. They can change, move or remove them, and all of that is detected: by the chain, by its
head, and by heads stored elsewhere (`anchors`), which also reveal a rollback of the whole database.

The data is compared by `DataCheck`s, inside the same snapshot: each gets the evidence with the
genuine records, and reports differences.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from accord.operations.audit.record import BEGINNING, Chain, ChainHead, Record
from accord.operations.audit.storage import (
    COUNTS,
    LOST_RECORDS,
    READ_HEAD,
    SEALED_RECORDS,
    UNSEALED_RECORDS,
)
from accord.store.store import ReadTransaction, Row, Store, StoreError

PAGE: Final = 1000
MAX_FINDINGS: Final = 1000
"""Maximum number of reported findings; more would not help to judge a damaged trail."""
SEAL_WITHIN: Final = timedelta(minutes=1)
"""The age from which an unsealed record is reported as a finding."""

_BEFORE_ALL: Final = -(2**63)
_WRONG_TYPE: Final = (TypeError, ValueError, AttributeError, KeyError, msgspec.MsgspecError)
"""Errors raised by values that no operation wrote, such as bytes in place of SQLite text."""

Progress: TypeAlias = Callable[[int, int | None], None]

AuditFault: TypeAlias = Literal[
    "edited",  # a record or a seal was changed
    "removed",  # a record or a seal is missing
    "cut_off",  # the newest records are missing
    "forged",  # a record or a seal that Accord did not write
    "head",  # the head is missing, forged, or not that of the chain
    "unsealed",  # a record was left without a seal
    "unreadable",  # the database cannot read it
]


class AuditFinding(Struct, frozen=True):
    """Something that is not as it was written."""

    __schema_name__: ClassVar[str] = "Finding"

    fault: AuditFault
    where: str
    """A sequence number, several of them, the id of a record, or the name of the data."""
    detail: str
    kind: str = ""
    """For a finding in the data: the kind of the entity, such as requirement or user."""
    id: str = ""
    field: str = ""


class VerificationReport(Struct, frozen=True, kw_only=True):
    """What came of it."""

    __schema_name__: ClassVar[str] = "Report"

    sealed: int
    """The number of records in the chain."""
    pending: int
    """The number of records that will be sealed soon."""
    head: ChainHead | None
    findings: tuple[AuditFinding, ...]
    compared: int = 0
    """The number of rows of data that were compared with the trail."""
    unproven: tuple[str, ...] = ()
    """Values that are neither proven nor contradicted, as an older release recorded too little."""

    @property
    def is_intact(self) -> bool:
        return not self.findings


class Evidence:
    """The verified audit records for a `DataCheck`, and a collector of its findings."""

    def __init__(self, chain: Chain, found: Callable[[AuditFinding], None]) -> None:
        self.chain = chain
        self.records: list[Record] = []
        """The genuine records chosen by `DataCheck.keeps`, in the order of the chain."""
        self.compared = 0
        self.unproven: dict[str, None] = {}
        self.found = found

    def differs(
        self,
        fault: AuditFault,
        kind: str,
        id: str,
        detail: str,
        *,
        label: str = "",
        field: str = "",
    ) -> None:
        """Report data that differs from the trail."""
        name = " ".join(filter(None, (kind.replace("_", " "), label or id, field)))
        self.found(AuditFinding(fault, name, detail, kind, id, field))

    async def attempt(self, check: Awaitable[None]) -> None:
        """Await a check of data.

        A stored value of a wrong type ends the check, and is reported as a finding.
        """
        try:
            await check
        except _WRONG_TYPE as error:
            detail = (
                "a value is of a type that no operation wrote, and what comes after it is not "
                f"compared: {error}"
            )
            self.found(AuditFinding("unreadable", "the data", detail))


class DataCheck(Protocol):
    """Compares a part of the data with the trail."""

    def keeps(self, record: Record) -> bool:
        """Return True if the check needs this record in the evidence."""

    async def check(self, db: ReadTransaction, evidence: Evidence) -> None:
        """Compare the data, and report differences."""


async def verify(
    store: Store,
    key: bytes,
    *,
    anchors: Iterable[ChainHead] = (),
    progress: Progress | None = None,
    checks: Sequence[DataCheck] = (),
) -> VerificationReport:
    """Verify the whole trail.

    `anchors` are heads stored elsewhere; `progress` is called with the number of verified seals and
    of all seals; `checks` compare the data. Raises StoreError if the database cannot be read.
    """
    return await store.read(
        lambda db: verify_snapshot(db, Chain(key), anchors, progress, checks), snapshot=True
    )


async def verify_snapshot(
    db: ReadTransaction,
    chain: Chain,
    anchors: Iterable[ChainHead],
    progress: Progress | None = None,
    checks: Sequence[DataCheck] = (),
) -> VerificationReport:
    """Verify the trail inside a read, which must be one snapshot."""
    oldest = (datetime.now(UTC) - SEAL_WITHIN).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return await _Verification(db, chain, anchors, oldest, progress, checks).report()


class _Verification:
    """One verification of the trail."""

    def __init__(
        self,
        db: ReadTransaction,
        chain: Chain,
        anchors: Iterable[ChainHead],
        oldest: str,
        progress: Progress | None,
        checks: Sequence[DataCheck],
    ) -> None:
        self._checks = checks
        self._evidence = Evidence(chain, self._add)
        self._db = db
        self._chain = chain
        self._progress = progress
        self._anchors: dict[int, set[str]] = {}
        for anchor in anchors:
            self._anchors.setdefault(anchor.sequence, set()).add(anchor.hash)
        self._oldest = oldest
        self._findings: list[AuditFinding] = []
        self._end = BEGINNING
        self._seals = self._sealed = self._unsealed = self._pending = 0

    async def report(self) -> VerificationReport:
        rows = await self._db.fetch(READ_HEAD)
        head = self._chain.head(rows[0]["value"]) if rows else None
        try:
            await self._look_at_seals(None if head is None else head.sequence)
            self._look_at_head(head, is_there=bool(rows))
            await self._look_at_unsealed()
            await self._look_for_hidden()
            for each in self._checks:
                await self._evidence.attempt(each.check(self._db, self._evidence))
        except StoreError as error:
            self._found("unreadable", f"behind {self._end.sequence}", str(error))
        return VerificationReport(
            sealed=self._sealed,
            pending=self._pending,
            head=head,
            findings=tuple(self._findings),
            compared=self._evidence.compared,
            unproven=tuple(self._evidence.unproven),
        )

    async def _look_at_seals(self, last: int | None) -> None:
        after: Any = _BEFORE_ALL
        while len(self._findings) < MAX_FINDINGS:
            rows = await self._db.fetch(SEALED_RECORDS, after, PAGE)
            for row in rows:
                self._look_at_seal(row)
            if self._progress is not None:
                self._progress(self._seals, last)
            if len(rows) < PAGE:
                return
            after = rows[-1]["sequence"]
            if type(after) is not int:
                return

    def _look_at_seal(self, row: Row) -> None:
        sequence = row["sequence"]
        self._seals += 1
        self._sealed += row["id"] is not None
        if type(sequence) is not int or sequence <= 0:
            self._found("forged", repr(sequence), "a seal has a number that none can have")
            return
        expected = self._end.sequence + 1
        if sequence > expected:
            self._found("removed", _span(expected, sequence - 1), "seals are gone")
        elif row["previous_hash"] != self._end.hash:
            self._found("edited", str(sequence), "does not follow from the seal before it")
        self._look_at_hash(row, sequence)
        for known in self._anchors.pop(sequence, ()):
            if known != row["hash"]:
                self._found("edited", str(sequence), "is not the head that was kept elsewhere")
        self._end = ChainHead(sequence, row["hash"])

    def _look_at_hash(self, row: Row, sequence: int) -> None:
        if row["id"] is None:
            self._found("removed", str(sequence), f"its record {row['record_id']} is gone")
            return
        record = record_of(row)
        if self._chain.is_genuine(record, row["mac"]):
            self._keep(record)
        else:
            self._found("edited", str(sequence), f"record {row['id']} is not as it was written")
        if not self._is_sealed(row, sequence):
            self._found("edited", str(sequence), "its seal is not as it was written")

    def _is_sealed(self, row: Row, sequence: int) -> bool:
        record_id, mac, previous = row["record_id"], row["mac"], row["previous_hash"]
        if not all(type(each) is str for each in (record_id, mac, previous)):
            return False
        expected: str = self._chain.seal_at(sequence, record_id, mac, previous).hash
        return bool(expected == row["hash"])

    def _look_at_head(self, head: ChainHead | None, *, is_there: bool) -> None:
        if head is None:
            detail = "is not genuine" if is_there else "is gone"
            self._found("head", "head", f"the head of the trail {detail}")
        elif head.sequence > self._end.sequence:
            where = _span(self._end.sequence + 1, head.sequence)
            self._found("cut_off", where, "the newest seals are gone")
        elif head != self._end:
            self._found(
                "head", str(self._end.sequence), f"the trail goes on behind its head {head}"
            )
        for sequence in sorted(self._anchors):
            if sequence > self._end.sequence:
                where = _span(self._end.sequence + 1, sequence)
                self._found("cut_off", where, "a head that was kept elsewhere is newer")

    async def _look_at_unsealed(self) -> None:
        after = ("", "")
        while len(self._findings) < MAX_FINDINGS:
            rows = await self._db.fetch(UNSEALED_RECORDS, *after, PAGE)
            for row in rows:
                self._look_at_unsealed_record(row)
            if len(rows) < PAGE:
                break
            after = (rows[-1]["time"], rows[-1]["id"])
        for row in await self._db.fetch(LOST_RECORDS, MAX_FINDINGS):
            self._found("removed", row["record_id"], "a record is gone that had no seal yet")

    async def _look_for_hidden(self) -> None:
        """Compare the numbers of counted rows and of rows read; report hidden rows.

        SQLite can store rows with keys that no page of a query returns.
        """
        [row] = await self._db.fetch(COUNTS)
        hidden = (row["seals"] - self._seals, row["records"] - self._sealed - self._unsealed)
        if any(hidden) and not self._findings:
            self._found(
                "forged", "unknown", f"{hidden[0]} seals and {hidden[1]} records are hidden"
            )

    def _look_at_unsealed_record(self, row: Row) -> None:
        self._unsealed += 1
        record = record_of(row)
        if not self._chain.is_genuine(record, row["mac"]):
            self._found("forged", str(row["id"]), "a record was not written by Accord")
        elif row["record_id"] is None:
            self._found("unsealed", row["id"], "a record was kept from being sealed")
        elif row["time"] < self._oldest:
            self._found("unsealed", row["id"], f"a record of {row['time']} has no seal")
        else:
            self._pending += 1
            self._keep(record)

    def _keep(self, record: Record) -> None:
        if any(each.keeps(record) for each in self._checks):
            self._evidence.records.append(record)

    def _found(self, fault: AuditFault, where: str, detail: str) -> None:
        self._add(AuditFinding(fault, where, detail))

    def _add(self, finding: AuditFinding) -> None:
        if len(self._findings) < MAX_FINDINGS:
            self._findings.append(finding)


def record_of(row: Row) -> Record:
    """Return the record in a row; columns missing in an old database are empty."""
    return Record(**{name: value_in(row, name) for name in Record.__struct_fields__})


def value_in(row: Row, name: str) -> Any:
    """Return a value of a row, empty if there is no such column yet."""
    try:
        return row[name]
    except (IndexError, KeyError):
        return ""


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
