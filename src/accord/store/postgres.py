"""A store in a PostgreSQL database, with asyncpg (`accord[postgres]`).

A lane is a named queue of transactions, which run one after the other (see `postgres_lane`).
Transactions without a lane are serializable, and are retried after a conflict. Reads are plain
statements on a connection of the pool. One more connection listens (LISTEN). After a loss it
reconnects and wakes all listeners, since they may have missed notifications.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.resources.abc import Traversable
from time import monotonic
from types import TracebackType
from typing import Any, Final, TypeVar
from zlib import crc32

import asyncpg

from accord.store import catalog
from accord.store.postgres_lane import (
    DRIVER_ERRORS,
    Lane,
    PostgresTransaction,
    TransactionConflictError,
    translate_errors,
)
from accord.store.store import (
    Engine,
    ReadWork,
    Row,
    StoreCounts,
    StoreLoad,
    StoreUnavailableError,
    StoreUnwritableError,
    Work,
    Writability,
    check_channel,
    try_writing,
)

log = logging.getLogger("accord.store")

T = TypeVar("T")

CONNECTIONS: Final = 8
CONNECT_SECONDS: Final = 10.0
STATEMENT_SECONDS: Final = 30.0
IDLE_SECONDS: Final = 60
"""Idle timeout of a transaction in seconds: a transaction that hangs blocks its lane in all
processes."""
STATEMENTS: Final = 1024
"""Number of prepared statements that each connection caches."""
ATTEMPTS: Final = 20
"""Maximum number of runs of a transaction that conflicts with others."""
SHADOW: Final = """
CREATE TEMP TABLE "{table}" (LIKE "{table}" INCLUDING ALL EXCLUDING IDENTITY) ON COMMIT DROP;
DO $$
DECLARE original text := format('%I."{table}"', current_schema()); numbered name;
BEGIN
    EXECUTE 'INSERT INTO pg_temp."{table}" SELECT * FROM ' || original;
    FOR numbered IN
        SELECT attname FROM pg_attribute
        WHERE attrelid = original::regclass AND attidentity <> '' AND NOT attisdropped
    LOOP
        EXECUTE format(
            'ALTER TABLE pg_temp."{table}" ALTER %I SET DEFAULT nextval(%L)',
            numbered, pg_get_serial_sequence(original, numbered)
        );
    END LOOP;
