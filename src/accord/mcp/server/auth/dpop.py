"""Proofs that a client has the key which its token is bound to (RFC 9449)."""

from __future__ import annotations

import hmac
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final

from msgspec import UNSET

from accord.mcp.server.auth.credentials import MAX_TOKEN
from accord.mcp.server.auth.places import canonical
from accord.mcp.server.auth.signatures import (
    ALGORITHMS,
    base64url,
    read_header,
    read_key,
    read_signed,
)

WINDOW_SECONDS: Final = 60.0
"""How far from now, either way, a proof may say that it was made."""
MAX_SEEN: Final = 100_000
"""How many proofs are remembered; beyond it the oldest is forgotten."""


class DpopProofs:
    """Checks proofs, and that none is used twice in this process."""

    def __init__(self, *, now: Callable[[], float]) -> None:
        self._now = now
        self._seen: OrderedDict[bytes, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seen)

    def shows(self, proof: str, *, method: str, url: str, token: str, thumbprint: str) -> bool:
        """Whether `proof` is one for this request, by whoever has the key of `thumbprint`.

        RFC 9449, section 4.3, lists what is checked.
        """
        header = read_header(proof) if len(proof) <= MAX_TOKEN else None
        if header is None or header.alg not in ALGORITHMS or header.jwk is UNSET:
            return False
        if header.typ is UNSET or header.typ.lower() != "dpop+jwt" or "d" in header.jwk:
            return False
        key = read_key(header.jwk)
        if key is None or not _same(key.thumbprint, thumbprint):
            return False
        claims = read_signed(proof, key, header.alg)
        if claims is None or not self._is_for(claims, method, url, token):
            return False
        return self._is_new(claims, thumbprint)

    def _is_for(self, claims: dict[str, Any], method: str, url: str, token: str) -> bool:
        at, made = claims.get("htu"), claims.get("iat")
        return (
            claims.get("htm") == method
            and isinstance(at, str)
            # Without query and fragment, which are not part of it.
            and canonical(at.partition("?")[0].partition("#")[0]) == canonical(url)
            and isinstance(made, int | float)
            and abs(made - self._now()) <= WINDOW_SECONDS
            and _same(claims.get("ath"), base64url(sha256(token.encode("ascii")).digest()))
        )

    def _is_new(self, claims: dict[str, Any], thumbprint: str) -> bool:
        """RFC 9449, section 11.1: proofs are not to be replayed."""
        id, now = claims.get("jti"), self._now()
        if not isinstance(id, str) or not id:
            return False
        while self._seen and next(iter(self._seen.values())) < now - 2 * WINDOW_SECONDS:
            self._seen.popitem(last=False)
        digest = sha256(f"{thumbprint} {id}".encode("utf-8", "surrogatepass")).digest()
        if digest in self._seen:
            return False
        if len(self._seen) >= MAX_SEEN:
            self._seen.popitem(last=False)
        self._seen[digest] = now
        return True


def _same(said: Any, expected: str) -> bool:
    return isinstance(said, str) and hmac.compare_digest(said.encode(), expected.encode())
