"""New ids, and the current time in its stored form; cheap, as each call needs several.

Random bytes are read from the system in batches, since each read is a system call; a forked process
reads new ones.
"""

from __future__ import annotations

import os
import time
from threading import Lock
from typing import Final

_AT_ONCE: Final = 4096


class _Randomness:
    """Cryptographically random bytes, each used once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.forget()
        if hasattr(os, "register_at_fork"):  # only POSIX systems have it, and fork
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        self._lock = Lock()
        self._bytes = b""
        self._place = 0

    def take(self, count: int) -> bytes:
        with self._lock:
            place = self._place
            if place + count > len(self._bytes):
                self._bytes = os.urandom(_AT_ONCE)
                place = 0
            self._place = place + count
            return self._bytes[place : place + count]


_randomness: Final = _Randomness()


def random_hex(count: int) -> str:
    """Return random bytes in hexadecimal. Not for secrets, which are read one by one."""
    return _randomness.take(count).hex()


def new_correlation_id() -> str:
    """Return a correlation id for a request whose client sent none."""
    return random_hex(16)


def new_id() -> str:
    """Return a UUID of a time and 62 random bits (RFC 9562, version 7, method 3).

    Rows that are made together are neighbours in an index, so fewer pages are written.
    """
    nanoseconds = time.time_ns()
    milliseconds, rest = divmod(nanoseconds, 1_000_000)
    made = f"{milliseconds:012x}{rest * 4096 // 1_000_000:03x}"
    digits = _randomness.take(8).hex()
    variant = "89ab"[int(digits[0], 16) & 3]
    return f"{made[:8]}-{made[8:12]}-7{made[12:]}-{variant}{digits[1:4]}-{digits[4:]}"


_second: tuple[int, str] = (-1, "")


def utc_now() -> str:
    """Return the time in its stored form: UTC with microseconds, in a fixed width."""
    global _second
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    known, text = _second
    if known != seconds:
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        _second = (seconds, text)
    return f"{text}.{nanoseconds // 1000:06d}Z"
