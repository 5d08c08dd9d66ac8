"""A store in one file: SQLite in WAL mode.

One writer thread takes all queued transactions, runs each in a savepoint, and commits them
together, with one sync of the disk (group commit). Callers get their results after the commit.

A dry run runs on a copy of the file. SQLite's backup API copies a consistent state while other
connections write.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from importlib.resources.abc import Traversable
from pathlib import Path
from tempfile import mkstemp
from time import monotonic
from types import TracebackType
from typing import Any, Final, TypeVar

from accord.store import catalog
from accord.store.sqlite_reader import (
    STATEMENTS,
    SqliteReader,
    SqliteTransaction,
    WakeFolder,
    connect,
    run_coroutine,
    statements,
    translate_errors,
)
from accord.store.store import (
    FULL,
    Engine,
    ReadWork,
    Row,
    StoreCounts,
    StoreError,
    StoreLoad,
    StoreUnavailableError,
    StoreUnwritableError,
    Transaction,
    Work,
    Writability,
    check_channel,
    remove_filler,
    write_filler,
)

log = logging.getLogger("accord.store")

T = TypeVar("T")

MIN_FREE: Final = 1024 * 1024
"""Free bytes on the disk below which a database counts as full."""
MAX_BATCH: Final = 256
"""Maximum number of transactions in one commit."""
MAX_WAITING: Final = 10_000
"""Maximum number of queued transactions."""
MEMORY_KIB: Final = 64 * 1024
"""Maximum page cache, in KiB, of the temporary copy of the file on which a dry run works."""
PAGES: Final = 4096
"""Number of pages of the file that `copy_sqlite` copies between two reports of progress."""


async def open_sqlite(path: Path, *, durable: bool) -> SqliteStore:
    """Open or create the file.

    Raises StoreError if that fails.
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, partial(SqliteStore, path, durable=durable))


