"""Registration with an authorization server.

A client is registered in advance, by a client id metadata document, or dynamically (RFC 7591).
"""

from __future__ import annotations

import time
from typing import Any

from msgspec import Struct

from accord.mcp.client.auth.attempt import Attempt
from accord.mcp.client.auth.errors import AuthorizationError
from accord.mcp.client.auth.keys import PrivateKey
from accord.mcp.client.auth.registrations import Method, Registration, method_to_register
from accord.mcp.client.auth.scopes import union
from accord.mcp.client.auth.tokens import refusal
from accord.mcp.client.auth.trust import is_local, trusted
from accord.transports.web_address import parse


class _Registered(Struct, frozen=True):
    """The response to a registration (RFC 7591, section 3.2.1)."""

    client_id: str
    client_secret: str | None = None
    client_secret_expires_at: float | None = None
    token_endpoint_auth_method: str | None = None


class Identity(Struct, frozen=True, kw_only=True):
    """Metadata of the client, as the application gives it."""

    client_name: str
    client_uri: str | None = None
    registered: Registration | None = None
    """The registration, if it was made in advance."""
    metadata_url: str | None = None
    """URL of the client id metadata document."""
    key: PrivateKey | None = None
    """The private key whose public half is in that document."""


async def known_client(
    attempt: Attempt, identity: Identity, scopes: tuple[str, ...]
) -> Registration | None:
    """Return the existing registration, None if the client has to register.

    The order of preference is that of 2026-07-28, client registration.
    """
    if identity.registered is not None:
        return identity.registered
    authority = attempt.realm.authority
    if identity.metadata_url is not None and authority.client_id_metadata_document_supported:
        return Registration(client_id=identity.metadata_url, key=identity.key)
    client = await attempt.records.registration(authority.issuer)
    if client is None or 0 < client.expires_at <= time.time():
        return None
    # Some servers grant only scopes that were registered.
    return client if set(scopes) <= set(client.scopes) else None


async def register(
    attempt: Attempt, identity: Identity, redirect_uri: str, scopes: tuple[str, ...]
) -> Registration:
    """Register the client. Raises AuthorizationError."""
    authority = attempt.realm.authority
    if authority.registration_endpoint is None:
        raise AuthorizationError(
            f"{authority.issuer} does not let clients register themselves",
            advice="Register the client there, and give OAuth its client_id and client_secret.",
        )
    endpoint = trusted(
        authority.registration_endpoint, "the registration endpoint", local=attempt.realm.local
    )
    method = method_to_register(authority.token_endpoint_auth_methods_supported)
    scopes = union(scopes, attempt.realm.scopes_supported)
    reply = await attempt.web.post_json(endpoint, _request(identity, redirect_uri, scopes, method))
    if reply.status not in (200, 201):
        raise refusal(reply, f"the registration endpoint {endpoint}")
    registered = reply.read(_Registered)
    if registered is None:
        raise AuthorizationError(f"the registration endpoint {endpoint} gave no client id")
    client = Registration(
        client_id=registered.client_id,
        client_secret=registered.client_secret,
        method=_method(registered.token_endpoint_auth_method, method),
        redirect_uri=redirect_uri,
        scopes=scopes,
        expires_at=registered.client_secret_expires_at or 0.0,
    )
    await attempt.records.keep_registration(authority.issuer, client)
    return client


def _request(
    identity: Identity, redirect_uri: str, scopes: tuple[str, ...], method: Method
) -> dict[str, Any]:
    request: dict[str, Any] = {
        "client_name": identity.client_name,
        "redirect_uris": [redirect_uri],
        # 2026-07-28, refresh tokens: a client requests the grant type here.
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        # 2026-07-28, client registration: the OpenID Connect default is "web", which does not allow
        # loopback redirects.
        "application_type": "native" if is_local(parse(redirect_uri)) else "web",
    }
    if identity.client_uri is not None:
        request["client_uri"] = identity.client_uri
    if scopes:
        request["scope"] = " ".join(scopes)
    return request


def _method(given: str | None, asked: Method) -> Method:
    """Return the registered authentication method.

    RFC 7591, section 3.2.1: the server may register another one than was requested.
    """
    if given is None or given == asked:
        return asked
    if given in ("none", "client_secret_basic", "client_secret_post"):
        return given  # type: ignore[return-value]
    raise AuthorizationError(f"the client was registered for authentication by {given[:40]!r}")
