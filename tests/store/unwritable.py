"""Databases whose disk is full, or that are read-only, for as long as a block runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Literal, TypeAlias

from accord.store.sqlite import SqliteStore
from accord.store.store import Store, Transaction

Trouble: TypeAlias = Literal["its disk is full", "it is read-only"]
TROUBLES: Final[tuple[Trouble, ...]] = ("its disk is full", "it is read-only")

_STATES: Final = {"its disk is full": "53100", "it is read-only": "25006"}
_FAIL: Final = """
CREATE FUNCTION fails() RETURNS {returns} LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '{state}'; END
$$
"""


@asynccontextmanager
async def unwritable(store: Store, trouble: Trouble, table: str) -> AsyncIterator[None]:
    """Nothing new is written to `table`. PostgreSQL says what it would say on such a disk; SQLite
    finds it out by itself."""
    if isinstance(store, SqliteStore):
        await store.transact(lambda db: _limit(db, trouble))
    else:
        for name, returns in (("fails", "trigger"), ("fails_ddl", "event_trigger")):
            fail = _FAIL.format(returns=returns, state=_STATES[trouble])
            await store.execute(fail.replace("fails()", f"{name}()"))
        await store.execute(
            f"CREATE TRIGGER fails BEFORE INSERT ON {table} EXECUTE FUNCTION fails()"
        )
        await store.execute(
            "CREATE EVENT TRIGGER fails ON ddl_command_start WHEN TAG IN ('CREATE TABLE') "
            "EXECUTE FUNCTION fails_ddl()"
        )
    yield
    if isinstance(store, SqliteStore):
        # A connection that may only read cannot be told otherwise by a transaction.
        connection = store._writer._connection
        connection.execute("PRAGMA query_only = OFF")
        connection.execute("PRAGMA max_page_count = 1000000")
    else:
        await store.execute("DROP EVENT TRIGGER fails")
        await store.execute(f"DROP TRIGGER fails ON {table}")
        await store.execute("DROP FUNCTION fails()")
        await store.execute("DROP FUNCTION fails_ddl()")


async def _limit(db: Transaction, trouble: Trouble) -> None:
    if trouble == "it is read-only":
        await db.fetch("PRAGMA query_only = ON")
        return
    [pages] = await db.fetch("PRAGMA page_count")
    await db.fetch(f"PRAGMA max_page_count = {pages[0]}")