class SqliteStore:
    """A store in one SQLite file; implements `Store`."""

    engine: Engine = "sqlite"

    def __init__(self, path: Path, *, durable: bool) -> None:
        path = path.absolute()
        self.counts = StoreCounts()
        try:
            # The data is private to this user; SQLite gives its other files the same mode.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._wake = WakeFolder(path.with_name(f"{path.name}.wake"))
        except OSError as error:
            raise StoreUnavailableError(f"cannot open {path}: {error.strerror}") from None
        # SQLite does not wait for another process that switches the same new file to WAL mode.
        with self._wake.alone():
            self._writer = _Writer(
                partial(connect, path, durable=durable), self._wake.notify, self.counts
            )
        self._reader = SqliteReader(path)
        self._path = path
        self._rehearsing = asyncio.Lock()
        self._writability = Writability()
        self._stops: dict[Callable[[], None], None] = {}
        self._closed = False

    @property
    def load(self) -> StoreLoad:
        return StoreLoad(self._writer.waiting)

    async def __aenter__(self) -> SqliteStore:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def migrate(self, part: str, folder: Traversable) -> None:
        known = catalog.migrations(folder, self.engine)

        async def work(transaction: Transaction) -> None:
            await transaction.execute(catalog.TABLE)
            rows = await transaction.fetch(catalog.APPLIED, part)
            applied = {row["number"]: row["name"] for row in rows}
            for migration in catalog.pending_migrations(known, applied, part):
                for statement in statements(migration.sql):
                    await transaction.execute(statement)
                await transaction.execute(catalog.RECORD, part, migration.number, migration.name)

        await self.transact(work)

    async def applied(self, part: str) -> dict[int, str]:
        if not await self.fetch(catalog.EXISTS[self.engine]):
            return {}
        rows = await self.fetch(catalog.APPLIED, part)
        return {row["number"]: row["name"] for row in rows}

    async def transact(self, work: Work[T], *, lane: str = "") -> T:
        try:
            return await self._writer.submit(work)  # SQLite has one writer: all lanes are one
        except StoreUnwritableError as error:
            self._writability.reason = error.reason
            raise

    async def read(self, work: ReadWork[T], *, snapshot: bool = False) -> T:
        if self._closed:
            raise _closed()
        return await self._reader.read(work, snapshot=snapshot)

    async def rehearse(self, work: Work[T], tables: Sequence[str]) -> T:
        async with self._rehearsing:  # each run copies the whole file
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(None, self._rehearse, work)

    def _rehearse(self, work: Work[T]) -> T:
        with scratch_copy(self._path) as connection:
            return run_coroutine(work(SqliteTransaction(connection)))

    async def execute(self, sql: str, /, *arguments: Any) -> int:
        return await self.transact(lambda transaction: transaction.execute(sql, *arguments))

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        if self._closed:
            raise _closed()
        return await self._reader.fetch(sql, *arguments)

    def fetch_now(self, sql: str, /, *arguments: Any) -> list[Row] | None:
        if self._closed:
            raise _closed()
        return self._reader.fetch_now(sql, *arguments)

    async def write(self, sql: str, /, *arguments: Any) -> list[Row]:
        return await self.transact(lambda transaction: transaction.fetch(sql, *arguments))

    async def writing_fault(self) -> str:
        if _free_bytes(self._path.parent) < MIN_FREE:
            return FULL
        return await self._writability.check(self._try_writing)

    async def _try_writing(self) -> None:
        # Within one transaction SQLite would never write the filler that is removed again.
        await self.transact(write_filler)
        await self.transact(remove_filler)

    async def notify(self, channel: str, /) -> None:
        check_channel(channel)
        self._wake.notify(channel)

    async def listen(self, channel: str, callback: Callable[[], None]) -> Callable[[], None]:
        stop = self._wake.listen(channel, callback)
        self._stops[stop] = None

        def forget() -> None:
            self._stops.pop(stop, None)
            stop()

        return forget

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for stop in self._stops:
            stop()
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._close)

    def _close(self) -> None:
        self._writer.close()
        self._reader.close()


class _Job:
    """A queued transaction and the future of its result."""

    __slots__ = ("asked", "error", "future", "loop", "result", "work")

    def __init__(self, work: Work[Any], loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.loop = loop
        self.asked = monotonic()
        self.future: asyncio.Future[Any] = loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None

    def finish(self) -> None:
        """Resolve the future; called on its event loop."""
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class _Writer:
    """The writer thread and its queue."""

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        notify: Callable[[str], None],
        counts: StoreCounts,
    ) -> None:
        with translate_errors():
            self._connection = connect()
        self._notify = notify
        self._counts = counts
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="accord-store-writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        return self._jobs.qsize()

    async def submit(self, work: Work[T]) -> T:
        if self._closed:
            raise _closed()
        if self._jobs.qsize() >= MAX_WAITING:
            raise StoreUnavailableError(f"more than {MAX_WAITING:,} transactions wait already")
        job = _Job(work, asyncio.get_running_loop())
        self._jobs.put(job)
        result: T = await job.future
        return result

    def close(self) -> None:
        """Run the queued transactions, and block until they are done."""
        self._closed = True
        self._jobs.put(None)
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        while True:
            batch, is_last = self._next()
            batch = [job for job in batch if not job.future.cancelled()]
            if batch:
                self._commit(batch)
                for job in batch:
                    with suppress(RuntimeError):  # the event loop is closed
                        job.loop.call_soon_threadsafe(job.finish)
            if is_last:
                return

    def _next(self) -> tuple[list[_Job], bool]:
        """Wait for queued jobs; return them, and True if the queue was closed."""
        job = self._jobs.get()
        batch: list[_Job] = []
        while job is not None and len(batch) < MAX_BATCH:
            batch.append(job)
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return batch, False
        if job is not None:
            batch.append(job)
        return batch, job is None

    def _commit(self, batch: list[_Job]) -> None:
        channels: dict[str, None] = {}
        try:
            with translate_errors():
                self._connection.execute("BEGIN IMMEDIATE")
                self._counts.begun((job.asked for job in batch), monotonic())
                for job in batch:
                    self._run_job(job, channels)
                self._connection.execute("COMMIT")
        except StoreError as error:
            self._counts.failed_commits += 1
            for job in batch:
                job.error = error
            if self._connection.in_transaction:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
            return
        self._counts.commits += 1
        for channel in channels:
            try:
                self._notify(channel)
            except OSError as error:  # the commit stands, and listeners also poll
                log.error("nobody could be woken for %s: %s", channel, error)

    def _run_job(self, job: _Job, channels: dict[str, None]) -> None:
        """Run one transaction, and store its result or error in the job."""
        transaction = SqliteTransaction(self._connection)
        self._connection.execute("SAVEPOINT job")
        try:
            job.result = run_coroutine(job.work(transaction))
            self._connection.execute("RELEASE job")
        except Exception as error:
            job.error = error
            if not self._connection.in_transaction:
                # On a full disk SQLite rolls back the whole transaction, including the changes
                # of the jobs before this one.
                raise error if isinstance(error, StoreError) else StoreError(str(error)) from error
            self._connection.execute("ROLLBACK TO job")
            self._connection.execute("RELEASE job")
        else:
            channels.update(transaction.channels)


