"""Signatures of webhooks. Pure.

    Accord-Signature: t=1763200000,v1=5257a869…

`v1` is the HMAC-SHA256, in hexadecimal, of the time, a dot and the body, by a secret that both
sides know; there may be several, while a secret is changed. `t` is in seconds since 1970.
"""

from __future__ import annotations

import hmac
import re
from hashlib import sha256
from typing import Final

from msgspec import Struct

HEADER: Final = "accord-signature"
TOLERANCE: Final = 300.0
"""Seconds by which the sender's clock may differ from ours."""

_TIME: Final = re.compile(r"[0-9]{1,12}", re.ASCII)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MOST: Final = 4


class Signature(Struct, frozen=True):
    """What the header of a delivery says."""

    time: int
    digests: tuple[str, ...]


def read_signature(header: str) -> Signature | None:
    """What a header says; None where that is no signature."""
    times: list[int] = []
    digests: list[str] = []
    for part in header[:1_000].split(","):
        name, _, value = part.strip().partition("=")
        if name == "t" and _TIME.fullmatch(value):
            times.append(int(value))
        elif name == "v1" and _DIGEST.fullmatch(value):
            digests.append(value)
    if len(times) != 1 or not 1 <= len(digests) <= _MOST:
        return None
    return Signature(times[0], tuple(digests))


def sign(secret: str, time: int, body: bytes) -> str:
    """The header that a sender sends."""
    return f"t={time},v1={_digest(secret, time, body)}"


def is_genuine(signature: Signature, secret: str, body: bytes, now: float) -> bool:
    """Whether whoever signed a body knows the secret, and did it just now."""
    expected = _digest(secret, signature.time, body)
    # Each is compared in full: how long this takes tells nothing about the secret.
    right = [hmac.compare_digest(expected, digest) for digest in signature.digests]
    return any(right) and is_recent(signature, now)


def is_recent(signature: Signature, now: float) -> bool:
    """Whether the sender signed just now, by its own word."""
    return abs(now - signature.time) <= TOLERANCE


def _digest(secret: str, time: int, body: bytes) -> str:
    return hmac.new(secret.encode(), b"%d." % time + body, sha256).hexdigest()
