"""New ids, and the time as it is stored: asked for several times in every call, so made cheaply.

Random bytes are taken from the system many at a time, since each time is a system call; a process
that was forked takes new ones.
"""

from __future__ import annotations

import os
import time
from threading import Lock
from typing import Final

_AT_ONCE: Final = 4096


class _Randomness:
    """Bytes that nobody can guess, each given once."""

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
    """So many random bytes, in hexadecimal. Not for secrets, which are taken one by one."""
    return _randomness.take(count).hex()


def new_correlation_id() -> str:
    """Return a correlation id for a request whose client sent none."""
    return random_hex(16)


def new_id() -> str:
    """A UUID that begins with the time and ends with 62 random bits (RFC 9562, version 7, method
    3): what is made together stands together in an index, of which fewer pages are written."""
    nanoseconds = time.time_ns()
    milliseconds, rest = divmod(nanoseconds, 1_000_000)
    made = f"{milliseconds:012x}{rest * 4096 // 1_000_000:03x}"
    digits = _randomness.take(8).hex()
    variant = "89ab"[int(digits[0], 16) & 3]
    return f"{made[:8]}-{made[8:12]}-7{made[12:]}-{variant}{digits[1:4]}-{digits[4:]}"


_second: tuple[int, str] = (-1, "")


def utc_now() -> str:
    """The time as it is stored: UTC with microseconds, text of one width."""
    global _second
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    known, text = _second
    if known != seconds:
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        _second = (seconds, text)
    return f"{text}.{nanoseconds // 1000:06d}Z"
