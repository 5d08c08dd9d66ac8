"""The writers of one lane: one after the other, in this process and in all others.

One task takes all transactions that wait, takes the lane's lock in the database, runs them one
after the other, each behind a savepoint, and commits them together: the disk and the network are
waited for once, and however many wait, one connection is used.

    BEGIN, lock and savepoint      one round trip
    the statements of a job
    release and savepoint          one, between two jobs
    release and COMMIT             one; the lock goes with the transaction, after all can see it

Notifications leave with the release of their job.

Who has the lane is alone with its tables. So READ COMMITTED is enough: each statement sees all
that those before it committed, and nothing has to be run again because of others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from contextvars import Context
from time import monotonic
from typing import Any, Final, TypeVar
from zlib import crc32

import asyncpg

from accord.store.counts import StoreCounts
from accord.store.errors import StoreError, UnavailableError
from accord.store.postgres_transaction import (
    ConflictError,
    PostgresTransaction,
    translated,
    translation,
)
from accord.store.store import Work
from accord.store.wake import check_channel

T = TypeVar("T")

MAX_BATCH: Final = 32
"""How many transactions are committed together: PostgreSQL keeps 64 savepoints of each at hand."""
MAX_WAITING: Final = 10_000
"""How many may wait to be run."""
ATTEMPTS: Final = 5
"""How often one is run that transactions outside of the lane get in the way of."""

LOST: Final = (
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
KEEP: Final = "RELEASE SAVEPOINT job;"
TAKE_BACK: Final = "ROLLBACK TO SAVEPOINT job; RELEASE SAVEPOINT job;"
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
            raise UnavailableError(f"more than {MAX_WAITING:,} transactions wait already")
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
                job.error = UnavailableError("the store is closed")
                job.finish()
            self._waiting.clear()

    def _next(self) -> list[_Job]:
        taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_BATCH))]
        return [job for job in taken if not job.future.cancelled()]

    async def _commit(self, batch: list[_Job]) -> None:
        """Run a batch. What goes wrong is kept for whoever waits for it."""
        try:
            with translated():
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
                if is_last or not isinstance(error, LOST):
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
            except ConflictError as error:
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
                return str(await connection.execute(KEEP + notify + then))
            except asyncpg.InFailedSQLTransactionError as error:
                job.error = translation(error)
        return str(await connection.execute(TAKE_BACK + then))
