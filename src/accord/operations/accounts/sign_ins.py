"""Wrong passwords, counted in the database: for all processes that use it together, by its clock.

What `Attempts` decides is decided for one attempt after the other, in a lane of its own. Each one
removes a few failures that are forgotten, so that nothing else has to.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from hashlib import sha256
from typing import Final, TypeVar

from accord.operations.accounts.attempts import (
    FORGET_SECONDS,
    Attempts,
    Failures,
    Key,
    Pace,
    keys_of,
)
from accord.store.clock import NOW
from accord.store.store import Store, Transaction

T = TypeVar("T")

LANE: Final = "sign-ins"
SWEPT: Final = 20
"""Expired failures removed with each attempt, at most."""

FIND: Final = """
SELECT {now} AS now, f.key, f.count, f.last
FROM (SELECT 1 AS one) AS always LEFT JOIN sign_in_failures f ON f.key IN ($1, $2, $3)
"""
KEEP: Final = """
INSERT INTO sign_in_failures (key, count, last) VALUES ($1, $2, $3)
ON CONFLICT (key) DO UPDATE SET count = excluded.count, last = excluded.last
"""
REMOVE: Final = "DELETE FROM sign_in_failures WHERE key = $1"
SWEEP: Final = """
DELETE FROM sign_in_failures
WHERE key IN (SELECT key FROM sign_in_failures WHERE last < $1 ORDER BY last LIMIT $2)
"""


class SignIns:
    """Sign-in attempts of all processes, counted in the database.

    `secret` hides names, as a mistyped name may be a password.
    """

    def __init__(self, store: Store, secret: bytes) -> None:
        self._store = store
        self._secret = secret
        self._find = FIND.format(now=NOW[store.engine])

    async def begin(self, name: str, address: str) -> Pace:
        """Decide on an attempt, and count it.

        Raises StoreError.
        """
        return await self._change(name, address, lambda all, now: all.begin(name, address, now))

    async def succeeded(self, name: str, address: str) -> None:
        """Reset the failures after a correct password.

        Raises StoreError.
        """
        await self._change(name, address, lambda all, now: all.succeeded(name, address))

    async def _change(self, name: str, address: str, change: Callable[[Attempts, float], T]) -> T:
        keys = {self._hidden(key): key for key in keys_of(name, address)}

        async def work(db: Transaction) -> T:
            rows = await db.fetch(self._find, *keys)
            now: float = rows[0]["now"]
            known = {
                keys[row["key"]]: Failures(row["count"], row["last"])
                for row in rows
                if row["key"] is not None
            }
            attempts = Attempts(dict(known))
            result = change(attempts, now)
            for hidden, key in keys.items():
                failures = attempts.failures.get(key)
                if failures is None:
                    await db.execute(REMOVE, hidden)
                elif failures != known.get(key):
                    await db.execute(KEEP, hidden, failures.count, failures.last)
            await db.execute(SWEEP, now - FORGET_SECONDS, SWEPT)
            return result

        return await self._store.transact(work, lane=LANE)

    def _hidden(self, key: Key) -> str:
        return hmac.digest(self._secret, "\0".join(key).encode(), sha256).hex()
