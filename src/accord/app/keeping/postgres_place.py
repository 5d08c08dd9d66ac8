"""The schema of a PostgreSQL database that a backup is restored to. What is there is moved aside by
another name, never removed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from accord.app.keeping.errors import KeepingError
from accord.store.catalog import (
    CURRENT_SCHEMA,
    FIRST_RELATION,
    OTHER_CONNECTIONS,
    SERVER_MAJOR,
    create_schema,
    drop_schema,
    rename_schema,
)
from accord.store.store import Store, Transaction

LEAVING: Final = (25, 0.2)
"""How often, and after how many seconds, it is looked whether others who just closed are gone."""


class PostgresPlace(Struct, frozen=True):
    """Where the tables are to be."""

    store: Store
    schema: str
    from_major: int
    """The version that the backup was taken from."""

    async def major(self) -> int:
        [row] = await self.store.fetch(SERVER_MAJOR)
        major: int = row["major"]
        return major

    async def check(self, *, force: bool) -> bool:
        """Whether there is something to be moved aside. Raises KeepingError."""
        major = await self.major()
        if major < self.from_major:
            raise KeepingError(
                f"the backup is of PostgreSQL {self.from_major}, and the database is of {major}: "
                "use the same version, or a newer one"
            )
        [row] = await self.store.fetch(CURRENT_SCHEMA)
        if row["schema"] != self.schema:
            raise KeepingError(
                f"the tables of the backup are in the schema {self.schema!r}, and the database "
                f"would look for them in {row['schema']!r}"
            )
        if not await self._alone():
            raise KeepingError("others use the database: stop every server, executor and bridge")
        found = await self.store.fetch(FIRST_RELATION, self.schema)
        if found and not force:
            raise KeepingError(
                f"the database is not empty, there is {found[0]['name']!r}: name another "
                "--database, or have what is there moved aside (--force)"
            )
        return bool(found)

    async def _alone(self) -> bool:
        times, seconds = LEAVING
        for _ in range(times):
            [row] = await self.store.fetch(OTHER_CONNECTIONS)
            if not row["others"]:
                return True
            await asyncio.sleep(seconds)
        return False


@asynccontextmanager
async def emptied(place: PostgresPlace, *, force: bool) -> AsyncIterator[str]:
    """Have an empty schema for as long as it is filled; the name under which that is kept which was
    in it, empty where nothing was. What goes wrong meanwhile puts it back. Raises KeepingError and
    StoreError."""
    if not await place.check(force=force):
        yield ""
        return
    aside = f"before_restore_{datetime.now(UTC):%Y%m%d_%H%M%S_%f}"
    await _run(place.store, rename_schema(place.schema, aside), create_schema(place.schema))
    try:
        yield aside
    except BaseException:
        # It is empty: it was filled in one transaction, which failed.
        await _run(place.store, drop_schema(place.schema), rename_schema(aside, place.schema))
        raise


async def _run(store: Store, *statements: str) -> None:
    async def work(transaction: Transaction) -> None:
        for statement in statements:
            await transaction.execute(statement)

    await store.transact(work)
