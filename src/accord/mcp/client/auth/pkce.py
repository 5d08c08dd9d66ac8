"""Proof Key for Code Exchange (RFC 7636), and other values that nobody can guess. Pure but for
the randomness."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256
from secrets import token_urlsafe


def unguessable() -> str:
    """Return 256 random bits, in the alphabet of code verifiers."""
    return token_urlsafe(32)


def code_challenge(verifier: str) -> str:
    """Return the S256 challenge, the only method that does not reveal the verifier."""
    return base64url(sha256(verifier.encode("ascii")).digest())


def base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
