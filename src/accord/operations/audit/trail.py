"""The audit trail of a running server.

write     write a record in the transaction that it describes
enqueue   queue a record of a call that changed nothing, in memory, for at most a second

One task writes the queued records in batches, and seals all records that are not sealed yet.

Nothing is dropped: while `MAX_QUEUED` records cannot be written, calls that would queue another
record are refused. Only the records in memory are lost when the process is killed.

Sealing numbers and chains records, in a transaction in the lane `audit`, which is held by one
process at a time. The head in the database is trusted only if its HMAC is genuine and if it is not
older than the head known to this process. If it is older, sealing continues after the known head
and leaves a visible gap. If it is missing and this process knows no head, nothing is sealed, as a
new head would hide the loss.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final

import msgspec
from msgspec import Struct

from accord.operations.audit.record import BEGINNING, Chain, ChainHead, Record, Seal, storable
from accord.operations.audit.storage import (
    DELETE_PENDING,
    INSERT_RECORD,
    INSERT_RECORDS,
    INSERT_SEALS,
    LAST_SEAL,
    PENDING_RECORDS,
    READ_HEAD,
    RECORD_VALUES,
    WRITE_HEAD,
)
from accord.operations.audit.verify import DataCheck, VerificationReport, verify_snapshot
from accord.operations.errors import ServiceUnavailableError
from accord.store.store import (
    Engine,
    ReadTransaction,
    Store,
    StoreError,
    StoreUnavailableError,
    Transaction,
)
from accord.telemetry.metrics import Exposition, Kind

log = logging.getLogger("accord.audit")

HEAD_FILE_NAME: Final = "audit-head"
"""The name of the file with the newest head, in the data directory."""


def read_head_file(path: Path, chain: Chain) -> ChainHead | None:
    """Return the head in the file; None if there is no file, or no genuine head in it."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    head = chain.head(text)
    if head is None:
        log.error("%s holds no genuine head of the audit trail", path)
    return head


def write_head_file(path: Path, chain: Chain, head: ChainHead) -> None:
    """Replace the head file atomically: a crash leaves the old file or the new one."""
    new = path.with_name(f"{path.name}.{os.getpid()}")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(chain.signed(head) + "\n")
    new.replace(path)


HEAD: Final = "audit_head"
"""The name under which the table of settings stores the head of the chain."""
MAX_SEALED: Final = 1000
"""Maximum number of records sealed in one transaction."""


class SealResult(Struct, frozen=True):
    """The result of sealing."""

    head: ChainHead | None
    """The head after sealing; None if no head can be trusted."""
    count: int = 0
    problem: str = ""
    """A description of tampering, if any was detected."""


async def seal_pending(
    transaction: Transaction, chain: Chain, engine: Engine, known: ChainHead | None
) -> SealResult:
    """Seal pending records.

    `known` is the newest head known to this process.
    """
    trusted = await _trusted(transaction, chain, known)
    if trusted.head is None:
        return trusted
    rows = await transaction.fetch(PENDING_RECORDS, MAX_SEALED)
    head, problem = trusted.head, trusted.problem
    seals: list[Seal] = []
    for row in rows:
        made = chain.seal(head, row["id"], row["mac"])
        seals.append(made)
        head = ChainHead(made.sequence, made.hash)
    if seals:
        await transaction.execute(INSERT_SEALS[engine], msgspec.json.encode(seals).decode())
        await transaction.execute(DELETE_PENDING, trusted.head.sequence)
    if seals or problem or known is None:
        await transaction.execute(WRITE_HEAD, chain.signed(head))
    return SealResult(head, len(seals), problem)


