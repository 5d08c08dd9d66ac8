"""Statements on a PostgreSQL connection, and the lanes in which transactions take turns.

Each statement is a round trip. Statements of `execute_later` are combined into one statement of
common table expressions: they see the same state, and constraints are checked at its end.

The transactions of a lane run one after the other, in this process and in all others. One task
takes all transactions that wait, takes the lane's advisory lock, runs each in a savepoint, and
commits them together: one fsync and few round trips for all, over a single connection.

    BEGIN, lock and savepoint      one round trip
    the statements of a job
    release and savepoint          one, between two jobs
    release and COMMIT             one; the lock is released after the commit is visible

Notifications are sent with the release of their job.

The holder of the lock is alone with the tables of its lane. So READ COMMITTED is enough: each
statement sees everything that was committed before it, and conflicts within a lane cannot happen.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import Context
from functools import lru_cache
from time import monotonic
from typing import Any, Final, TypeVar
from zlib import crc32

import asyncpg

from accord.store.store import (
    DISK_FAILS,
    FULL,
    READ_ONLY,
    ConstraintError,
    Engine,
    Row,
    StoreCounts,
    StoreError,
    StoreUnavailableError,
    StoreUnwritableError,
    Work,
)
from accord.store.wake import check_channel

DRIVER_ERRORS: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the first use of a connection that the server has closed
    OSError,  # also TimeoutError
)
"""What the driver raises, and the network."""
_PARAMETER: Final = re.compile(r"\$([0-9]+)")


class TransactionConflictError(StoreUnavailableError):
    """Two transactions were in each other's way; this one did nothing."""


class PostgresTransaction:
    """Implements `Transaction`. Whoever commits it calls `finish` before."""

    __slots__ = ("_connection", "_later")

    engine: Engine = "postgresql"

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._later: list[tuple[str, tuple[Any, ...]]] = []

    async def finish(self) -> None:
        """Run what was to be run later. Raises StoreError."""
        if self._later:
            later, self._later = self._later, []
            await self.execute(
                combined(tuple((sql, len(arguments)) for sql, arguments in later)),
                *[each for _, arguments in later for each in arguments],
            )

    async def execute(self, sql: str, /, *arguments: Any) -> int:
        if self._later:
            await self.finish()
        try:
            return changed_rows(await self._connection.execute(sql, *arguments))
        except DRIVER_ERRORS as error:
            raise translate_error(error) from error

    async def execute_later(self, sql: str, /, *arguments: Any) -> None:
        if any(sql == other for other, _ in self._later):
            await self.finish()  # what is said twice keeps its order
        self._later.append((sql, arguments))

    async def execute_many(self, sql: str, rows: Sequence[Sequence[Any]], /) -> None:
        if self._later:
            await self.finish()
        try:
            await self._connection.executemany(sql, rows)
        except DRIVER_ERRORS as error:
            raise translate_error(error) from error

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        if self._later:
            await self.finish()
        try:
            rows: list[Row] = await self._connection.fetch(sql, *arguments)
            return rows
        except DRIVER_ERRORS as error:
            raise translate_error(error) from error

    async def notify(self, channel: str, /) -> None:
        check_channel(channel)
        await self.execute("SELECT pg_notify($1, '')", channel)


@lru_cache(256)
def combined(statements: tuple[tuple[str, int], ...]) -> str:
    """Statements that change rows as one, given how many arguments each has."""
    *others, (last, _) = statements
    parts, before = [], 0
    for place, (sql, count) in enumerate(others):
        parts.append(f"later_{place} AS ({_shifted(sql, before)})")
        before += count
    begun = f"WITH {', '.join(parts)}\n" if parts else ""
    return begun + _shifted(last, before)


def _shifted(sql: str, by: int) -> str:
    """A statement whose arguments stand behind so many others."""
    return _PARAMETER.sub(lambda found: f"${int(found[1]) + by}", sql) if by else sql


