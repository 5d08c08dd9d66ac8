"""Revocation of callers whose access outlives a request, such as streams."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from accord.operations.auth.storage import INACTIVE_USERS, REVOKED_TOKENS
from accord.operations.context import Caller, Database

MAX_IDS: Final = 500
"""Ids in one statement, at most."""


class RevokedCallers:
    """Revoked tokens and deactivated users."""

    def __init__(self, ids: frozenset[str]) -> None:
        self._ids = ids

    def __contains__(self, caller: Caller | None) -> bool:
        return caller is not None and not self._ids.isdisjoint((caller.token_id, caller.user_id))


async def find_revoked(db: Database, callers: Iterable[Caller | None]) -> RevokedCallers:
    """Return the callers among `callers` that are revoked or deactivated."""
    known = [caller for caller in callers if caller is not None]
    tokens = await _among(db, REVOKED_TOKENS, {each.token_id for each in known if each.token_id})
    people = await _among(db, INACTIVE_USERS, {each.user_id for each in known if each.user_id})
    return RevokedCallers(frozenset(tokens | people))


async def _among(db: Database, statement: str, ids: set[str]) -> set[str]:
    every, found = sorted(ids), set[str]()
    for start in range(0, len(every), MAX_IDS):
        some = every[start : start + MAX_IDS]
        places = ", ".join(f"${place}" for place in range(1, len(some) + 1))
        found |= {row["id"] for row in await db.fetch(statement.format(places=places), *some)}
    return found
