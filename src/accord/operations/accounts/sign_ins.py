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
from accord.operations.accounts.storage.login_sessions import (
    DELETE_FAILURES,
    FIND_FAILURES,
    SET_FAILURES,
    SWEEP_FAILURES,
)
from accord.store.store import NOW, Store, Transaction

T = TypeVar("T")

LANE: Final = "sign-ins"
SWEPT: Final = 20
"""Expired failures removed with each attempt, at most."""


class SignIns:
    """Sign-in attempts of all processes, counted in the database.

    `secret` hides names, as a mistyped name may be a password.
    """

    def __init__(self, store: Store, secret: bytes) -> None:
        self._store = store
        self._secret = secret
        self._find = FIND_FAILURES.format(now=NOW[store.engine])

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
                    await db.execute(DELETE_FAILURES, hidden)
                elif failures != known.get(key):
                    await db.execute(SET_FAILURES, hidden, failures.count, failures.last)
            await db.execute(SWEEP_FAILURES, now - FORGET_SECONDS, SWEPT)
            return result

        return await self._store.transact(work, lane=LANE)

    def _hidden(self, key: Key) -> str:
        return hmac.digest(self._secret, "\0".join(key).encode(), sha256).hex()
