"""Sign-in attempts: delays after wrong passwords, counted in the database for all processes.

After five wrong passwords for one name from one address, that address waits before its next attempt
at that name, twice as long after each further one; the same holds, later, for an address that tries
many names. Wrong passwords for a name from all addresses together only delay answers by a second or
two, so nobody can lock somebody else out.

`Attempts` is pure; `SignInAttempts` applies it to one attempt after another, in a lane of its own,
by the clock of the database.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from hashlib import sha256
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct

from accord.operations.auth.storage import (
    DELETE_FAILURES,
    FIND_FAILURES,
    SET_FAILURES,
    SWEEP_FAILURES,
)
from accord.store.store import DATABASE_CLOCK, Store, Transaction

FREE_ATTEMPTS: Final = 5
"""Wrong passwords without a penalty, for one name from one address, or for one name."""
FREE_ATTEMPTS_OF_ADDRESS: Final = 20
"""Wrong passwords without a penalty for one address and all names: many people may share an
address."""
MAX_WAIT: Final = 60.0
MAX_DELAY: Final = 2.0
FORGET_SECONDS: Final = 900.0

AttemptKey: TypeAlias = tuple[str, str, str]
"""The subject that failures are counted for: a name, an address, or a name from an address."""


class SignInDelay(Struct, frozen=True):
    """The decision about one sign-in attempt."""

    wait: float = 0.0
    """Refuse the attempt; retry after this many seconds."""
    delay: float = 0.0
    """Delay the answer by this many seconds."""


class FailureCount(Struct, frozen=True):
    """The number of failures and the time of the last one."""

    count: int
    last: float


def attempt_keys(name: str, address: str) -> tuple[AttemptKey, AttemptKey, AttemptKey]:
    """Return the keys that an attempt is counted under."""
    return ("both", name, address), ("name", name, ""), ("address", "", address)


class Attempts:
    """Wrong passwords of the last 15 minutes; `failures` are the known ones."""

    def __init__(self, failures: dict[AttemptKey, FailureCount] | None = None) -> None:
        self.failures = {} if failures is None else failures

    def begin(self, name: str, address: str, now: float) -> SignInDelay:
        """Decide on an attempt, and count it as failed unless it is refused.

        A successful attempt is uncounted later, so simultaneous attempts are counted too.
        """
        pair, of_name, of_address = attempt_keys(name, address)
        wait = max(
            self._wait(pair, FREE_ATTEMPTS, now),
            self._wait(of_address, FREE_ATTEMPTS_OF_ADDRESS, now),
        )
        if wait > 0:
            return SignInDelay(wait=wait)
        beyond = self._count(of_name, now) - FREE_ATTEMPTS
        for key in (pair, of_name, of_address):
            self._add(key, now)
        return SignInDelay(
            delay=min(0.125 * 2.0 ** min(beyond, 10), MAX_DELAY) if beyond >= 0 else 0.0
        )

    def succeeded(self, name: str, address: str) -> None:
        """Reset the failures of this name from this address."""
        pair, of_name, of_address = attempt_keys(name, address)
        self.failures.pop(pair, None)
        for key in (of_name, of_address):
            failures = self.failures.get(key)
            if failures is not None:
                self.failures[key] = FailureCount(failures.count - 1, failures.last)

    def _count(self, key: AttemptKey, now: float) -> int:
        failures = self.failures.get(key)
        if failures is None or now - failures.last > FORGET_SECONDS:
            return 0
        return failures.count

    def _wait(self, key: AttemptKey, free: int, now: float) -> float:
        count = self._count(key, now)
        if count < free:
            return 0.0
        pause = min(2.0 ** min(count - free, 10), MAX_WAIT)
        return self.failures[key].last + pause - now

    def _add(self, key: AttemptKey, now: float) -> None:
        count = self._count(key, now)
        self.failures[key] = FailureCount(count + 1, now)


T = TypeVar("T")

SIGN_IN_LANE: Final = "sign-ins"
MAX_SWEPT: Final = 20
"""Expired failures removed with each attempt, at most."""


class SignInAttempts:
    """Sign-in attempts of all processes, counted in the database.

    `secret` hides names, as a mistyped name may be a password.
    """

    def __init__(self, store: Store, secret: bytes) -> None:
        self._store = store
        self._secret = secret
        self._find = FIND_FAILURES.format(now=DATABASE_CLOCK[store.engine])

    async def begin(self, name: str, address: str) -> SignInDelay:
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
        keys = {self._hidden(key): key for key in attempt_keys(name, address)}

        async def work(db: Transaction) -> T:
            rows = await db.fetch(self._find, *keys)
            now: float = rows[0]["now"]
            known = {
                keys[row["key"]]: FailureCount(row["count"], row["last"])
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
            await db.execute(SWEEP_FAILURES, now - FORGET_SECONDS, MAX_SWEPT)
            return result

        return await self._store.transact(work, lane=SIGN_IN_LANE)

    def _hidden(self, key: AttemptKey) -> str:
        return hmac.digest(self._secret, "\0".join(key).encode(), sha256).hex()
