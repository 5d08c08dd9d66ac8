"""Statements on a connection to PostgreSQL, and what its errors are called here.

Each is a round trip. Those of `execute_later` that come together make one statement, of common
table expressions: they see the same state, and constraints are checked when all are done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final

import asyncpg

from accord.store.errors import (
    ConstraintError,
    StoreError,
    UnavailableError,
    UnwritableError,
)
from accord.store.store import Engine, Row
from accord.store.wake import check_channel
from accord.store.writing import DISK_FAILS, FULL, READ_ONLY

FOREIGN: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the first use of a connection that the server has closed
    OSError,  # also TimeoutError
)
"""What the driver raises, and the network."""
_PARAMETER: Final = re.compile(r"\$([0-9]+)")


class ConflictError(UnavailableError):
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
                together(tuple((sql, len(arguments)) for sql, arguments in later)),
                *[each for _, arguments in later for each in arguments],
            )

    async def execute(self, sql: str, /, *arguments: Any) -> int:
        if self._later:
            await self.finish()
        try:
            return changed(await self._connection.execute(sql, *arguments))
        except FOREIGN as error:
            raise translation(error) from error

    async def execute_later(self, sql: str, /, *arguments: Any) -> None:
        if any(sql == other for other, _ in self._later):
            await self.finish()  # what is said twice keeps its order
        self._later.append((sql, arguments))

    async def execute_many(self, sql: str, rows: Sequence[Sequence[Any]], /) -> None:
        if self._later:
            await self.finish()
        try:
            await self._connection.executemany(sql, rows)
        except FOREIGN as error:
            raise translation(error) from error

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        if self._later:
            await self.finish()
        try:
            rows: list[Row] = await self._connection.fetch(sql, *arguments)
            return rows
        except FOREIGN as error:
            raise translation(error) from error

    async def notify(self, channel: str, /) -> None:
        check_channel(channel)
        await self.execute("SELECT pg_notify($1, '')", channel)


@lru_cache(256)
def together(statements: tuple[tuple[str, int], ...]) -> str:
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


def changed(status: str) -> int:
    """How many rows a statement changed, as its status ends: `UPDATE 3`."""
    count = status.rpartition(" ")[2]
    return int(count) if count.isdecimal() else 0


@contextmanager
def translated() -> Iterator[None]:
    """Turns the errors of the database and of its driver into ours."""
    try:
        yield
    except FOREIGN as error:
        raise translation(error) from error


def translation(error: Exception) -> StoreError:
    """What one of the foreign errors is called here."""
    match error:
        case asyncpg.SerializationError() | asyncpg.DeadlockDetectedError():
            return ConflictError(str(error))
        case asyncpg.IntegrityConstraintViolationError():
            return ConstraintError(str(error))
        case asyncpg.DiskFullError():
            return UnwritableError(str(error), FULL)
        case asyncpg.ReadOnlySQLTransactionError():
            return UnwritableError(str(error), READ_ONLY)
        case asyncpg.PostgresIOError():
            return UnwritableError(str(error), DISK_FAILS)
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
            return UnavailableError(f"the database cannot be used: {error}")
        case _:
            return StoreError(str(error))
