"""Who was let in before and may not call any more, for what goes on after a request was let in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from accord.operations.accounts.storage.tokens import REVOKED_AMONG
from accord.operations.accounts.storage.users import INACTIVE_AMONG
from accord.operations.caller import Caller
from accord.operations.work import Database

MOST: Final = 500
"""Ids in one statement, at most."""


class Barred:
    """Revoked tokens and deactivated users."""

    def __init__(self, ids: frozenset[str]) -> None:
        self._ids = ids

    def __contains__(self, caller: Caller | None) -> bool:
        return caller is not None and not self._ids.isdisjoint((caller.token_id, caller.user_id))


async def barred(db: Database, callers: Iterable[Caller | None]) -> Barred:
    """Return the callers among `callers` that are revoked or deactivated."""
    known = [caller for caller in callers if caller is not None]
    tokens = await _among(db, REVOKED_AMONG, {each.token_id for each in known if each.token_id})
    people = await _among(db, INACTIVE_AMONG, {each.user_id for each in known if each.user_id})
    return Barred(frozenset(tokens | people))


async def _among(db: Database, statement: str, ids: set[str]) -> set[str]:
    every, found = sorted(ids), set[str]()
    for start in range(0, len(every), MOST):
        some = every[start : start + MOST]
        places = ", ".join(f"${place}" for place in range(1, len(some) + 1))
        found |= {row["id"] for row in await db.fetch(statement.format(places=places), *some)}
    return found
