"""The tables of the system, read from outside: by the drivers of the databases alone."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from typing import Any, Final, Protocol
from urllib.parse import unquote
from uuid import UUID

import asyncpg

Rows = list[dict[str, Any]]


_FAILURES: Final = (
    OSError,
    TimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the first use of a connection that the server has closed
)


class AwayError(Exception):
    """The database does not answer at the moment."""


class Tables(Protocol):
    async def fetch(self, sql: str) -> Rows:
        """Raises AwayError."""

    async def close(self) -> None: ...


class Postgres:
    """Implements `Tables`; connects again after each failure."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: Any = None

    async def fetch(self, sql: str) -> Rows:
        try:
            if self._connection is None:
                # Its own limit: one that is called off while it is made is left open.
                self._connection = await asyncpg.connect(self._url, timeout=5.0)
            async with asyncio.timeout(5.0):
                return [dict(row) for row in await self._connection.fetch(sql)]
        except _FAILURES as error:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.terminate()
            if isinstance(error, (asyncpg.SyntaxOrAccessError, asyncpg.DataError)):
                raise
            raise AwayError(str(error)) from None

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None


class Sqlite:
    """Implements `Tables`."""

    def __init__(self, url: str) -> None:
        self._path = unquote(url.removeprefix("sqlite://"))

    async def fetch(self, sql: str) -> Rows:
        return await asyncio.to_thread(self._fetch, sql)

    async def close(self) -> None:
        """Nothing is kept open."""

    def _fetch(self, sql: str) -> Rows:
        try:
            with closing(sqlite3.connect(self._path, timeout=5.0)) as connection:
                connection.row_factory = sqlite3.Row
                return [dict(row) for row in connection.execute(sql)]
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise AwayError(str(error)) from None


def tables_of(url: str) -> Tables:
    return Sqlite(url) if url.startswith("sqlite") else Postgres(url)


def listed(ids: Iterable[str]) -> str:
    """Ids of runs, as SQL."""
    return "(" + ", ".join(f"'{UUID(id)}'" for id in ids) + ")"
