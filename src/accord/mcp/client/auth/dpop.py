"""DPoP proofs (RFC 9449), signed JWTs, and the random values of PKCE (RFC 7636).

A DPoP-bound token is useless to a thief: each request carries a proof, signed with a key that never
leaves this client. PyJWT and cryptography are needed for signing only, and loaded then.
"""

from __future__ import annotations

import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib import import_module
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from accord.mcp.client.auth.web import AuthorizationError, Origin, base_of, origin_of
from accord.transports.urls import WebAddress

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey


def unguessable() -> str:
    """Return 256 random bits as text that is also a valid PKCE code verifier."""
    return token_urlsafe(32)


def code_challenge(verifier: str) -> str:
    """Return the S256 code challenge of a PKCE verifier.

    S256 is the only method that does not reveal the verifier.
    """
    return base64url(sha256(verifier.encode("ascii")).digest())


def base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


class PrivateKey(Struct, frozen=True):
    """The client's private key in PEM, which signs JWTs with `algorithm`."""

    pem: str
    algorithm: str = "ES256"
    id: str | None = None
    """The key id (`kid`) of the public key, in the key set that the client publishes."""

    def __post_init__(self) -> None:
        require_signing()

    def __repr__(self) -> str:
        return f"PrivateKey(…, algorithm={self.algorithm!r}, id={self.id!r})"

    def sign(self, claims: Mapping[str, Any], **header: Any) -> str:
        """Return a signed JWT. Raise AuthorizationError for an unsuitable key."""
        jwt = require_signing()
        named = header if self.id is None else {**header, "kid": self.id}
        try:
            return str(jwt.encode(dict(claims), self.pem, algorithm=self.algorithm, headers=named))
        except (jwt.PyJWTError, NotImplementedError, TypeError, ValueError) as error:
            raise AuthorizationError(
                f"the private key cannot sign with {self.algorithm}",
                advice="Give the key in PEM, and the algorithm that it is for.",
            ) from error


def new_key() -> PrivateKey:
    """Return a new private key for DPoP."""
    require_signing()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return PrivateKey(pem.decode("ascii"))


def public_jwk(key: PrivateKey) -> dict[str, str]:
    """Return the public JWK of a key made by `new_key`.

    It has the required members only, in the order of RFC 7638.
    """
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from jwt.algorithms import ECAlgorithm

    private: EllipticCurvePrivateKey = load_pem_private_key(key.pem.encode("ascii"), None)  # type: ignore[assignment]
    members: dict[str, str] = msgspec.json.decode(ECAlgorithm.to_jwk(private.public_key()))
    return {name: members[name] for name in ("crv", "kty", "x", "y")}


def require_signing() -> Any:
    """Return the module `jwt`. Raise ImportError that names the extra to install."""
    try:
        import_module("cryptography")
        import jwt
    except ImportError as error:
        raise ImportError("signing needs PyJWT and cryptography: install accord[auth]") from error
    return jwt


MAX_NONCES: Final = 64
MAX_NONCE: Final = 1_000
"""Maximum length of a nonce, which is part of every proof."""


class Proofs:
    """A signer of DPoP proofs with one key, which remembers the nonces of servers."""

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
        """Store the DPoP nonce of a response; return whether the response had a nonce."""
        nonce = headers.get("dpop-nonce", "")
        if not nonce or len(nonce) > MAX_NONCE:
            return False
        # RFC 9449, section 8.2: the latest nonce replaces earlier ones.
        self._nonces.pop(origin_of(address), None)
        self._nonces[origin_of(address)] = nonce
        if len(self._nonces) > MAX_NONCES:
            del self._nonces[next(iter(self._nonces))]
        return True