async def _trusted(transaction: Transaction, chain: Chain, known: ChainHead | None) -> SealResult:
    """Return the head after which sealing continues.

    `problem` of the result describes a sign of tampering, if there is one.
    """
    rows = await transaction.fetch(READ_HEAD)
    stored = chain.head(rows[0]["value"]) if rows else None
    last = await _last(transaction)
    problem = ""
    if stored is None:
        if known is None and (rows or last):
            return SealResult(None, problem="its head is gone or not genuine: nothing is sealed")
        if known is not None:
            problem = "its head is gone or not genuine"
    elif known is not None and stored.sequence < known.sequence:
        problem = f"its head was turned back from {known} to {stored}"
    # Continue from the newest head of all: sealing from a rolled-back one would reuse its numbers
    # and cover up the removed records.
    head = max((each for each in (stored, known, BEGINNING) if each), key=_sequence)
    if last > head.sequence:
        problem = problem or f"it has seals behind its head, {head.sequence}"
        head = ChainHead(last, head.hash)
    return SealResult(head, problem=problem)


def _sequence(head: ChainHead) -> int:
    return head.sequence


async def _last(transaction: Transaction) -> int:
    rows = await transaction.fetch(LAST_SEAL)
    return int(rows[0]["sequence"]) if rows else 0


LANE: Final = "audit"
FLUSH_SECONDS: Final = 1.0
"""Maximum time that a record waits in the queue."""
MAX_QUEUED: Final = 20_000
"""Maximum number of records in the queue."""
MAX_BATCH: Final = 500
"""Maximum number of records written in one transaction."""
SEAL_SECONDS: Final = 30.0
"""Maximum time that records stay unsealed if another process wrote but did not seal them."""
LOG_SECONDS: Final = 10.0
"""Minimum number of seconds between two log lines with the head.

The first line is written that long after the start, so commands, which end sooner, write none.
"""


