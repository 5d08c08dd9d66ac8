"""How fast somebody may guess passwords. Pure: the time comes in as an argument.

Five wrong passwords for one name from one address, and that address waits before it may try that
name again, twice as long after each; so it is, later, for an address that tries many names. Wrong
passwords for a name from everywhere only make every answer slow: whoever tries to keep somebody
out by failing in their name delays them by a second or two and no more.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct

FREE: Final = 5
"""Wrong passwords without a penalty, for one name from one address, or for one name."""
FREE_OF_ADDRESS: Final = 20
"""Wrong passwords without a penalty for one address and all names: many people may share an
address."""
MAX_WAIT: Final = 60.0
MAX_DELAY: Final = 2.0
FORGET_SECONDS: Final = 900.0

Key: TypeAlias = tuple[str, str, str]
"""The subject that failures are counted for: a name, an address, or a name from an address."""


class Pace(Struct, frozen=True):
    """The decision about one sign-in attempt."""

    wait: float = 0.0
    """Refuse the attempt; retry after this many seconds."""
    delay: float = 0.0
    """Delay the answer by this many seconds."""


class Failures(Struct, frozen=True):
    """The number of failures and the time of the last one."""

    count: int
    last: float


def keys_of(name: str, address: str) -> tuple[Key, Key, Key]:
    """Return the keys that an attempt is counted under."""
    return ("both", name, address), ("name", name, ""), ("address", "", address)


class Attempts:
    """Wrong passwords of the last 15 minutes; `failures` are the known ones."""

    def __init__(self, failures: dict[Key, Failures] | None = None) -> None:
        self.failures = {} if failures is None else failures

    def begin(self, name: str, address: str, now: float) -> Pace:
        """Decide on an attempt, and count it as failed unless it is refused.

        A successful attempt is uncounted later, so simultaneous attempts are counted too.
        """
        pair, of_name, of_address = keys_of(name, address)
        wait = max(self._wait(pair, FREE, now), self._wait(of_address, FREE_OF_ADDRESS, now))
        if wait > 0:
            return Pace(wait=wait)
        beyond = self._count(of_name, now) - FREE
        for key in (pair, of_name, of_address):
            self._add(key, now)
        return Pace(delay=min(0.125 * 2.0 ** min(beyond, 10), MAX_DELAY) if beyond >= 0 else 0.0)

    def succeeded(self, name: str, address: str) -> None:
        """Reset the failures of this name from this address."""
        pair, of_name, of_address = keys_of(name, address)
        self.failures.pop(pair, None)
        for key in (of_name, of_address):
            failures = self.failures.get(key)
            if failures is not None:
                self.failures[key] = Failures(failures.count - 1, failures.last)

    def _count(self, key: Key, now: float) -> int:
        failures = self.failures.get(key)
        if failures is None or now - failures.last > FORGET_SECONDS:
            return 0
        return failures.count

    def _wait(self, key: Key, free: int, now: float) -> float:
        count = self._count(key, now)
        if count < free:
            return 0.0
        pause = min(2.0 ** min(count - free, 10), MAX_WAIT)
        return self.failures[key].last + pause - now

    def _add(self, key: Key, now: float) -> None:
        count = self._count(key, now)
        self.failures[key] = Failures(count + 1, now)
