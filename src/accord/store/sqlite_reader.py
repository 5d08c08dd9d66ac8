"""Connections to one SQLite file, reads while others write to it, wake-ups between processes.

A thread round trip costs seven times as much as a row found by its key (61 µs and 8 µs). So a read
starts on the event loop, with a limit on each of its statements; a statement that exceeds it is
interrupted, and the read runs again in a thread. Statements that were too slow several times go
straight to the thread. A snapshot read always runs in a thread. All statements of
a read share one transaction, on the loop as in a thread: they see one state, and are cheaper than
with one transaction each.

Wake-ups go through named pipes in a folder beside the file. A listener creates a pipe
`CHANNEL.RANDOM` and reads it; a notifier writes a byte to each pipe of the channel. A full pipe has
woken its reader already; a pipe without a reader was left by a dead process, and is removed. Idle
pipes cost nothing, and their paths have no length limit as those of sockets do.
"""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import sqlite3
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
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
    check_channel,
)

_ALL: Final = 65_536


class WakeFolder:
    """A folder of named pipes that wake up all processes using one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.mkdir(mode=0o700, exist_ok=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the folder's lock for a `with` block; it excludes all other processes.

        Wait until no other process holds the lock.
        """
        import fcntl  # POSIX only

        fd = os.open(self._path, os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def listen(self, channel: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` on the running event loop for each wake-up; return a stop function."""
        check_channel(channel)
        loop = asyncio.get_running_loop()
        name = secrets.token_hex(8)
        pipe, unread = self._path / f"{channel}.{name}", self._path / f".{name}"
        os.mkfifo(unread, 0o600)
        # Open it for writing too, or the reader would see EOF when the last writer closes.
        fd = os.open(unread, os.O_RDWR | os.O_NONBLOCK)
        # Rename it only now: notifiers remove pipes without a reader.
        unread.rename(pipe)
        listening = True

        def wake_up() -> None:
            with suppress(BlockingIOError):
                os.read(fd, _ALL)
            callback()

        def stop() -> None:
            nonlocal listening
            if listening:
                listening = False
                pipe.unlink(missing_ok=True)
                loop.remove_reader(fd)
                os.close(fd)

        loop.add_reader(fd, wake_up)
        return stop

    def notify(self, channel: str) -> None:
        """Wake all listeners of `channel`. Callable from any thread."""
        prefix = f"{channel}."
        with os.scandir(self._path) as entries:
            pipes = [entry.path for entry in entries if entry.name.startswith(prefix)]
        for pipe in pipes:
            _write(pipe)


def _write(pipe: str) -> None:
    try:
        fd = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO:  # no reader
            with suppress(FileNotFoundError):
                os.unlink(pipe)
        elif error.errno != errno.ENOENT:
            raise
        return
    try:
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(fd, b"!")
    finally:
        os.close(fd)


T = TypeVar("T")

BUSY_SECONDS: Final = 10.0
"""Time limit for waiting for the lock of another writing process."""
STATEMENTS: Final = 512
"""Number of prepared statements that each connection caches."""
CACHE_KIB: Final = 8_000
"""Maximum page cache of each connection, in KiB."""
MAX_WAL: Final = 64 * 1024 * 1024
"""Size in bytes to which the write-ahead log is truncated after a checkpoint."""

_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_LOCKED)
_UNWRITABLE: Final = {
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_IOERR: DISK_FAILS,
}
_NAMES: Final = tuple(str(place) for place in range(1, 5000))


def connect(path: Path, *, durable: bool, wait: float | None = None) -> sqlite3.Connection:
    """Open a connection that waits `wait` seconds for locks, or `BUSY_SECONDS`.

    Raises sqlite3.Error if the file cannot be opened.
    """
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
    """Statements on one connection, run synchronously; implements `Transaction`."""

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
    """Run a coroutine that awaits only SQLite statements, which never suspend it."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise StoreError("a transaction waits for nothing but its own statements")


def named_arguments(arguments: Sequence[Any]) -> dict[str, Any]:
    """Return arguments by number, because SQLite reads `$1` as the name `1`.

    Raises StoreError for too many arguments.
    """
    if len(arguments) > len(_NAMES):
        raise StoreError(f"a statement takes {len(_NAMES)} arguments, not {len(arguments):,}")
    return dict(zip(_NAMES, arguments, strict=False))


def statements(script: str) -> Iterator[str]:
    """Yield the statements of a script, to run one by one.

    `executescript` would commit the transaction.
    """
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
    """Translate exceptions of SQLite to `StoreError`."""
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
    """Return whether an error means that the file is locked or cannot be opened."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY


THREADS: Final = 2
STEPS_PER_CHECK: Final = 1000
"""Number of SQLite VM instructions between two checks of a statement."""
MAX_CHECKS: Final = 20
"""Maximum number of checks, about 2 ms, before a statement on the event loop is interrupted.
Instructions are counted instead of time, because on a busy machine every statement takes long."""
LONG_SECONDS: Final = 0.02
"""Seconds after which a run of a statement counts as long. The limit on instructions does not find
full-text searches, which take few but long instructions. The first run is measured by elapsed time,
which is cheap but also grows with other load on the machine. After a long run, the next ones are
measured by CPU time, at the cost of a system call."""
LONG_COUNTS: Final = 8
"""Number that a long run adds to the score of its statement; each other run subtracts one."""
TOO_LONG: Final = 3 * LONG_COUNTS
"""The score of long runs from which a statement goes straight to a thread."""
MAX_SLOW: Final = 1000
"""Maximum number of statements with a remembered score."""


class SqliteReader:
    """A reader of committed data, on the event loop or in threads."""

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
        """Return the rows of one statement."""
        rows = self.fetch_now(sql, *arguments)
        if rows is None:
            return await self._elsewhere(lambda db: db.fetch(sql, *arguments))
        return rows

    def fetch_now(self, sql: str, /, *arguments: Any) -> list[Row] | None:
        """Return the rows of a statement, or None if it takes too long for the event loop."""
        try:
            return run_coroutine(self._on_the_loop().fetch(sql, *arguments))
        except _TooSlowError:
            return None

    def close(self) -> None:
        """Block until reads in progress are done, and close the connections."""
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
        """Run a read in the current thread, a reader thread with its own connection."""
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
    """A statement exceeds the limit on the event loop.

    It is a BaseException, so that a `work` function that handles the exceptions of its statements
    does not catch it.
    """


class _LoopReader:
    """A runner of reads on the event loop, which interrupts slow statements.

    It implements `ReadTransaction`.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._long: dict[str, int] = {}
        """The scores of statements that took long; see `LONG_COUNTS` and `TOO_LONG`."""
        self._looks = 0
        self._reading = False
        connection.set_progress_handler(self._is_over, STEPS_PER_CHECK)

    def run(self, work: ReadWork[T]) -> T:
        """Run `work` in one transaction, and return its result."""
        if self._reading:  # nested read: share the transaction
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
