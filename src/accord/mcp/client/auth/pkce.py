"""Proof Key for Code Exchange (RFC 7636), and other values that nobody can guess. Pure but for
the randomness."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256
from secrets import token_urlsafe


def unguessable() -> str:
    """256 bits, in the letters that a code verifier may have."""
    return token_urlsafe(32)


def code_challenge(verifier: str) -> str:
    """S256: the only method that does not show the verifier."""
    return base64url(sha256(verifier.encode("ascii")).digest())


def base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
