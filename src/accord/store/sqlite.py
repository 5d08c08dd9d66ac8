"""A store in one file: SQLite in WAL mode.

One thread writes. It takes all transactions that wait, runs them one after the other and commits
them together, so that the disk is waited for once (group commit); one that fails takes back only
its own changes. A few threads read, at the same time, what is committed. Other processes may use
the same file: SQLite lets one of them write at a time.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from importlib.resources.abc import Traversable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

from accord.store import migrations
from accord.store.errors import ConstraintError, StoreError, UnavailableError
from accord.store.store import Engine, ReadWork, Row, Transaction, Work
from accord.store.wake import WakeFolder, check_channel

T = TypeVar("T")

BUSY_SECONDS: Final = 10.0
"""How long to wait for another process that writes."""
READERS: Final = 2
MAX_BATCH: Final = 256
"""How many transactions are committed together."""
MAX_WAITING: Final = 10_000
"""How many may wait to be run."""


async def open_sqlite(path: Path, *, durable: bool) -> SqliteStore:
    """Raises StoreError where the file cannot be opened or made."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, partial(SqliteStore, path, durable=durable))


class SqliteStore:
    """One file; implements `Store`."""

    engine: Engine = "sqlite"

    def __init__(self, path: Path, *, durable: bool) -> None:
        path = self._path = path.absolute()
        try:
            # What is kept is nobody else's business; SQLite gives its other files the same mode.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._wake = WakeFolder(path.with_name(f"{path.name}.wake"))
        except OSError as error:
            raise UnavailableError(f"cannot open {path}: {error.strerror}") from None
        # SQLite does not wait for another that makes the same new file a WAL one.
        with self._wake.alone():
            self._writer = _Writer(partial(_connect, path, durable=durable), self._wake.notify)
        self._reading = threading.local()
        self._readers = ThreadPoolExecutor(READERS, "accord-store-reader")
        self._connections: list[sqlite3.Connection] = []
        self._stops: dict[Callable[[], None], None] = {}
        self._closed = False

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
        known = migrations.migrations(folder, self.engine)

        async def work(transaction: Transaction) -> None:
            await transaction.execute(migrations.TABLE)
            rows = await transaction.fetch(migrations.APPLIED, part)
            applied = {row["number"]: row["name"] for row in rows}
            for migration in migrations.missing(known, applied, part):
                for statement in _statements(migration.sql):
                    await transaction.execute(statement)
                await transaction.execute(migrations.RECORD, part, migration.number, migration.name)

        await self.transact(work)

    async def applied(self, part: str) -> dict[int, str]:
        if not await self.fetch(migrations.EXISTS[self.engine]):
            return {}
        rows = await self.fetch(migrations.APPLIED, part)
        return {row["number"]: row["name"] for row in rows}

    async def transact(self, work: Work[T], *, lane: str = "") -> T:
        return await self._writer.submit(work)  # one lane for all

    async def read(self, work: ReadWork[T], *, snapshot: bool = False) -> T:
        if self._closed:
            raise _closed()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read_all, work, snapshot)

    async def execute(self, sql: str, /, *arguments: Any) -> int:
        return await self.transact(lambda transaction: transaction.execute(sql, *arguments))

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        if self._closed:
            raise _closed()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, sql, arguments)

    async def write(self, sql: str, /, *arguments: Any) -> list[Row]:
        return await self.transact(lambda transaction: transaction.fetch(sql, *arguments))

    async def notify(self, channel: str, /) -> None:
        check_channel(channel)
        self._wake.notify(channel)

    async def listen(self, channel: str, hear: Callable[[], None]) -> Callable[[], None]:
        stop = self._wake.listen(channel, hear)
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
        self._readers.shutdown()
        for connection in self._connections:
            connection.close()

    def _read(self, sql: str, arguments: tuple[Any, ...]) -> list[Row]:
        with _translated():
            return self._connection().execute(sql, _bound(arguments)).fetchall()

    def _read_all(self, work: ReadWork[T], snapshot: bool) -> T:
        with _translated():
            connection = self._connection()
            if snapshot:
                connection.execute("BEGIN")
        try:
            result: T = _driven(work(_SqliteTransaction(connection)))
            return result
        finally:
            if snapshot:
                connection.execute("ROLLBACK")

    def _connection(self) -> sqlite3.Connection:
        """That of the thread which reads."""
        connection: sqlite3.Connection | None = getattr(self._reading, "connection", None)
        if connection is None:
            connection = self._reading.connection = _connect(self._path, durable=False)
            connection.execute("PRAGMA query_only = ON")
            self._connections.append(connection)
        return connection


