"""What a database says about itself, for its manifest."""

from __future__ import annotations

from msgspec import Struct

from accord.app.keeping.errors import KeepingError
from accord.operations.accounts.server_key import stored_fingerprint
from accord.store.migrations import ALL_APPLIED, EXISTS
from accord.store.store import Engine, Reading, UnavailableError


class Facts(Struct, frozen=True):
    """What it says."""

    migrations: dict[str, dict[int, str]]
    key_fingerprint: str


async def facts(db: Reading, engine: Engine) -> Facts:
    """Raises KeepingError where it is no database of ours, and StoreError."""
    if not await db.fetch(EXISTS[engine]):
        raise KeepingError("the database is empty: there is nothing to back up")
    found: dict[str, dict[int, str]] = {}
    for row in await db.fetch(ALL_APPLIED):
        found.setdefault(row["part"], {})[row["number"]] = row["name"]
    if "operations" not in found:
        raise KeepingError("the database is none of Accord: there is nothing to back up")
    fingerprint = await stored_fingerprint(db)
    if fingerprint is None:
        raise UnavailableError("the database is just being made: try again in a moment")
    return Facts(found, fingerprint)
