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
    """A client as registered with one authorization server."""

    client_id: str
    """Empty for a client that is identified by its assertion alone."""
    client_secret: str | None = None
    method: Method | None = None
    """Authentication method; None to choose one that the server supports."""
    key: PrivateKey | None = None
    redirect_uri: str = ""
    """The registered redirect URI; empty if the client did not register itself."""
    scopes: tuple[str, ...] = ()
    """The registered scopes."""
    expires_at: float = 0.0
    """Time at which the secret expires; 0 for never."""

    def __repr__(self) -> str:
        return f"Registration({self.client_id!r}, …)"


class Proof(Struct, frozen=True):
    """The form fields and headers that authenticate the client in a token request."""

    form: dict[str, str]
    headers: dict[str, str]


def prove(client: Registration, issuer: str, supported: Sequence[str] | None) -> Proof:
    """Return the authentication of `client` at the authorization server `issuer`.

    `supported` are the methods of the server, which are used if the client has no fixed one.
    """
    method = client.method or choose_method(client, supported)
    if method == "private_key_jwt":
        return Proof(_assertion(client, issuer), {})
    if method == "client_secret_basic" and client.client_secret is not None:
        # RFC 6749, section 2.3.1: id and secret are form-encoded before base64.
        pair = f"{quote_plus(client.client_id)}:{quote_plus(client.client_secret)}"
        return Proof({}, {"authorization": f"Basic {b64encode(pair.encode()).decode()}"})
    if method == "client_secret_post" and client.client_secret is not None:
        return Proof({"client_id": client.client_id, "client_secret": client.client_secret}, {})
    return Proof({"client_id": client.client_id} if client.client_id else {}, {})


def choose_method(client: Registration, supported: Sequence[str] | None) -> Method:
    """Return the best method that client and server support."""
    if client.key is not None:
        return "private_key_jwt"
    if client.client_secret is None:
        return "none"
    # RFC 8414, section 2: the default is client_secret_basic.
    if supported and "client_secret_basic" not in supported and "client_secret_post" in supported:
        return "client_secret_post"
    return "client_secret_basic"


def method_to_register(supported: Sequence[str] | None) -> Method:
    """Return the method to register: `none` if possible, else one with a secret."""
    methods = ("client_secret_basic",) if supported is None else tuple(supported)
    wanted: tuple[Method, ...] = ("none", "client_secret_basic", "client_secret_post")
    return next((method for method in wanted if method in methods), "none")


def _assertion(client: Registration, issuer: str) -> dict[str, str]:
    assert client.key is not None
    now = int(time.time())
    claims = {
        "iss": client.client_id,
        "sub": client.client_id,
        # Use the issuer as the only audience: another server could claim a token endpoint's URL as
        # its own.
        "aud": issuer,
        "jti": token_urlsafe(16),
        "iat": now,
        "exp": now + ASSERTION_SECONDS,
    }
    return {
        "client_assertion_type": ASSERTION_TYPE,
        "client_assertion": client.key.sign(claims),
    }
