"""Statements on a PostgreSQL connection, and the lanes in which transactions take turns.

Each statement is a round trip. Statements of `execute_later` are combined into one statement of
common table expressions: all see the same state, and constraints are checked at the end of the
combined statement.

The transactions of a lane run one after the other, in this process and in all others. One task
takes all queued transactions, acquires the lane's advisory lock, runs each in a savepoint, and
commits them together: one fsync and few round trips for all, over a single connection. A job is
one queued transaction. The round trips are:

    BEGIN, lock and savepoint      one round trip
    the statements of a job
    release and savepoint          one, between two jobs
    release and COMMIT             one; the lock is released after the commit is visible

Notifications are sent with the release of their job.

Only the holder of the lock writes to the tables of its lane. So READ COMMITTED is enough: each
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
    check_channel,
)

DRIVER_ERRORS: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the first use of a connection that the server has closed
    OSError,  # also TimeoutError
)
"""Exceptions of the driver and of the network."""
_PARAMETER: Final = re.compile(r"\$([0-9]+)")


class TransactionConflictError(StoreUnavailableError):
    """A conflict with another transaction; the transaction that raises this was rolled back."""


class PostgresTransaction:
    """A transaction on one connection; implements `Transaction`.

    Call `finish` before the commit, to run queued statements.
    """

    __slots__ = ("_connection", "_later")

    engine: Engine = "postgresql"

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._later: list[tuple[str, tuple[Any, ...]]] = []

    async def finish(self) -> None:
        """Run the queued statements.

        Raises StoreError if one fails.
        """
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
            await self.finish()  # the same statement twice must run in order
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
    """Combine SQL statements into one, and renumber their parameters.

    Each statement is given with its number of arguments. All but the last become common table
    expressions of the last.
    """
    *others, (last, _) = statements
    parts, before = [], 0
    for place, (sql, count) in enumerate(others):
        parts.append(f"later_{place} AS ({_shifted(sql, before)})")
        before += count
    begun = f"WITH {', '.join(parts)}\n" if parts else ""
    return begun + _shifted(last, before)


def _shifted(sql: str, by: int) -> str:
    """Return a statement with its parameter numbers increased by `by`."""
    return _PARAMETER.sub(lambda found: f"${int(found[1]) + by}", sql) if by else sql


def changed_rows(status: str) -> int:
    """Return the number of changed rows from a status such as `UPDATE 3`."""
    count = status.rpartition(" ")[2]
    return int(count) if count.isdecimal() else 0


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translate exceptions of the database and its driver to `StoreError`."""
    try:
        yield
    except DRIVER_ERRORS as error:
        raise translate_error(error) from error


def translate_error(error: Exception) -> StoreError:
    """Return the `StoreError` for an exception of the driver."""
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
        case ValueError():  # an argument of the wrong type
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
"""Maximum number of transactions in one commit: PostgreSQL caches 64 subtransactions per
connection."""
MAX_WAITING: Final = 10_000
"""Maximum number of queued transactions."""
ATTEMPTS: Final = 5
"""Maximum number of runs of a transaction that conflicts with one outside of the lane."""

LOST_CONNECTION_ERRORS: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    ConnectionError,
)
"""Exceptions raised when a connection was lost while it was idle."""

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
    """A queued transaction and the future of its result."""

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
    """A transaction of a lane; it collects the channels to notify if it succeeds."""

    __slots__ = ("channels",)

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self.channels: dict[str, None] = {}

    async def notify(self, channel: str, /) -> None:
        check_channel(channel)
        self.channels[channel] = None


class Lane:
    """A lane of a store: its queue, and the task that runs it."""

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
            # Do not run later transactions in the context variables of the first.
            self._task = asyncio.get_running_loop().create_task(self._run(), context=Context())
        result: T = await job.future
        return result

    async def close(self, patience: float) -> None:
        """Wait up to `patience` seconds for queued transactions, then cancel the rest."""
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
        """Run a batch of transactions, commit it, and store an error in the batch's jobs."""
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
        except Exception as error:  # noqa: BLE001 - any error belongs to its jobs; the lane goes on
            self._counts.failed_commits += 1
            for job in batch:
                job.error = job.error or error

    async def _begun(self) -> Any:
        """Begin a transaction that holds the lane's lock, and return its connection.

        Try again once if an idle connection was lost.
        """
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
        """Close a connection instead of rolling back, since the connection may be broken."""
        with suppress(asyncpg.InterfaceError):  # already closed
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
        """Run one transaction, and store its result or error in the job."""
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
            except Exception as error:  # noqa: BLE001 - any error belongs to its jobs; the lane goes on
                job.error = error
                return

    async def _settle(self, connection: Any, job: _Job, then: str) -> str:
        """Release the savepoint of a job, or roll back to it if the job failed.

        Run the statement `then` in the same round trip, and return the status of the command.
        """
        if job.error is None:
            try:
                notify = "".join(f'NOTIFY "{channel}";' for channel in job.channels)
                return str(await connection.execute(RELEASE + notify + then))
            except asyncpg.InFailedSQLTransactionError as error:
                job.error = translate_error(error)
        return str(await connection.execute(ROLLBACK + then))
