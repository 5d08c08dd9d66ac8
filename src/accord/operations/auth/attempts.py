"""Failed authentications: delays after wrong passwords, and their audit records.

Wrong passwords are counted in three ways:

name and address   after 5, the address must wait before its next attempt at the name; the wait
                   doubles with each further wrong password
address            after 20, for any names, the address must wait before its next attempt at any
                   name, in the same way
name               after 5, from any addresses, answers are delayed, by at most two seconds; nobody
                   has to wait, so nobody can lock another user out

`Attempts` counts without I/O; `SignInAttempts` stores the counts, and applies them to one attempt
after another, in a lane of its own, by the clock of the database.

`FailedAttempts` writes audit records and log lines at a bounded rate. In each window of one minute,
the first ten of a kind (operation, reason, adapter, user, address) are recorded one by one, and at
most a thousand of all kinds. Further ones are only counted; at the end of the window one record and
one log line per kind state the number. So a process writes at most some 2,000 records and lines a
minute under any flood, and the number of attempts is still recorded.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from accord.operations.audit.record import AuditSink, Record
from accord.operations.auth.storage import (
    DELETE_FAILURES,
    FIND_FAILURES,
    SET_FAILURES,
    SWEEP_FAILURES,
)
from accord.operations.context import new_id, utc_now
from accord.operations.errors import ServiceUnavailableError
from accord.store.store import DATABASE_CLOCK, Store, Transaction

FREE_ATTEMPTS: Final = 5
"""Wrong passwords without a penalty for one name, from one address or from all."""
FREE_ATTEMPTS_OF_ADDRESS: Final = 20
"""Wrong passwords without a penalty for all names from one address, which many people may share."""
MAX_WAIT: Final = 60.0
MAX_DELAY: Final = 2.0
FORGET_SECONDS: Final = 900.0

AttemptKey: TypeAlias = tuple[str, str, str]
"""The subject that failures are counted for: a name, an address, or a name from an address."""


class SignInDelay(Struct, frozen=True):
    """The decision about one sign-in attempt."""

    wait: float = 0.0
    """If positive, the attempt is refused; seconds until the next one may be made."""
    delay: float = 0.0
    """The seconds by which the answer to an accepted attempt is delayed."""


class FailureCount(Struct, frozen=True):
    """The number of failures and the time of the last one."""

    count: int
    last: float


def attempt_keys(name: str, address: str) -> tuple[AttemptKey, AttemptKey, AttemptKey]:
    """Return the three keys under which an attempt is counted."""
    return ("both", name, address), ("name", name, ""), ("address", "", address)


class Attempts:
    """Counts of wrong passwords in the last 15 minutes; `failures` has those so far."""

    def __init__(self, failures: dict[AttemptKey, FailureCount] | None = None) -> None:
        self.failures = {} if failures is None else failures

    def begin(self, name: str, address: str, now: float) -> SignInDelay:
        """Decide on an attempt, and count it as failed unless it is refused.

        The attempt is counted before its password is verified, so simultaneous attempts count as
        well. If the password is right, call `succeeded`, which resets the count.
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
"""Maximum number of expired failures removed with each attempt."""


class SignInAttempts:
    """Sign-in attempts of all processes, counted in the database.

    `secret` is the key by which stored names are hashed, as a mistyped name may be a password.
    """

    def __init__(self, store: Store, secret: bytes) -> None:
        self._store = store
        self._secret = secret
        self._find = FIND_FAILURES.format(now=DATABASE_CLOCK[store.engine])

    async def begin(self, name: str, address: str) -> SignInDelay:
        """Decide on an attempt, and count it.

        Raises StoreError if the database fails.
        """
        return await self._change(name, address, lambda all, now: all.begin(name, address, now))

    async def succeeded(self, name: str, address: str) -> None:
        """Reset the failures after a correct password.

        Raises StoreError if the database fails.
        """
        await self._change(name, address, lambda all, _now: all.succeeded(name, address))

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


log = logging.getLogger("accord.accounts")

WINDOW_SECONDS: Final = 60.0
MAX_OF_KIND: Final = 10
"""Maximum number of records of one kind in one window."""
MAX_OF_ALL: Final = 1_000
"""Maximum number of records of all kinds in one window."""
MAX_KINDS: Final = 1_000
"""Maximum number of kinds counted separately in one window; others are counted by reason alone."""

_AttemptKind = tuple[str, ...]
"""Operation, reason and, if known, adapter, user, token, target and address of an attempt."""


class _AttemptCount(Struct):
    kept: int = 0
    suppressed: int = 0
    last: Record | None = None
    """The last record that was suppressed."""


class FailedAttempts:
    """A rate-limited writer of failed authentications to the audit trail and the log.

    Each process has one.
    """

    def __init__(
        self,
        trail: AuditSink,
        *,
        window: float = WINDOW_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], str] = utc_now,
        new_id: Callable[[], str] = new_id,
    ) -> None:
        self._trail = trail
        self._window = window
        self._clock = clock
        self._now = now
        self._new_id = new_id
        self._counts: dict[_AttemptKind, _AttemptCount] = {}
        self._kept = 0
        self._ends = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, record: Record) -> None:
        """Write a record, or count it if there are too many or the trail is full.

        Needs a running event loop.
        """
        if self._clock() >= self._ends:
            self.flush()
            self._ends = self._clock() + self._window
        kind: _AttemptKind = (
            *(record.operation, record.error, record.face, record.actor_id, record.token_id),
            *(record.target, record.address),
        )
        if kind not in self._counts and len(self._counts) >= MAX_KINDS:
            kind = (record.operation, record.error)
            record = replace(
                record, address="", client="", actor="", actor_id="", token_id="", target=""
            )
        count = self._counts.setdefault(kind, _AttemptCount())
        if count.kept >= MAX_OF_KIND or self._kept >= MAX_OF_ALL or not self._put(record):
            self._suppress(count, record)
            return
        count.kept += 1
        self._kept += 1
        _log_attempt(record, f"{record.operation} failed: {record.error}")

    def flush(self) -> None:
        """End the window, and report the number of suppressed records."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        counts, self._counts = self._counts, {}
        self._kept, self._ends = 0, 0.0
        for count in counts.values():
            if count.last is not None:
                self._tell(count.last, count.suppressed)

    def _suppress(self, count: _AttemptCount, record: Record) -> None:
        count.suppressed += 1
        count.last = record
        if self._timer is None:
            left = max(self._ends - self._clock(), 0.0)
            self._timer = asyncio.get_running_loop().call_later(left, self.flush)

    def _tell(self, last: Record, suppressed: int) -> None:
        last = replace(last, client="")
        _log_attempt(last, f"{last.operation} failed {suppressed:,} more times: {last.error}")
        target = ", ".join(filter(None, (last.target, f"{suppressed} more")))
        summary = replace(last, id=self._new_id(), time=self._now(), target=target)
        if not self._put(summary):
            log.error("the audit trail has no place for %d failed attempts", suppressed)

    def _put(self, record: Record) -> bool:
        try:
            self._trail.enqueue(record)
        except ServiceUnavailableError:  # the queue of the trail is full
            return False
        return True


def _log_attempt(record: Record, message: str) -> None:
    log.warning(
        "%s",
        f"{message} ({record.target})" if record.target else message,
        extra={
            "operation": record.operation,
            "outcome": record.outcome,
            "user": record.actor,
            "face": record.face,
            "client": record.client,
            "address": record.address,
            "correlation_id": record.correlation_id,
        },
    )
