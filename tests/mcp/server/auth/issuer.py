"""An issuer of tokens: it signs whatever a test wants, publishes its keys, and tells about tokens."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from tests.mcp.client.auth.site import Answer, Asked, Site

RESOURCE = "https://shop.example/mcp"


class Key:
    """A key pair with a name."""

    _made: ClassVar[dict[tuple[str, str], Key]] = {}

    def __init__(self, id: str, algorithm: str = "ES256") -> None:
        self.id = id
        self.algorithm = algorithm
        self.private, self.public = _pair(algorithm)

    @classmethod
    def of(cls, id: str, algorithm: str = "ES256") -> Key:
        """The same key each time: RSA keys take long to make."""
        return cls._made.setdefault((id, algorithm), cls(id, algorithm))

    @property
    def jwk(self) -> dict[str, Any]:
        return {**self.public, "kid": self.id, "use": "sig"}

    def sign(self, claims: Any, **header: Any) -> str:
        headers = {"kid": self.id, **header}
        named = {name: value for name, value in headers.items() if value is not None}
        return jwt.encode(claims, self.private, algorithm=self.algorithm, headers=named)


def _pair(algorithm: str) -> tuple[Any, dict[str, Any]]:
    private: Any
    if algorithm.startswith("ES"):
        curves = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}
        private = ec.generate_private_key(curves[algorithm])
        public = ECAlgorithm.to_jwk(private.public_key())
    elif algorithm == "EdDSA":
        private = ed25519.Ed25519PrivateKey.generate()
        public = OKPAlgorithm.to_jwk(private.public_key())
    else:
        private = rsa.generate_private_key(65537, 2048)
        public = RSAAlgorithm.to_jwk(private.public_key())
    members = msgspec.json.decode(public)
    return private, {name: members[name] for name in members if name != "key_ops"}


class Issuer(Site):
    """Publishes its keys and metadata; `issue` signs tokens for RESOURCE."""

    def __init__(self) -> None:
        super().__init__()
        self.key = Key.of("one")
        self.published: Any = None
        """What it says its keys are; None for its own key."""
        self.revoked: set[str] = set()
        self.known: dict[str, dict[str, Any]] = {}
        self.routes = {
            "GET /keys": self.keys,
            "GET /.well-known/oauth-authorization-server": self.describe,
            "POST /introspect": self.introspect,
        }

    @property
    def fetches(self) -> int:
        """How often its keys were asked for."""
        return len(self.to("GET /keys"))

    def claims(self, **claims: Any) -> dict[str, Any]:
        now = int(time.time())
        whole = {
            "iss": self.url or "https://issuer.example",
            "aud": RESOURCE,
            "sub": "ada",
            "client_id": "app",
            "iat": now,
            "exp": now + 600,
            **claims,
        }
        return {name: value for name, value in whole.items() if value is not None}

    def issue(self, *, key: Key | None = None, header: Any = None, **claims: Any) -> str:
        signing = self.key if key is None else key
        return signing.sign(self.claims(**claims), **({} if header is None else header))

    def keys(self, asked: Asked) -> Answer:
        return Answer(json={"keys": [self.key.jwk]} if self.published is None else self.published)

    def describe(self, asked: Asked) -> Answer:
        return Answer(json={"issuer": self.url, "jwks_uri": f"{self.url}/keys"})

    def introspect(self, asked: Asked) -> Answer:
        if asked.basic != ("shop", "a secret:"):
            return Answer(401)
        token = asked.form["token"]
        if token not in self.known or token in self.revoked:
            return Answer(json={"active": False})
        return Answer(json={"active": True, **self.known[token]})
