"""One attempt to get a token: for whom, from whom, and with what."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final, Protocol

from accord.mcp.client.auth.discovery import Realm
from accord.mcp.client.auth.dpop import Proofs
from accord.mcp.client.auth.errors import AuthorizationError, OAuthError
from accord.mcp.client.auth.records import Records
from accord.mcp.client.auth.registrations import Registration, prove
from accord.mcp.client.auth.tokens import (
    Token,
    read_response,
    refusal,
    scheme_of,
    scopes_in,
    stale_at,
)
from accord.mcp.client.auth.trust import trusted
from accord.mcp.client.auth.web import Reply, Web
from accord.transports.web_address import WebAddress

NONCE: Final = "use_dpop_nonce"


class Attempt:
    """The context of a grant: HTTP client, realm, stored credentials and DPoP signer."""

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
        """Request a token with these grant parameters. Raise AuthorizationError.

        If the response does not name the granted scopes, they are `granted`, or else `requested`.
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
        """Return whether the grant needs the user."""

    async def obtain(self, attempt: Attempt, scopes: tuple[str, ...]) -> Token:
        """Return a new token. Raise AuthorizationError."""

    async def renew(self, attempt: Attempt, token: Token) -> Token | None:
        """Return a token that replaces `token` without the user, None if impossible."""


def _wants_nonce(reply: Reply) -> bool:
    refused = refusal(reply, "")
    return isinstance(refused, OAuthError) and refused.error == NONCE