def changed_rows(status: str) -> int:
    """How many rows a statement changed, as its status ends: `UPDATE 3`."""
    count = status.rpartition(" ")[2]
    return int(count) if count.isdecimal() else 0


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turns the errors of the database and of its driver into ours."""
    try:
        yield
    except DRIVER_ERRORS as error:
        raise translate_error(error) from error


def translate_error(error: Exception) -> StoreError:
    """What one of the foreign errors is called here."""
    match error:
        case asyncpg.SerializationError() | asyncpg.DeadlockDetectedError():
            return TransactionConflictError(str(error))
        case asyncpg.IntegrityConstraintViolationError():
            return ConstraintError(str(error))
        case asyncpg.DiskFullError():
            return StoreUnwritableError(str(error), FULL)
        case asyncpg.ReadOnlySQLTransactionError():
            return StoreUnwritableError(str(error), READ_ONLY)
        case asyncpg.PostgresIOError():
            return StoreUnwritableError(str(error), DISK_FAILS)
        case ValueError():  # an argument that is not of the type of its parameter
            return StoreError(str(error))
        case (
            OSError()
            | asyncpg.InterfaceError()
            | asyncpg.InternalClientError()
            | asyncpg.PostgresConnectionError()
            | asyncpg.OperatorInterventionError()
            | asyncpg.InvalidAuthorizationSpecificationError()
            | asyncpg.InvalidCatalogNameError()
            | asyncpg.InsufficientResourcesError()
            | asyncpg.IdleInTransactionSessionTimeoutError()
        ):
            return StoreUnavailableError(f"the database cannot be used: {error}")
        case _:
            return StoreError(str(error))


T = TypeVar("T")

MAX_BATCH: Final = 32
"""How many transactions are committed together: PostgreSQL keeps 64 savepoints of each at hand."""
MAX_WAITING: Final = 10_000
"""How many may wait to be run."""
ATTEMPTS: Final = 5
"""How often one is run that transactions outside of the lane get in the way of."""

LOST_CONNECTION_ERRORS: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    ConnectionError,
)
"""What a connection says that was lost while nobody used it."""

BEGIN: Final = """
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT pg_advisory_xact_lock({lock});
SAVEPOINT job
"""
RELEASE: Final = "RELEASE SAVEPOINT job;"
ROLLBACK: Final = "ROLLBACK TO SAVEPOINT job; RELEASE SAVEPOINT job;"
AGAIN: Final = "ROLLBACK TO SAVEPOINT job"
NEXT: Final = "SAVEPOINT job"
COMMIT: Final = "COMMIT"


class _Job:
    """A transaction that waits to be run, and whoever waits for it."""

    __slots__ = ("asked", "channels", "error", "future", "result", "work")

    def __init__(self, work: Work[Any]) -> None:
        self.work = work
        self.asked = monotonic()
        self.channels: dict[str, None] = {}
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.result: Any = None
        self.error: Exception | None = None

    def finish(self) -> None:
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class _Transaction(PostgresTransaction):
    """Keeps what it is to notify."""

    __slots__ = ("channels",)

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self.channels: dict[str, None] = {}

    async def notify(self, channel: str, /) -> None:
        check_channel(channel)
        self.channels[channel] = None


class Lane:
    """One lane of one store."""

    def __init__(self, name: str, pool: asyncpg.Pool[asyncpg.Record], counts: StoreCounts) -> None:
        self._counts = counts
        self._pool = pool
        self._begin = BEGIN.format(lock=crc32(name.encode()))
        self._waiting: deque[_Job] = deque()
        self._task: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def submit(self, work: Work[T]) -> T:
        if len(self._waiting) >= MAX_WAITING:
            raise StoreUnavailableError(f"more than {MAX_WAITING:,} transactions wait already")
        job = _Job(work)
        self._waiting.append(job)
        if self._task is None:
            # Whoever comes first has nothing to do with those who come after.
            self._task = asyncio.get_running_loop().create_task(self._run(), context=Context())
        result: T = await job.future
        return result

    async def close(self, patience: float) -> None:
        """Finish what waits, within `patience` seconds."""
        if self._task is None:
            return
        await asyncio.wait({self._task}, timeout=patience)
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        batch: list[_Job] = []
        try:
            while self._waiting:
                batch = self._next()
                if batch:
                    await self._commit(batch)
                for job in batch:
                    job.finish()
        finally:
            self._task = None
            for job in (*batch, *self._waiting):
                job.error = StoreUnavailableError("the store is closed")
                job.finish()
            self._waiting.clear()

    def _next(self) -> list[_Job]:
        taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_BATCH))]
        return [job for job in taken if not job.future.cancelled()]

    async def _commit(self, batch: list[_Job]) -> None:
        """Run a batch. What goes wrong is kept for whoever waits for it."""
        try:
            with translate_errors():
                connection = await self._begun()
                self._counts.begun((job.asked for job in batch), monotonic())
                try:
                    await self._run_all(connection, batch)
                except BaseException:
                    await self._discard(connection)
                    raise
                await self._pool.release(connection)
            self._counts.commits += 1
        except Exception as error:
            self._counts.failed_commits += 1
            for job in batch:
                job.error = job.error or error

    async def _begun(self) -> Any:
        """A connection that has the lane. The first may have been lost while nobody used it."""
        for is_last in (False, True):
            connection = await self._pool.acquire()
            try:
                await connection.execute(self._begin)
                return connection
            except BaseException as error:
                await self._discard(connection)
                if is_last or not isinstance(error, LOST_CONNECTION_ERRORS):
                    raise
        raise AssertionError("the last attempt returns or raises")

    async def _discard(self, connection: Any) -> None:
        """Closed rather than rolled back: it may be the connection that is at fault."""
        with suppress(asyncpg.InterfaceError):  # it is closed already
            connection.terminate()
        await self._pool.release(connection)

    async def _run_all(self, connection: Any, batch: list[_Job]) -> None:
        for job in batch[:-1]:
            await self._run_job(connection, job)
            await self._settle(connection, job, NEXT)
        await self._run_job(connection, batch[-1])
        status = await self._settle(connection, batch[-1], COMMIT)
        if status != COMMIT:
            raise StoreError(f"the database answered {COMMIT} with {status}")

    async def _run_job(self, connection: Any, job: _Job) -> None:
        """Run one transaction. What it raises is kept for whoever waits for it."""
        for attempt in range(1, ATTEMPTS + 1):
            transaction = _Transaction(connection)
            try:
                job.result = await job.work(transaction)
                await transaction.finish()
                job.channels = transaction.channels
                return
            except TransactionConflictError as error:
                self._counts.conflicts += 1
                if attempt == ATTEMPTS:
                    job.error = error
                    return
                await connection.execute(AGAIN)
            except Exception as error:
                job.error = error
                return

    async def _settle(self, connection: Any, job: _Job, then: str) -> str:
        """Keep what a job did, or take it back, and go on."""
        if job.error is None:
            try:
                notify = "".join(f'NOTIFY "{channel}";' for channel in job.channels)
                return str(await connection.execute(RELEASE + notify + then))
            except asyncpg.InFailedSQLTransactionError as error:
                job.error = translate_error(error)
        return str(await connection.execute(ROLLBACK + then))
