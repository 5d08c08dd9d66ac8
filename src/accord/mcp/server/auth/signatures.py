"""Signatures of JWTs: algorithms, keys and verification.

PyJWT and cryptography do the work, and are imported on first use.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib import import_module
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from accord.jsonrpc.protocol.codec import check_nesting

ALGORITHMS: Final[Mapping[str, tuple[str, str]]] = {
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
    "RS256": ("RSA", ""),
    "RS384": ("RSA", ""),
    "RS512": ("RSA", ""),
    "PS256": ("RSA", ""),
    "PS384": ("RSA", ""),
    "PS512": ("RSA", ""),
}
"""The key type and the curve of each algorithm. Neither `none` nor HMACs are included: a key that
verifies an HMAC can also create one, and a public key must never be used as a secret."""
MIN_RSA_BITS: Final = 2048
"""RFC 7518, section 3.3."""

_MEMBERS: Final = {
    "EC": ("crv", "kty", "x", "y"),
    "OKP": ("crv", "kty", "x"),
    "RSA": ("e", "kty", "n"),
}
"""RFC 7638, section 3.2: the members of a public key, in this order."""


class JoseHeader(Struct):
    """The header of a JWT, as far as it matters here."""

    alg: str
    kid: str | UnsetType = UNSET
    typ: str | UnsetType = UNSET
    crit: Any = UNSET
    b64: Any = UNSET
    jwk: dict[str, Any] | UnsetType = UNSET


class PublicKey(Struct, frozen=True):
    """A key for verifying signatures."""

    id: str | None
    kind: tuple[str, str]
    """Its type and its curve."""
    algorithm: str | None
    """The only allowed algorithm; None for all that fit the key."""
    members: dict[str, str]
    key: Any
    """The same key as an object of cryptography."""

    def suits(self, algorithm: str) -> bool:
        return ALGORITHMS[algorithm] == self.kind and self.algorithm in (None, algorithm)

    @property
    def thumbprint(self) -> str:
        """The key's thumbprint (RFC 7638)."""
        return base64url(sha256(msgspec.json.encode(self.members)).digest())


_decode_header = msgspec.json.Decoder(JoseHeader).decode
_decode_payload = msgspec.json.Decoder(dict[str, Any]).decode


def read_header(token: str) -> JoseHeader | None:
    """Return the unverified header of a JWT; None for an invalid one."""
    head, _, rest = token.partition(".")
    if rest.count(".") != 1:
        return None
    try:
        text = urlsafe_b64decode(head + "=" * (-len(head) % 4))
        check_nesting(text)
        header = _decode_header(text)
    except (msgspec.DecodeError, ValueError):
        return None
    # RFC 7515, section 4.1.11: what is critical and not understood makes a token invalid.
    return header if header.crit is UNSET and header.b64 is UNSET else None


def read_key(jwk: Any) -> PublicKey | None:
    """Return a public key (RFC 7517); None for an unusable one.

    Private members are ignored.
    """
    kind, curve = (_text(jwk, "kty"), _text(jwk, "crv")) if isinstance(jwk, dict) else ("", "")
    names = _MEMBERS.get(kind, ())
    members = {name: _text(jwk, name) for name in names}
    algorithm = _text(jwk, "alg") if names else ""
    suiting = [name for name, keys in ALGORITHMS.items() if keys == (kind, curve)]
    if not suiting or not all(members.values()) or _text(jwk, "use") not in ("", "sig"):
        return None
    if algorithm and algorithm not in suiting:
        return None
    jwt = load_jwt()
    try:
        key = jwt.PyJWK(members, suiting[0]).key
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError):
        return None
    if kind == "RSA" and key.key_size < MIN_RSA_BITS:
        return None
    return PublicKey(_text(jwk, "kid") or None, (kind, curve), algorithm or None, members, key)


def read_signed(token: str, key: PublicKey, algorithm: str) -> dict[str, Any] | None:
    """Return the claims of a JWT; None if its signature is invalid."""
    if not key.suits(algorithm):
        return None
    jwt = load_jwt()
    try:
        found = _jws().decode_complete(token, key.key, algorithms=[algorithm])
        check_nesting(found["payload"])
        return _decode_payload(found["payload"])
    except (jwt.PyJWTError, msgspec.DecodeError, ValueError, TypeError):
        return None


@cache
def load_jwt() -> Any:
    """Return the module of PyJWT.

    Raises ImportError with a hint on the missing extra.
    """
    try:
        import_module("cryptography")
        return import_module("jwt")
    except ImportError as error:
        raise ImportError(
            "verifying signatures needs PyJWT and cryptography: install accord[auth]"
        ) from error


@cache
def _jws() -> Any:
    return load_jwt().PyJWS()


def base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _text(jwk: dict[str, Any], name: str) -> str:
    value = jwk.get(name, "")
    return value if isinstance(value, str) else ""
