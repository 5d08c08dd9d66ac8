"""Reads one SQLite file, while others write to it.

Going to a thread and back costs seven times as much as a row found by its key (61 µs and 8 µs). So
a read is begun right here, on the event loop, with a limit to what each of its statements may
take; one that takes more is stopped, and the read is run again in a thread. Statements that took
more once go to the thread at once from then on. A read of a snapshot is always run in a thread.
Here and there, all statements of a read see one state: a transaction for all of them also costs
less than one for each.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, Final, TypeVar

from accord.store.sqlite_connection import (
    SqliteTransaction,
    bound,
    connect,
    driven,
    is_busy,
    translated,
    translation,
)
from accord.store.store import ReadWork, Row

T = TypeVar("T")

THREADS: Final = 2
STEPS: Final = 1000
"""Instructions of SQLite between two looks at what a statement does."""
MOST_STEPS: Final = 20
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


class Reader:
    """Reads what is committed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._here: _Here | None = None
        self._local = threading.local()
        self._threads = ThreadPoolExecutor(THREADS, "accord-store-reader")
        self._connections: list[sqlite3.Connection] = []

    async def read(self, work: ReadWork[T], *, snapshot: bool) -> T:
        if not snapshot:
            try:
                return self._on_the_loop().run(work)
            except _TooSlow:
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
            return driven(self._on_the_loop().fetch(sql, *arguments))
        except _TooSlow:
            return None

    def close(self) -> None:
        """Finish what is being read; blocks until that is done."""
        self._threads.shutdown()
        for connection in self._connections:
            connection.close()

    def _on_the_loop(self) -> _Here:
        if self._here is None:
            self._here = _Here(self._connect(wait=0.0))
        return self._here

    async def _elsewhere(self, work: ReadWork[T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._read_there, work)

    def _read_there(self, work: ReadWork[T]) -> T:
        """Called in a thread that reads."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        with translated():
            connection.execute("BEGIN")
        try:
            return driven(work(SqliteTransaction(connection)))
        finally:
            connection.execute("ROLLBACK")

    def _connect(self, *, wait: float | None = None) -> sqlite3.Connection:
        with translated():
            connection = connect(self._path, durable=False, wait=wait)
            connection.execute("PRAGMA query_only = ON")
        self._connections.append(connection)
        return connection


class _TooSlow(BaseException):
    """A statement takes more than it may on the event loop. Not an Exception, so that a function
    that handles those of its statements does not handle this."""


class _Here:
    """Statements on the event loop, with a limit; implements `Reading`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._long: dict[str, int] = {}
        """What counts against statements that took long."""
        self._looks = 0
        self._reading = False
        connection.set_progress_handler(self._is_over, STEPS)

    def run(self, work: ReadWork[T]) -> T:
        """The result of a read of one state."""
        if self._reading:  # a read within another sees the same
            return driven(work(self))
        self._reading = True
        try:
            self._execute("BEGIN")
            return driven(work(self))
        finally:
            self._reading = False
            if self._connection.in_transaction:
                self._execute("ROLLBACK")

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        counts = self._long.get(sql, 0)
        if counts >= TOO_LONG:
            raise _TooSlow
        self._looks = 0
        clock = thread_time if counts else perf_counter
        begun = clock()
        try:
            rows = self._connection.execute(sql, bound(arguments)).fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                self._remember(sql, TOO_LONG)
            elif not is_busy(error):
                raise translation(error) from error
            raise _TooSlow from None
        except sqlite3.Error as error:
            raise translation(error) from error
        if clock() - begun > LONG_SECONDS:
            self._remember(sql, counts + LONG_COUNTS)
        elif counts:
            self._remember(sql, counts - 1)
        return rows

    def _execute(self, sql: str) -> None:
        try:
            self._connection.execute(sql)
        except sqlite3.Error as error:
            raise translation(error) from error

    def _is_over(self) -> bool:
        self._looks += 1
        return self._looks > MOST_STEPS

    def _remember(self, sql: str, counts: int) -> None:
        if len(self._long) >= MAX_SLOW:
            self._long.clear()
        self._long[sql] = counts
