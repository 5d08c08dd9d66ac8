"""Connections to one SQLite file, and reads while others write to it.

A thread round trip costs seven times as much as a row found by its key (61 µs and 8 µs). So a read
starts on the event loop, with a limit on each of its statements; a statement that exceeds it is
interrupted, and the read runs again in a thread. Statements that were too slow several times go
straight to the thread. A snapshot read always runs in a thread. In both places, all statements of
a read see one state; one transaction for all of them also costs less than one for each.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, Final, TypeVar

from accord.store.store import (
    DISK_FAILS,
    FULL,
    READ_ONLY,
    ConstraintError,
    Engine,
    ReadWork,
    Row,
    StoreError,
    StoreUnavailableError,
    StoreUnwritableError,
)
from accord.store.wake import check_channel

T = TypeVar("T")

BUSY_SECONDS: Final = 10.0
"""How long to wait for another process that writes."""
STATEMENTS: Final = 512
"""How many prepared statements each connection keeps."""
CACHE_KIB: Final = 8_000
"""How much of the file each connection keeps in memory, at most."""
MAX_WAL: Final = 64 * 1024 * 1024
"""What is left of the log beside the file once all of it is in the file, in bytes."""

_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_LOCKED)
_UNWRITABLE: Final = {
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_IOERR: DISK_FAILS,
}
_NAMES: Final = tuple(str(place) for place in range(1, 5000))


def connect(path: Path, *, durable: bool, wait: float | None = None) -> sqlite3.Connection:
    """Raises sqlite3.Error. It waits for others for `wait` seconds, `BUSY_SECONDS` unless given."""
    connection = sqlite3.connect(
        path,
        timeout=BUSY_SECONDS if wait is None else wait,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=STATEMENTS,
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA journal_size_limit = {MAX_WAL}")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    return connection


class SqliteTransaction:
    """Statements on one connection; implements `Transaction`. They are done when they return."""

    __slots__ = ("_connection", "channels")

    engine: Engine = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.channels: dict[str, None] = {}

    async def execute(self, sql: str, /, *arguments: Any) -> int:
        try:
            return max(self._connection.execute(sql, named_arguments(arguments)).rowcount, 0)
        except sqlite3.Error as error:
            raise translate_error(error) from error

    async def execute_later(self, sql: str, /, *arguments: Any) -> None:
        await self.execute(sql, *arguments)

    async def execute_many(self, sql: str, rows: Sequence[Sequence[Any]], /) -> None:
        try:
            self._connection.executemany(sql, [named_arguments(row) for row in rows])
        except sqlite3.Error as error:
            raise translate_error(error) from error

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        try:
            return self._connection.execute(sql, named_arguments(arguments)).fetchall()
        except sqlite3.Error as error:
            raise translate_error(error) from error

    async def notify(self, channel: str, /) -> None:
        check_channel(channel)
        self.channels[channel] = None


def run_coroutine(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing but the statements of its transaction,
    which never take their time."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise StoreError("a transaction waits for nothing but its own statements")


def named_arguments(arguments: Sequence[Any]) -> dict[str, Any]:
    """`$1` is a name to SQLite. Raises StoreError for more than the name of one can tell."""
    if len(arguments) > len(_NAMES):
        raise StoreError(f"a statement takes {len(_NAMES)} arguments, not {len(arguments):,}")
    return dict(zip(_NAMES, arguments, strict=False))


def statements(script: str) -> Iterator[str]:
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
def translate_errors() -> Iterator[None]:
    """Turns the errors of SQLite into ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate_error(error) from error


def translate_error(error: sqlite3.Error) -> StoreError:
    if isinstance(error, sqlite3.IntegrityError):
        return ConstraintError(str(error))
    if is_busy(error):
        return StoreUnavailableError(str(error))
    reason = _UNWRITABLE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    if reason is not None:
        return StoreUnwritableError(str(error), reason)
    if str(error) == "no such module: fts5":
        return StoreError(
            f"SQLite {sqlite3.sqlite_version} of this Python has no full text search (FTS5): use "
            "another build of Python, or PostgreSQL"
        )
    return StoreError(str(error))


def is_busy(error: sqlite3.Error) -> bool:
    """Whether somebody else has what is needed, or the file cannot be opened."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY


THREADS: Final = 2
STEPS_PER_CHECK: Final = 1000
"""Instructions of SQLite between two looks at what a statement does."""
MAX_CHECKS: Final = 20
"""How many times so many instructions a statement may take on the event loop: about 2 ms. Not
counted by a clock, which would blame a statement for what others do on the same machine."""
LONG_SECONDS: Final = 0.02
"""What a quick statement takes only where others have the processor; a full-text search takes few
instructions, and long ones. One that took so long by the clock is measured by what it takes of the
processor from then on, which costs a system call: on a busy machine any statement is a long one now
and then, and no thread would make it shorter."""
LONG_COUNTS: Final = 8
"""For how many quick runs a long one counts."""
TOO_LONG: Final = 3 * LONG_COUNTS
"""How much may count against a statement before it goes to a thread."""
MAX_SLOW: Final = 1000
"""How many statements are remembered to be slow."""


class SqliteReader:
    """Reads what is committed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._here: _LoopReader | None = None
        self._local = threading.local()
        self._threads = ThreadPoolExecutor(THREADS, "accord-store-reader")
        self._connections: list[sqlite3.Connection] = []

    async def read(self, work: ReadWork[T], *, snapshot: bool) -> T:
        if not snapshot:
            try:
                return self._on_the_loop().run(work)
            except _TooSlowError:
                pass
        return await self._elsewhere(work)

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        """The rows of a single statement."""
        rows = self.fetch_now(sql, *arguments)
        if rows is None:
            return await self._elsewhere(lambda db: db.fetch(sql, *arguments))
        return rows

    def fetch_now(self, sql: str, /, *arguments: Any) -> list[Row] | None:
        """The same; None where it takes too long for the event loop."""
        try:
            return run_coroutine(self._on_the_loop().fetch(sql, *arguments))
        except _TooSlowError:
            return None

    def close(self) -> None:
        """Finish what is being read; blocks until that is done."""
        self._threads.shutdown()
        for connection in self._connections:
            connection.close()

    def _on_the_loop(self) -> _LoopReader:
        if self._here is None:
            self._here = _LoopReader(self._connect(wait=0.0))
        return self._here

    async def _elsewhere(self, work: ReadWork[T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._read_there, work)

    def _read_there(self, work: ReadWork[T]) -> T:
        """Called in a thread that reads."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        with translate_errors():
            connection.execute("BEGIN")
        try:
            return run_coroutine(work(SqliteTransaction(connection)))
        finally:
            connection.execute("ROLLBACK")

    def _connect(self, *, wait: float | None = None) -> sqlite3.Connection:
        with translate_errors():
            connection = connect(self._path, durable=False, wait=wait)
            connection.execute("PRAGMA query_only = ON")
        self._connections.append(connection)
        return connection


class _TooSlowError(BaseException):
    """A statement takes more than it may on the event loop. Not an Exception, so that a function
    that handles those of its statements does not handle this."""


class _LoopReader:
    """Statements on the event loop, with a limit; implements `ReadTransaction`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._long: dict[str, int] = {}
        """What counts against statements that took long."""
        self._looks = 0
        self._reading = False
        connection.set_progress_handler(self._is_over, STEPS_PER_CHECK)

    def run(self, work: ReadWork[T]) -> T:
        """The result of a read of one state."""
        if self._reading:  # a read within another sees the same
            return run_coroutine(work(self))
        self._reading = True
        try:
            self._execute("BEGIN")
            return run_coroutine(work(self))
        finally:
            self._reading = False
            if self._connection.in_transaction:
                self._execute("ROLLBACK")

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        counts = self._long.get(sql, 0)
        if counts >= TOO_LONG:
            raise _TooSlowError
        self._looks = 0
        clock = thread_time if counts else perf_counter
        begun = clock()
        try:
            rows = self._connection.execute(sql, named_arguments(arguments)).fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                self._remember(sql, TOO_LONG)
            elif not is_busy(error):
                raise translate_error(error) from error
            raise _TooSlowError from None
        except sqlite3.Error as error:
            raise translate_error(error) from error
        if clock() - begun > LONG_SECONDS:
            self._remember(sql, counts + LONG_COUNTS)
        elif counts:
            self._remember(sql, counts - 1)
        return rows

    def _execute(self, sql: str) -> None:
        try:
            self._connection.execute(sql)
        except sqlite3.Error as error:
            raise translate_error(error) from error

    def _is_over(self) -> bool:
        self._looks += 1
        return self._looks > MAX_CHECKS

    def _remember(self, sql: str, counts: int) -> None:
        if len(self._long) >= MAX_SLOW:
            self._long.clear()
        self._long[sql] = counts