END $$;
ANALYZE pg_temp."{table}"
"""
"""For dry runs: a statement that creates a temporary copy of a table. PostgreSQL uses the copy in
place of the table, which has the same name. The copy draws from the identity sequences of the real
table, which have gaps anyway."""
RECONNECT_SECONDS: Final = (0.1, 5.0)
"""Initial and maximum delay in seconds before reconnecting."""


class _Connection(asyncpg.Connection):  # type: ignore[misc]  # it has no types
    """A connection without asyncpg's RESET on release, which saves a round trip per read.

    RESET is not needed: the code of this package leaves no settings, cursors or locks behind.
    """

    __slots__ = ()

    def get_reset_query(self) -> str:
        return ""


async def open_postgres(url: str, *, durable: bool) -> PostgresStore:
    """Connect to the database.

    Raises StoreError if that fails.
    """
    store = PostgresStore(url, durable=durable)
    await store.connect()
    return store


class PostgresStore:
    """A store in a PostgreSQL database; implements `Store`."""

    engine: Engine = "postgresql"

    def __init__(self, url: str, *, durable: bool) -> None:
        self.counts = StoreCounts()
        self._url = url
        self._settings = {
            "application_name": "accord",
            "synchronous_commit": "on" if durable else "off",
            "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
        }
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._listener: asyncpg.Connection[asyncpg.Record] | None = None
        self._callbacks: dict[str, list[Callable[[], None]]] = {}
        self._reconnecting: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._lanes: dict[str, Lane] = {}
        self._rehearsing = asyncio.Lock()
        self._writability = Writability()

    @property
    def load(self) -> StoreLoad:
        waiting = sum(lane.waiting for lane in self._lanes.values())
        pool = self._pool
        if pool is None:
            return StoreLoad(waiting)
        idle = pool.get_idle_size()
        return StoreLoad(waiting, pool.get_size() - idle, idle, CONNECTIONS)

    async def connect(self) -> None:
        with translate_errors():
            self._pool = await asyncpg.create_pool(
                self._url,
                min_size=1,
                max_size=CONNECTIONS,
                timeout=CONNECT_SECONDS,
                command_timeout=STATEMENT_SECONDS,
                server_settings=self._settings,
                connection_class=_Connection,
                statement_cache_size=STATEMENTS,
                max_cached_statement_lifetime=0,
            )

    async def __aenter__(self) -> PostgresStore:
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
        lock = crc32(b"accord_migrations")
        with translate_errors():
            async with self._open.acquire() as connection:
                # Lock before the transaction begins, to see the migrations of the last holder.
                await connection.execute("SELECT pg_advisory_lock($1)", lock)
                try:
                    async with connection.transaction():
                        await _migrate(connection, part, known)
                finally:
                    await connection.execute("SELECT pg_advisory_unlock($1)", lock)

    async def applied(self, part: str) -> dict[int, str]:
        if not await self.fetch(catalog.EXISTS[self.engine]):
            return {}
        rows = await self.fetch(catalog.APPLIED, part)
        return {row["number"]: row["name"] for row in rows}

    async def transact(self, work: Work[T], *, lane: str = "") -> T:
        try:
            if not lane:
                return await self._transact(work)
            pool = self._open
            found = self._lanes.get(lane)
            if found is None:
                found = self._lanes[lane] = Lane(lane, pool, self.counts)
            return await found.submit(work)
        except StoreUnwritableError as error:
            self._writability.reason = error.reason
            raise

    async def rehearse(self, work: Work[T], tables: Sequence[str]) -> T:
        async with self._rehearsing:
            with translate_errors():
                # Use a new connection: prepared statements of pooled ones refer to the real tables.
                connection = await asyncpg.connect(
                    self._url,
                    timeout=CONNECT_SECONDS,
                    command_timeout=STATEMENT_SECONDS,
                    server_settings=self._settings,
                    statement_cache_size=STATEMENTS,
                    max_cached_statement_lifetime=0,
                )
            try:
                with translate_errors():
                    await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                    for table in tables:
                        await connection.execute(SHADOW.format(table=table))
                transaction = PostgresTransaction(connection)
                result = await work(transaction)
                await transaction.finish()
                return result
            finally:
                connection.terminate()

    async def read(self, work: ReadWork[T], *, snapshot: bool = False) -> T:
        pool = self._open
        with translate_errors():
            connection = await pool.acquire()
        try:
            if not snapshot:
                return await work(PostgresTransaction(connection))
            return await _read_snapshot(connection, work)
        finally:
            await pool.release(connection)

    async def _transact(self, work: Work[T]) -> T:
        asked = monotonic()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with translate_errors():
                    async with (
                        self._open.acquire() as connection,
                        connection.transaction(isolation="serializable"),
                    ):
                        if attempt == 1:
                            self.counts.begun((asked,), monotonic())
                        transaction = PostgresTransaction(connection)
                        result = await work(transaction)
                        await transaction.finish()
                    self.counts.commits += 1
                    return result
            except TransactionConflictError:
                self.counts.conflicts += 1
                if attempt == ATTEMPTS:
                    raise
                await asyncio.sleep(0.001 * attempt)
        raise AssertionError("the last attempt returns or raises")

    async def execute(self, sql: str, /, *arguments: Any) -> int:
        return await self.transact(lambda transaction: transaction.execute(sql, *arguments))

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        with translate_errors():
            rows: list[Row] = await self._open.fetch(sql, *arguments)
            return rows

    def fetch_now(self, sql: str, /, *arguments: Any) -> list[Row] | None:
        return None

    async def write(self, sql: str, /, *arguments: Any) -> list[Row]:
        try:
            return await self.fetch(sql, *arguments)
        except StoreUnwritableError as error:
            self._writability.reason = error.reason
            raise

    async def writing_fault(self) -> str:
        # Use a lane, or two processes could create the same table.
        return await self._writability.check(lambda: self.transact(try_writing, lane="probe"))

    async def notify(self, channel: str, /) -> None:
        check_channel(channel)
        with translate_errors():
            await self._open.execute("SELECT pg_notify($1, '')", channel)

    async def listen(self, channel: str, callback: Callable[[], None]) -> Callable[[], None]:
        check_channel(channel)
        with translate_errors():
            async with self._lock:
                if self._listener is None or self._listener.is_closed():
                    await self._connect_listener()
                assert self._listener is not None
                if channel not in self._callbacks:
                    self._callbacks[channel] = []
                    await self._listener.add_listener(channel, self._notified)
                self._callbacks[channel].append(callback)

        def stop() -> None:
            with suppress(ValueError):
                self._callbacks[channel].remove(callback)

        return stop

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        for lane in self._lanes.values():
            await lane.close(CONNECT_SECONDS)
        if self._reconnecting is not None:
            self._reconnecting.cancel()
            await asyncio.gather(self._reconnecting, return_exceptions=True)
        listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(*DRIVER_ERRORS):
                await listener.close(timeout=CONNECT_SECONDS)
        if pool is not None:
            # After such an error the pool terminates its connections.
            with suppress(*DRIVER_ERRORS):
                await asyncio.wait_for(pool.close(), CONNECT_SECONDS)

    @property
    def _open(self) -> asyncpg.Pool[asyncpg.Record]:
        if self._pool is None:
            raise StoreUnavailableError("the store is closed")
        return self._pool

    # Listening

    async def _connect_listener(self) -> None:
        listener = await asyncpg.connect(
            self._url, timeout=CONNECT_SECONDS, server_settings=self._settings
        )
        try:
            for channel in self._callbacks:
                await listener.add_listener(channel, self._notified)
        except BaseException:
            listener.terminate()
            raise
        listener.add_termination_listener(self._lost)
        if listener.is_closed():  # lost before the listener was added
            raise asyncpg.InterfaceError("the connection was closed at once")
        self._listener = listener

    def _notified(self, connection: object, pid: int, channel: str, payload: object) -> None:
        for callback in tuple(self._callbacks.get(channel, ())):
            callback()

    def _lost(self, connection: object) -> None:
        if self._pool is not None and self._reconnecting is None:
            self._reconnecting = asyncio.get_running_loop().create_task(self._reconnect())

    async def _reconnect(self) -> None:
        delay, longest = RECONNECT_SECONDS
        while True:
            try:
                async with self._lock:
                    await self._connect_listener()
                break
            except DRIVER_ERRORS as error:
                log.warning("cannot listen to the database: %s", error)
                await asyncio.sleep(delay)
                delay = min(delay * 2, longest)
        self._reconnecting = None
        for channel in tuple(self._callbacks):
            self._notified(None, 0, channel, "")


async def _read_snapshot(connection: Any, work: ReadWork[T]) -> T:
    """Run `work` in a read transaction, whose statements all see the same state.

    The transaction is ended without `async with`, which would replace the error of a lost
    connection by an error of the rollback.
    """
    transaction = connection.transaction(isolation="repeatable_read", readonly=True)
    with translate_errors():
        await transaction.start()
    try:
        result = await work(PostgresTransaction(connection))
    except BaseException:
        with suppress(*DRIVER_ERRORS):
            await transaction.rollback()
        raise
    with translate_errors():
        await transaction.commit()
    return result


async def _migrate(connection: Any, part: str, known: list[catalog.Migration]) -> None:
    await connection.execute(catalog.TABLE)
    rows = await connection.fetch(catalog.APPLIED, part)
    applied = {row["number"]: row["name"] for row in rows}
    for migration in catalog.pending_migrations(known, applied, part):
        await connection.execute(migration.sql)
        await connection.execute(catalog.RECORD, part, migration.number, migration.name)