class _Job:
    """A transaction that waits to be run, and whoever waits for it."""

    __slots__ = ("error", "future", "loop", "result", "work")

    def __init__(self, work: Work[Any], loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None

    def finish(self) -> None:
        """Tell whoever waits; called on the loop."""
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class _Writer:
    """The thread that writes."""

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], notify: Callable[[str], None]
    ) -> None:
        with _translated():
            self._connection = connect()
        self._notify = notify
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="accord-store-writer", daemon=True)
        self._thread.start()

    async def submit(self, work: Work[T]) -> T:
        if self._closed:
            raise _closed()
        if self._jobs.qsize() >= MAX_WAITING:
            raise UnavailableError(f"more than {MAX_WAITING:,} transactions wait already")
        job = _Job(work, asyncio.get_running_loop())
        self._jobs.put(job)
        result: T = await job.future
        return result

    def close(self) -> None:
        """Finish what waits; blocks until that is done."""
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
                    with suppress(RuntimeError):  # the loop is closed: nobody waits
                        job.loop.call_soon_threadsafe(job.finish)
            if is_last:
                return

    def _next(self) -> tuple[list[_Job], bool]:
        """All that wait, at least one; whether no more will come."""
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
            with _translated():
                self._connection.execute("BEGIN IMMEDIATE")
                for job in batch:
                    self._run_job(job, channels)
                self._connection.execute("COMMIT")
        except StoreError as error:
            for job in batch:
                job.error = error
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            return
        for channel in channels:
            self._notify(channel)

    def _run_job(self, job: _Job, channels: dict[str, None]) -> None:
        """Run one transaction. What it raises is kept for whoever waits for it."""
        transaction = _SqliteTransaction(self._connection)
        self._connection.execute("SAVEPOINT job")
        try:
            job.result = _driven(job.work(transaction))
            self._connection.execute("RELEASE job")
        except Exception as error:
            job.error = error
            self._connection.execute("ROLLBACK TO job")
            self._connection.execute("RELEASE job")
        else:
            channels.update(transaction.channels)


class _SqliteTransaction:
    """Statements on the writing thread; implements `Transaction`."""

    __slots__ = ("_connection", "channels")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.channels: dict[str, None] = {}

    async def execute(self, sql: str, /, *arguments: Any) -> int:
        with _translated():
            return max(self._connection.execute(sql, _bound(arguments)).rowcount, 0)

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        with _translated():
            return self._connection.execute(sql, _bound(arguments)).fetchall()

    async def notify(self, channel: str, /) -> None:
        check_channel(channel)
        self.channels[channel] = None


def _driven(work: Any) -> Any:
    """The result of a coroutine that waits for nothing but the statements of its transaction,
    which never take their time."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise StoreError("a transaction waits for nothing but its own statements")


def _connect(path: Path, *, durable: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _bound(arguments: tuple[Any, ...]) -> dict[str, Any]:
    """`$1` is a name to SQLite."""
    return {str(place): value for place, value in enumerate(arguments, 1)}


def _statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one: a script as a whole would commit by itself."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement


@contextmanager
def _translated() -> Iterator[None]:
    """Turns the errors of SQLite into ours."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise ConstraintError(str(error)) from error
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (
            sqlite3.SQLITE_BUSY,
            sqlite3.SQLITE_CANTOPEN,
            sqlite3.SQLITE_LOCKED,
        ):
            raise UnavailableError(str(error)) from error
        raise StoreError(str(error)) from error
    except sqlite3.Error as error:
        raise StoreError(str(error)) from error


def _closed() -> StoreError:
    return UnavailableError("the store is closed")
