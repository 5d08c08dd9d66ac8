"""Who a client is for an authorization server, and how it proves that. Pure but for the clock
and the ids of assertions."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Sequence
from secrets import token_urlsafe
from typing import Final, Literal
from urllib.parse import quote_plus

from msgspec import Struct

from accord.mcp.client.auth.keys import PrivateKey

Method = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]

ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_SECONDS: Final = 60


class Registration(Struct, frozen=True, kw_only=True):
    """A client as one authorization server knows it."""

    client_id: str
    """Empty for one that need not be known."""
    client_secret: str | None = None
    method: Method | None = None
    """How the client authenticates; None to follow what the server takes."""
    key: PrivateKey | None = None
    redirect_uri: str = ""
    """Where the server sends the user back to; empty for what was not registered here."""
    scopes: tuple[str, ...] = ()
    """What was registered for."""
    expires_at: float = 0.0
    """When the secret is over; 0 for never."""

    def __repr__(self) -> str:
        return f"Registration({self.client_id!r}, …)"


class Proof(Struct, frozen=True):
    """What a token request carries so that the server knows the client."""

    form: dict[str, str]
    headers: dict[str, str]


def prove(client: Registration, issuer: str, supported: Sequence[str] | None) -> Proof:
    """How `client` authenticates with the authorization server `issuer`, which takes the
    methods `supported`."""
    method = client.method or choose_method(client, supported)
    if method == "private_key_jwt":
        return Proof(_assertion(client, issuer), {})
    if method == "client_secret_basic" and client.client_secret is not None:
        # RFC 6749, section 2.3.1: both are form-encoded first.
        pair = f"{quote_plus(client.client_id)}:{quote_plus(client.client_secret)}"
        return Proof({}, {"authorization": f"Basic {b64encode(pair.encode()).decode()}"})
    if method == "client_secret_post" and client.client_secret is not None:
        return Proof({"client_id": client.client_id, "client_secret": client.client_secret}, {})
    return Proof({"client_id": client.client_id} if client.client_id else {}, {})


def choose_method(client: Registration, supported: Sequence[str] | None) -> Method:
    """The best method that both sides have."""
    if client.key is not None:
        return "private_key_jwt"
    if client.client_secret is None:
        return "none"
    # RFC 8414, section 2: without a list it is client_secret_basic.
    if supported and "client_secret_basic" not in supported and "client_secret_post" in supported:
        return "client_secret_post"
    return "client_secret_basic"


def method_to_register(supported: Sequence[str] | None) -> Method:
    """What a client that can keep no secret asks for, and what it makes do with."""
    methods = ("client_secret_basic",) if supported is None else tuple(supported)
    wanted: tuple[Method, ...] = ("none", "client_secret_basic", "client_secret_post")
    return next((method for method in wanted if method in methods), "none")


def _assertion(client: Registration, issuer: str) -> dict[str, str]:
    assert client.key is not None
    now = int(time.time())
    claims = {
        "iss": client.client_id,
        "sub": client.client_id,
        # The issuer and nothing else: an endpoint's URL may be another server's claim.
        "aud": issuer,
        "jti": token_urlsafe(16),
        "iat": now,
        "exp": now + ASSERTION_SECONDS,
    }
    return {
        "client_assertion_type": ASSERTION_TYPE,
        "client_assertion": client.key.sign(claims),
    }
