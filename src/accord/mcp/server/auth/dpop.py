"""DPoP proofs: possession of the key that a token is bound to (RFC 9449)."""

from __future__ import annotations

import hmac
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final

from msgspec import UNSET

from accord.mcp.server.auth.authenticator import MAX_TOKEN
from accord.mcp.server.auth.resource_url import canonical_url
from accord.mcp.server.auth.signatures import (
    ALGORITHMS,
    base64url,
    read_header,
    read_key,
    read_signed,
)

WINDOW_SECONDS: Final = 60.0
"""Tolerated distance of a proof's `iat` from now, in either direction."""
MAX_SEEN: Final = 100_000
"""The limit of remembered proofs; beyond it the oldest is forgotten."""


class DpopProofs:
    """A checker of proofs that also rejects replays within this process."""

    def __init__(self, *, now: Callable[[], float]) -> None:
        self._now = now
        self._seen: OrderedDict[bytes, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seen)

    def shows(self, proof: str, *, method: str, url: str, token: str, thumbprint: str) -> bool:
        """Return whether `proof` is valid for this request and key.

        RFC 9449, section 4.3, lists the checks. `thumbprint` identifies the key.
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
            and canonical_url(at.partition("?")[0].partition("#")[0]) == canonical_url(url)
            and isinstance(made, int | float)
            and abs(made - self._now()) <= WINDOW_SECONDS
            and _same(claims.get("ath"), base64url(sha256(token.encode("ascii")).digest()))
        )

    def _is_new(self, claims: dict[str, Any], thumbprint: str) -> bool:
        """Return whether a proof is not a replay (RFC 9449, section 11.1)."""
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
