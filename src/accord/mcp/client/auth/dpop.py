"""Demonstrating Proof of Possession (RFC 9449): a token that is of no use to whoever steals it.

Each request carries a proof, signed with a key that never leaves this client, for that request
alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, Final

import msgspec

from accord.mcp.client.auth.keys import PrivateKey, public_jwk
from accord.mcp.client.auth.pkce import base64url
from accord.mcp.client.auth.trust import Origin, base_of, origin_of
from accord.transports.web_address import WebAddress

MAX_NONCES: Final = 64
MAX_NONCE: Final = 1_000
"""Maximum length of a nonce, which is part of every proof."""


class Proofs:
    """Signs DPoP proofs with one key, including the nonces of servers."""

    def __init__(self, key: PrivateKey, *, now: Callable[[], float] = time.time) -> None:
        self._key = key
        self._jwk = public_jwk(key)
        self._now = now
        self._nonces: dict[Origin, str] = {}

    @property
    def algorithm(self) -> str:
        return self._key.algorithm

    @property
    def thumbprint(self) -> str:
        """Return the key's thumbprint (RFC 7638), as in tokens that are bound to the key."""
        return base64url(sha256(msgspec.json.encode(self._jwk)).digest())

    def proof(self, method: str, address: WebAddress, token: str | None = None) -> str:
        """Return the DPoP header of one request. Proofs are never reused."""
        claims: dict[str, Any] = {
            "jti": token_urlsafe(16),
            "htm": method,
            # RFC 9449, section 4.2: the URL without query and fragment.
            "htu": f"{base_of(address)}{address.path}",
            "iat": int(self._now()),
        }
        if token is not None:
            claims["ath"] = base64url(sha256(token.encode("ascii")).digest())
        nonce = self._nonces.get(origin_of(address))
        if nonce is not None:
            claims["nonce"] = nonce
        return self._key.sign(claims, typ="dpop+jwt", jwk=self._jwk)

    def learn(self, address: WebAddress, headers: Mapping[str, str]) -> bool:
        """Remember the nonce of a response. Return whether there was one."""
        nonce = headers.get("dpop-nonce", "")
        if not nonce or len(nonce) > MAX_NONCE:
            return False
        # RFC 9449, section 8.2: the latest nonce replaces earlier ones.
        self._nonces.pop(origin_of(address), None)
        self._nonces[origin_of(address)] = nonce
        if len(self._nonces) > MAX_NONCES:
            del self._nonces[next(iter(self._nonces))]
        return True
