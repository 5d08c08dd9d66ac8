"""Statements on a connection to PostgreSQL, and what its errors are called here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import asyncpg

from accord.store.errors import ConstraintError, StoreError, UnavailableError
from accord.store.store import Engine, Row
from accord.store.wake import check_channel

FOREIGN: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the first use of a connection that the server has closed
    OSError,  # also TimeoutError
)
"""What the driver raises, and the network."""


class ConflictError(UnavailableError):
    """Two transactions were in each other's way; this one did nothing."""


class PostgresTransaction:
    """Implements `Transaction`."""

    __slots__ = ("_connection",)

    engine: Engine = "postgresql"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def execute(self, sql: str, /, *arguments: Any) -> int:
        try:
            return changed(await self._connection.execute(sql, *arguments))
        except FOREIGN as error:
            raise translation(error) from error

    async def execute_many(self, sql: str, rows: Sequence[Sequence[Any]], /) -> None:
        try:
            await self._connection.executemany(sql, rows)
        except FOREIGN as error:
            raise translation(error) from error

    async def fetch(self, sql: str, /, *arguments: Any) -> list[Row]:
        try:
            rows: list[Row] = await self._connection.fetch(sql, *arguments)
            return rows
        except FOREIGN as error:
            raise translation(error) from error

    async def notify(self, channel: str, /) -> None:
        check_channel(channel)
        await self.execute("SELECT pg_notify($1, '')", channel)


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
            | asyncpg.TooManyConnectionsError()
            | asyncpg.IdleInTransactionSessionTimeoutError()
        ):
            return UnavailableError(f"the database cannot be used: {error}")
        case _:
            return StoreError(str(error))
