"""The database of an installation, only to read.

A store makes files beside a SQLite database, which would belong to whoever looks; here the file is
opened so that nothing can be written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, unquote, urlsplit

from accord.app.settings import Settings
from accord.store import StoreError, open_store
from accord.store.errors import UnavailableError
from accord.store.migrations import APPLIED, EXISTS
from accord.store.store import Engine, Row


class Readable(Protocol):
    """What stores and files have in common."""

    engine: Engine

    async def applied(self, part: str) -> dict[int, str]:
        """The numbers and names of the migrations of a part that have been run."""

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        """The rows that one statement gives. Raises StoreError."""


class SqliteFile:
    """A file of SQLite; implements `Readable`."""

    engine: Engine = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        connection.row_factory = sqlite3.Row
        self._connection = connection

    async def applied(self, part: str) -> dict[int, str]:
        if not await self.fetch(EXISTS[self.engine]):
            return {}
        return {row["number"]: row["name"] for row in await self.fetch(APPLIED, part)}

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        given = {str(number): value for number, value in enumerate(arguments, 1)}
        try:
            return [dict(row) for row in self._connection.execute(sql, given)]
        except sqlite3.OperationalError as error:
            raise UnavailableError(str(error)) from None
        except sqlite3.DatabaseError as error:
            raise StoreError(str(error)) from None


def file_of(settings: Settings) -> Path:
    """Where the file of SQLite is."""
    return Path(unquote(urlsplit(settings.database_url).path))


@contextmanager
def open_file(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that cannot write. Raises sqlite3.Error."""
    with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
        yield connection


@asynccontextmanager
async def open_readable(settings: Settings) -> AsyncIterator[Readable]:
    """Raises StoreError, and ValueError for a URL of no database."""
    if settings.database_url.startswith("sqlite:"):
        try:
            with open_file(file_of(settings)) as connection:
                yield SqliteFile(connection)
        except sqlite3.Error as error:
            raise UnavailableError(str(error)) from None
        return
    async with open_store(settings.database_url) as store:
        yield store