def _free_bytes(folder: Path) -> int:
    """Return the number of free bytes on the disk that contains a folder."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def _closed() -> StoreError:
    return StoreUnavailableError("the store is closed")


@contextmanager
def scratch_copy(source: Path) -> Iterator[sqlite3.Connection]:
    """Open a connection to a temporary copy of the file `source`, in a transaction.

    The copy is unlinked once it is open, so that it disappears even if this process crashes. Raises
    StoreError if copying fails.
    """
    handle, name = mkstemp(prefix=f".{source.name}.", suffix=".rehearsal", dir=source.parent)
    os.close(handle)
    target = Path(name)
    try:
        with (
            translate_errors(),
            closing(connect(source, durable=True)) as reading,
            closing(_scratch(target)) as writing,
        ):
            reading.backup(writing)
            # The copied header demands WAL mode, whose log could not be found after the unlink.
            for setting in ("journal_mode = MEMORY", "foreign_keys = ON"):
                writing.execute(f"PRAGMA {setting}").fetchall()
            target.unlink()  # the open file stays usable until it is closed
            writing.execute("BEGIN")
            yield writing
    finally:
        target.unlink(missing_ok=True)


def _scratch(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, cached_statements=STATEMENTS)
    connection.row_factory = sqlite3.Row
    for setting in ("synchronous = OFF", f"cache_size = -{MEMORY_KIB}"):
        connection.execute(f"PRAGMA {setting}").fetchall()
    return connection


def copy_sqlite(
    source: Path, target: Path, *, progress: Callable[[int, int], None] = lambda _done, _total: None
) -> None:
    """Copy the SQLite file `source` to `target`.

    Call `progress(done, total)`, with numbers of bytes, again and again during the copy. Raises
    StoreError if copying fails, or if the file is damaged.
    """
    with (
        translate_errors(),
        closing(connect(source, durable=True)) as reading,
        closing(sqlite3.connect(target, isolation_level=None)) as writing,
    ):
        [size] = reading.execute("PRAGMA page_size").fetchone()
        # Read from one snapshot; otherwise each write of another connection would restart the
        # copy.
        reading.execute("BEGIN")
        reading.execute("SELECT count(*) FROM sqlite_master").fetchone()
        reading.backup(
            writing,
            pages=PAGES,
            progress=lambda _status, left, total: progress((total - left) * size, total * size),
        )
        reading.execute("COMMIT")
        [found] = writing.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise StoreError(f"{source} is damaged: {found}")
