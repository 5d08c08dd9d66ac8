"""Signing with a private key: JWTs, and what tells others which key it was.

PyJWT and cryptography are needed for this alone, and loaded when it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from accord.mcp.client.auth.errors import AuthorizationError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey


class PrivateKey(Struct, frozen=True):
    """A private key in PEM, for signatures with `algorithm`."""

    pem: str
    algorithm: str = "ES256"
    id: str | None = None
    """The key id (`kid`) in the public key set."""

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

    made = ec.generate_private_key(ec.SECP256R1())
    pem = made.private_bytes(
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
