"""Client registration at an authorization server, and token requests.

A client is registered in advance, by a client id metadata document, or dynamically (RFC 7591).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final, Protocol

from msgspec import Struct

from accord.mcp.client.auth.discovery import Realm, union
from accord.mcp.client.auth.dpop import PrivateKey, Proofs
from accord.mcp.client.auth.tokens import (
    Method,
    Records,
    Registration,
    Token,
    method_to_register,
    prove,
    read_response,
    refusal,
    scheme_of,
    scopes_in,
    stale_at,
)
from accord.mcp.client.auth.web import AuthorizationError, OAuthError, Reply, Web, is_local, trusted
from accord.transports.urls import WebAddress, parse_web_address

NONCE: Final = "use_dpop_nonce"


class TokenAttempt:
    """One attempt of a grant to obtain a token.

    It has the HTTP client, the realm, the stored credentials and the DPoP signer.
    """

    def __init__(self, web: Web, realm: Realm, records: Records, proofs: Proofs | None) -> None:
        self.web = web
        self.realm = realm
        self.records = records
        self.proofs = proofs
        algorithms = realm.authority.dpop_signing_alg_values_supported
        if proofs is not None and algorithms is not None and proofs.algorithm not in algorithms:
            raise AuthorizationError(
                f"the authorization server takes no proofs of possession by {proofs.algorithm}"
            )

    async def token(
        self,
        form: Mapping[str, str],
        client: Registration,
        *,
        requested: tuple[str, ...],
        granted: tuple[str, ...] | None = None,
    ) -> Token:
        """Request a token with the form parameters of a grant.

        If the response does not name the scopes of the token, the token has the scopes `granted`,
        or `requested` if `granted` is None.

        Raises AuthorizationError if the server refuses the request or its response has no usable
        token.
        """
        endpoint = self.realm.authority.token_endpoint
        address = trusted(endpoint, "the token endpoint", local=self.realm.local)
        reply = await self._ask(address, form, client)
        if _wants_nonce(reply) and self.proofs is not None:
            # RFC 9449, section 8: repeat the request once, with the nonce of the server.
            reply = await self._ask(address, form, client)
        response = read_response(reply, f"the token endpoint {address}")
        return Token(
            access_token=response.access_token,
            scheme=scheme_of(response, bound=self.proofs is not None),
            issuer=self.realm.issuer,
            resource=self.realm.resource,
            client_id=client.client_id,
            requested=requested,
            granted=scopes_in(response.scope, requested if granted is None else granted),
            refresh_token=response.refresh_token,
            stale_at=stale_at(response, time.time()),
        )

    async def _ask(
        self, address: WebAddress, form: Mapping[str, str], client: Registration
    ) -> Reply:
        authority = self.realm.authority
        proof = prove(client, authority.issuer, authority.token_endpoint_auth_methods_supported)
        # 2026-07-28, resource parameter: in every token request, whatever the server supports.
        whole = {**form, **proof.form, "resource": self.realm.resource}
        if self.proofs is None:
            return await self.web.post_form(address, whole, proof.headers)
        headers = {**proof.headers, "dpop": self.proofs.proof("POST", address)}
        reply = await self.web.post_form(address, whole, headers)
        self.proofs.learn(address, reply.headers)
        return reply


class Grant(Protocol):
    """A grant type: obtains and renews tokens."""

    @property
    def interactive(self) -> bool:
        """Return whether the grant needs the user, such as for consent in a browser."""

    async def obtain(self, attempt: TokenAttempt, scopes: tuple[str, ...]) -> Token:
        """Return a new token. Raise AuthorizationError if none can be obtained."""

    async def renew(self, attempt: TokenAttempt, token: Token) -> Token | None:
        """Replace `token` without asking the user. Return None if that is impossible."""


def _wants_nonce(reply: Reply) -> bool:
    refused = refusal(reply, "")
    return isinstance(refused, OAuthError) and refused.error == NONCE


class _RegistrationResponse(Struct, frozen=True):
    """The response to a registration (RFC 7591, section 3.2.1)."""

    client_id: str
    client_secret: str | None = None
    client_secret_expires_at: float | None = None
    token_endpoint_auth_method: str | None = None


class RegisteredIdentity(Struct, frozen=True, kw_only=True):
    """The application's description of the client, used to register it.

    The description has a registration made in advance, a metadata document, or only the client's
    name.
    """

    client_name: str
    client_uri: str | None = None
    registered: Registration | None = None
    """The registration, if it was made in advance."""
    metadata_url: str | None = None
    """URL of the client id metadata document."""
    key: PrivateKey | None = None
    """The private key that matches the public key in the client id metadata document."""


async def known_client(
    attempt: TokenAttempt, identity: RegisteredIdentity, scopes: tuple[str, ...]
) -> Registration | None:
    """Return the client's existing registration; None if the client has to register.

    In this order: the registration made in advance, the metadata document, the stored dynamic
    registration (MCP 2026-07-28, client registration).
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
    attempt: TokenAttempt, identity: RegisteredIdentity, redirect_uri: str, scopes: tuple[str, ...]
) -> Registration:
    """Register the client dynamically (RFC 7591), and store the registration.

    Raises AuthorizationError if the server does not support or refuses the registration.
    """
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
    registered = reply.read(_RegistrationResponse)
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
    identity: RegisteredIdentity, redirect_uri: str, scopes: tuple[str, ...], method: Method
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
        "application_type": "native" if is_local(parse_web_address(redirect_uri)) else "web",
    }
    if identity.client_uri is not None:
        request["client_uri"] = identity.client_uri
    if scopes:
        request["scope"] = " ".join(scopes)
    return request


def _method(registered: str | None, requested: Method) -> Method:
    """Return the registered authentication method.

    The server may register a method other than the requested one (RFC 7591, section 3.2.1). Raises
    AuthorizationError for a method that this client does not support.
    """
    if registered is None or registered == requested:
        return requested
    if registered in ("none", "client_secret_basic", "client_secret_post"):
        return registered  # type: ignore[return-value]
    raise AuthorizationError(f"the client was registered for authentication by {registered[:40]!r}")
