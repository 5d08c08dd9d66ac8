"""Connections to one SQLite file, statements on them, and what their errors are called here."""

from __future__ import annotations

import sqlite3
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from accord.store.errors import (
    ConstraintError,
    StoreError,
    UnavailableError,
    UnwritableError,
)
from accord.store.store import Engine, Row
from accord.store.wake import check_channel
from accord.store.writing import DISK_FAILS, FULL, READ_ONLY

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
            return max(self._connection.execute(sql, bound(arguments)).rowcount, 0)
        except sqlite3.Error as error:
            raise translation(error) from error

    async def execute_later(self, sql: str, /, *arguments: Any) -> None:
        await self.execute(sql, *arguments)

    async def execute_many(self, sql: str, rows: Sequence[Sequence[Any]], /) -> None:
        try:
            self._connection.executemany(sql, [bound(row) for row in rows])
        except sqlite3.Error as error:
            raise translation(error) from error

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        try:
            return self._connection.execute(sql, bound(arguments)).fetchall()
        except sqlite3.Error as error:
            raise translation(error) from error

    async def notify(self, channel: str, /) -> None:
        check_channel(channel)
        self.channels[channel] = None


def driven(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing but the statements of its transaction,
    which never take their time."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise StoreError("a transaction waits for nothing but its own statements")


def bound(arguments: Sequence[Any]) -> dict[str, Any]:
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
def translated() -> Iterator[None]:
    """Turns the errors of SQLite into ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise translation(error) from error


def translation(error: sqlite3.Error) -> StoreError:
    if isinstance(error, sqlite3.IntegrityError):
        return ConstraintError(str(error))
    if is_busy(error):
        return UnavailableError(str(error))
    reason = _UNWRITABLE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    if reason is not None:
        return UnwritableError(str(error), reason)
    if str(error) == "no such module: fts5":
        return StoreError(
            f"SQLite {sqlite3.sqlite_version} of this Python has no full text search (FTS5): use "
            "another build of Python, or PostgreSQL"
        )
    return StoreError(str(error))


def is_busy(error: sqlite3.Error) -> bool:
    """Whether somebody else has what is needed, or the file cannot be opened."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY
