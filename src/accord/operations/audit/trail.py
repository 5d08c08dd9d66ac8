"""The audit trail of a running server.

write   a record, in the transaction that it describes
later   a record of a call that changed nothing: in memory for at most a second, then written in a
        batch by one task, which also seals pending records

Nothing is dropped: while `MAX_QUEUED` records cannot be written, calls that need another one are
refused. Only the records in memory are lost when the process is killed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final

import msgspec

from accord.operations.audit.chain import Chain, Head, storable
from accord.operations.audit.head_file import read_head_file, write_head_file
from accord.operations.audit.record import Record
from accord.operations.audit.sealer import MAX_SEALED, Sealed, seal
from accord.operations.audit.storage import INSERT_RECORD, INSERT_RECORDS, RECORD_VALUES
from accord.operations.audit.verify import DataCheck, Report, look
from accord.operations.errors import UnavailableError
from accord.store.store import (
    Reading,
    Store,
    StoreError,
    Transaction,
    UnavailableError as StoreUnavailableError,
)
from accord.telemetry.metrics import Exposition, Kind

log = logging.getLogger("accord.audit")

LANE: Final = "audit"
FLUSH_SECONDS: Final = 1.0
"""Maximum delay of a queued record."""
MAX_LATER: Final = 20_000
"""Records that may be queued."""
BATCH: Final = 500
"""Records written in one transaction."""
SEAL_SECONDS: Final = 30.0
"""Maximum time that records of other processes, which did not seal them, stay unsealed."""
LOG_SECONDS: Final = 10.0
"""Minimum time between two log lines with the head, the first one counted from the start.

Commands end earlier and log none.
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
        self._known: Head | None = None
        self._logged: Head | None = None
        self._later: list[Record] = []
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
        """Seal records left unsealed, and start the task.

        Raises StoreError.
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
            log.error("%d records of the audit trail are lost: %s", len(self._later), error)
        if self._logged is not None:
            self._log_head()

    async def write(self, transaction: Transaction, record: Record) -> None:
        """Write a record in the transaction that it describes."""
        record = storable(record)
        values = msgspec.structs.astuple(record)
        await transaction.execute_later(INSERT_RECORD, *values, self._chain.mac(record))
        self._unsealed = True

    def later(self, record: Record) -> None:
        """Queue a record, to be written within a second.

        Raises UnavailableError at the limit of queued records: a call that cannot be recorded is
        not made.
        """
        if len(self._later) >= MAX_LATER:
            raise UnavailableError("the audit trail cannot be written at the moment")
        self._later.append(record)
        if len(self._later) >= BATCH:
            self._hurry.set()

    async def flush(self) -> None:
        """Write all queued records, and seal all unsealed ones.

        Raises StoreError.
        """
        async with self._turn:
            waiting = len(self._later)  # records that arrive meanwhile form the next batch
            while True:
                batch = self._later[: min(waiting, BATCH)]
                sealed = await self._store_batch(batch)
                del self._later[: len(batch)]
                waiting -= len(batch)
                if waiting == 0 and sealed.count < MAX_SEALED:
                    break

    def expose(self, page: Exposition) -> None:
        """Write the counters of the trail for Prometheus."""
        families: tuple[tuple[str, Kind, str, float], ...] = (
            ("sealed_total", "counter", "Records that this process sealed.", self._sealed),
            ("waiting", "gauge", "Records that wait to be written.", len(self._later)),
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

    async def verify(self, db: Reading) -> Report:
        """Verify the trail, inside a read of one snapshot."""
        known = () if self._known is None else (self._known,)
        return await look(db, self._chain, known, checks=self._checks)

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
            if self._later or is_unsealed or was_unsealed or late:
                await self._flush_or_wait()
            was_unsealed = is_unsealed
            if len(self._later) < BATCH:
                self._hurry.clear()

    async def _flush_or_wait(self) -> None:
        try:
            await self.flush()
        except StoreError as error:
            self._failed += 1
            log.error("the audit trail cannot be written, %d wait: %s", len(self._later), error)
            await asyncio.sleep(FLUSH_SECONDS)
        except Exception:
            # A bug of ours must not stop the task.
            self._failed += 1
            log.exception("the audit trail cannot be written, %d wait", len(self._later))
            await asyncio.sleep(FLUSH_SECONDS)
        if time.monotonic() - self._logged_at > LOG_SECONDS:
            self._log_head()

    async def _store_batch(self, batch: list[Record]) -> Sealed:
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
            return Sealed(self._known)
        self._sealed_at = time.monotonic()
        self._sealed += sealed.count
        self._learn(sealed)
        return sealed

    async def _insert_and_seal(self, transaction: Transaction, batch: Sequence[Record]) -> Sealed:
        await self._insert(transaction, batch)
        return await seal(transaction, self._chain, self._store.engine, self._known)

    async def _insert(self, transaction: Transaction, batch: Sequence[Record]) -> None:
        """Insert records, possibly for the second time.

        After a commit with a lost answer it is unknown whether the records were stored.
        """
        rows = [
            (*msgspec.structs.astuple(record), self._chain.mac(record))
            for record in map(storable, batch)
        ]
        if rows:
            statement = INSERT_RECORDS.format(values=RECORD_VALUES[self._store.engine])
            await transaction.execute(statement, msgspec.json.encode(rows).decode())

    def _learn(self, sealed: Sealed) -> None:
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
