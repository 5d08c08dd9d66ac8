"""Passwords that are guessed first, as they were found in leaks; kept as digests in order.

It must not know whose password it is asked about.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

FILE: Final = "common_passwords.bin"
SIZE: Final = 5
"""Bytes of each digest: one in eighty million other passwords is refused by chance."""


def digest(password: str) -> bytes:
    """Return the digest of a password, ignoring letter case."""
    return sha256(password.casefold().encode(errors="replace")).digest()[:SIZE]


def is_common(password: str) -> bool:
    """Return True for a password from the list of leaked ones."""
    kept = _kept()
    wanted = digest(password)
    place = bisect_left(kept, wanted)
    return place < len(kept) and kept[place] == wanted


@cache
def _kept() -> list[bytes]:
    raw = (files("accord.operations.accounts") / FILE).read_bytes()
    return [raw[at : at + SIZE] for at in range(0, len(raw), SIZE)]
