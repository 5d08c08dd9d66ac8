"""Passwords: Argon2id, in a few threads of its own.

Each hash takes 19 MiB and tens of milliseconds on purpose. The number of hashes that are computed
at once, and of those that wait, is limited, so that sign-in attempts cannot exhaust the machine.
"""

from __future__ import annotations

import asyncio
import secrets
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from accord.operations.errors import ServiceUnavailableError

if TYPE_CHECKING:
    from argon2 import PasswordHasher


# RFC 9106, section 4, allows trading memory for time; these are the parameters of OWASP's password
# storage cheat sheet.
MEMORY_KIB: Final = 19 * 1024
TIME_COST: Final = 2
PARALLELISM: Final = 1
SALT_BYTES: Final = 16
HASH_BYTES: Final = 32

THREADS: Final = 2
MAX_WAITING: Final = 64

_ALPHABET: Final = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""The characters of random passwords, without those that are easily confused."""


class Passwords:
    """Hashes and verifies passwords, in threads."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._waiting = 0

    @cached_property
    def _hasher(self) -> PasswordHasher:
        # Imported lazily: argon2 is an extra, and commands without passwords work without it.
        from argon2 import PasswordHasher, Type

        return PasswordHasher(
            time_cost=TIME_COST,
            memory_cost=MEMORY_KIB,
            parallelism=PARALLELISM,
            hash_len=HASH_BYTES,
            salt_len=SALT_BYTES,
            type=Type.ID,
        )

    async def hash(self, password: str) -> str:
        """Return the hash of a password, to be stored.

        Raises ServiceUnavailableError while too many hashes wait.
        """
        hashed: str = await self._run(partial(self._hasher.hash, password))
        return hashed

    async def verify(self, password: str, hashed: str) -> bool:
        """Return True if `hashed` belongs to this password.

        An empty hash (an unknown user) never matches, and takes just as long to verify. Raises
        ServiceUnavailableError while too many hashes wait.
        """
        verified: bool = await self._run(
            partial(self._verify, password, hashed or _unmatchable_hash())
        )
        return verified

    def is_outdated(self, hashed: str) -> bool:
        """Return True for a hash that was not made with the current parameters."""
        return self._hasher.check_needs_rehash(hashed)

    def close(self) -> None:
        """Shut down the threads."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None

    def _verify(self, password: str, hashed: str) -> bool:
        from argon2.exceptions import Argon2Error, InvalidHashError

        try:
            return self._hasher.verify(hashed, password)
        except (Argon2Error, InvalidHashError):
            return False

    async def _run(self, work: partial[Any]) -> Any:
        if self._waiting >= MAX_WAITING:
            raise ServiceUnavailableError("too many sign in at once: try again in a moment")
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, "accord-passwords")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._waiting -= 1


def random_password() -> str:
    """Return a random password: 20 characters, about 115 bits."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(20))


def _unmatchable_hash() -> str:
    """Return a hash that no password has, with the current parameters."""
    salt, digest = (
        b64encode(secrets.token_bytes(size)).decode().rstrip("=")
        for size in (SALT_BYTES, HASH_BYTES)
    )
    return f"$argon2id$v=19$m={MEMORY_KIB},t={TIME_COST},p={PARALLELISM}${salt}${digest}"