class AuditTrail:
    """Writes and seals records; implements `AuditSink`.

    Use it as `async with`, or call `start` and `close`.
    """

    def __init__(
        self,
        store: Store,
        key: bytes,
        *,
        head_file: Path | None = None,
        checks: Sequence[DataCheck] = (),
    ) -> None:
        self._store = store
        self._checks = checks
        self._chain = Chain(key)
        self._head_file = head_file
        self._known: ChainHead | None = None
        self._logged: ChainHead | None = None
        self._queued: list[Record] = []
        self._hurry = asyncio.Event()
        self._unsealed = False
        self._turn = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._sealed_at = self._logged_at = 0.0
        self._sealed = 0
        self._failed = 0
        self._problems = 0

    async def __aenter__(self) -> AuditTrail:
        await self.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Seal records left unsealed, and start the background task.

        Raises StoreError if the database fails.
        """
        if self._head_file is not None:
            self._known = read_head_file(self._head_file, self._chain)
        await self.flush()
        self._logged_at = time.monotonic()
        self._task = asyncio.create_task(self._run(), name="accord audit trail")

    async def close(self) -> None:
        """Write and seal all records."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        try:
            await self.flush()
        except StoreError as error:
            log.error("%d records of the audit trail are lost: %s", len(self._queued), error)
        if self._logged is not None:
            self._log_head()

    async def write(self, transaction: Transaction, record: Record) -> None:
        """Write a record in the transaction that it describes."""
        record = storable(record)
        values = msgspec.structs.astuple(record)
        await transaction.execute_later(INSERT_RECORD, *values, self._chain.mac(record))
        self._unsealed = True

    def enqueue(self, record: Record) -> None:
        """Queue a record, to be written within a second.

        Raises ServiceUnavailableError at the limit of queued records: a call that cannot be
        recorded is not made.
        """
        if len(self._queued) >= MAX_QUEUED:
            raise ServiceUnavailableError("the audit trail cannot be written at the moment")
        self._queued.append(record)
        if len(self._queued) >= MAX_BATCH:
            self._hurry.set()

    async def flush(self) -> None:
        """Write all queued records, and seal all unsealed ones.

        Raises StoreError if the database fails.
        """
        async with self._turn:
            waiting = len(self._queued)  # records that arrive meanwhile form the next batch
            while True:
                batch = self._queued[: min(waiting, MAX_BATCH)]
                # Removed only once they are stored: a failure keeps them queued, and they count
                # towards MAX_QUEUED until then.
                sealed = await self._store_batch(batch)
                del self._queued[: len(batch)]
                waiting -= len(batch)
                if waiting == 0 and sealed.count < MAX_SEALED:
                    break

    def expose(self, page: Exposition) -> None:
        """Write the counters of the trail for Prometheus."""
        families: tuple[tuple[str, Kind, str, float], ...] = (
            ("sealed_total", "counter", "Records that this process sealed.", self._sealed),
            ("waiting", "gauge", "Records that wait to be written.", len(self._queued)),
            (
                "seal_age_seconds",
                "gauge",
                "How long ago the trail was last looked through for what has no seal.",
                time.monotonic() - self._sealed_at,
            ),
            ("failures_total", "counter", "Times that it could not be written.", self._failed),
            (
                "tampered_total",
                "counter",
                "Times that somebody was seen to have changed it.",
                self._problems,
            ),
        )
        for name, kind, about, value in families:
            page.family(f"accord_audit_{name}", kind, about, [((), value)])

    async def verify(self, db: ReadTransaction) -> VerificationReport:
        """Verify the trail, inside a read of one snapshot."""
        known = () if self._known is None else (self._known,)
        return await verify_snapshot(db, self._chain, known, checks=self._checks)

    async def _run(self) -> None:
        was_unsealed = False
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_SECONDS):
                    await self._hurry.wait()
            # A record written in a transaction may be committed only after the next flush has
            # looked for it, so look once more in the round after.
            is_unsealed, self._unsealed = self._unsealed, False
            late = time.monotonic() - self._sealed_at > SEAL_SECONDS
            if self._queued or is_unsealed or was_unsealed or late:
                await self._flush_or_wait()
            was_unsealed = is_unsealed
            if len(self._queued) < MAX_BATCH:
                self._hurry.clear()

    async def _flush_or_wait(self) -> None:
        try:
            await self.flush()
        except StoreError as error:
            self._failed += 1
            log.error("the audit trail cannot be written, %d wait: %s", len(self._queued), error)
            await asyncio.sleep(FLUSH_SECONDS)
        except Exception:
            # A bug of ours must not stop the task.
            self._failed += 1
            log.exception("the audit trail cannot be written, %d wait", len(self._queued))
            await asyncio.sleep(FLUSH_SECONDS)
        if time.monotonic() - self._logged_at > LOG_SECONDS:
            self._log_head()

    async def _store_batch(self, batch: list[Record]) -> SealResult:
        try:
            sealed = await self._store.transact(
                lambda transaction: self._insert_and_seal(transaction, batch), lane=LANE
            )
        except StoreUnavailableError:
            raise
        except StoreError:
            log.exception("the audit trail cannot be sealed")
            await self._store.transact(
                lambda transaction: self._insert(transaction, batch), lane=LANE
            )
            return SealResult(self._known)
        self._sealed_at = time.monotonic()
        self._sealed += sealed.count
        self._learn(sealed)
        return sealed

    async def _insert_and_seal(
        self, transaction: Transaction, batch: Sequence[Record]
    ) -> SealResult:
        await self._insert(transaction, batch)
        return await seal_pending(transaction, self._chain, self._store.engine, self._known)

    async def _insert(self, transaction: Transaction, batch: Sequence[Record]) -> None:
        """Insert records, some of which may already be stored.

        After a commit whose reply was lost, it is unknown whether the records were stored.
        """
        rows = [
            (*msgspec.structs.astuple(record), self._chain.mac(record))
            for record in map(storable, batch)
        ]
        if rows:
            statement = INSERT_RECORDS.format(values=RECORD_VALUES[self._store.engine])
            await transaction.execute(statement, msgspec.json.encode(rows).decode())

    def _learn(self, sealed: SealResult) -> None:
        if sealed.problem:
            self._problems += 1
            log.critical("somebody changed the audit trail: %s", sealed.problem)
        if sealed.head is None or sealed.head == self._known:
            return
        self._known = sealed.head
        if self._head_file is None:
            return
        try:
            write_head_file(self._head_file, self._chain, sealed.head)
        except OSError as error:
            log.error("the head of the audit trail cannot be written to a file: %s", error)

    def _log_head(self) -> None:
        """Log the head if it changed: the log reveals a database that was rolled back."""
        self._logged_at = time.monotonic()
        if self._known != self._logged:
            self._logged = self._known
            log.info("the head of the audit trail is %s", self._known)
