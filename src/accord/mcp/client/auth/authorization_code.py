"""The authorization code grant: the user allows it in a browser, with PKCE."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from msgspec.structs import replace

from accord.jsonrpc.errors import ConnectError
from accord.mcp.client.auth.attempt import Attempt
from accord.mcp.client.auth.discovery import Realm
from accord.mcp.client.auth.errors import (
    AuthorizationError,
    DiscoveryError,
    OAuthError,
    UntrustedError,
    oauth_error,
)
from accord.mcp.client.auth.pkce import code_challenge, unguessable
from accord.mcp.client.auth.redirects import (
    Opener,
    Redirect,
    RedirectHandler,
    listening,
    with_port_of,
)
from accord.mcp.client.auth.registering import Identity, known_client, register
from accord.mcp.client.auth.registrations import Registration
from accord.mcp.client.auth.scopes import for_refreshing
from accord.mcp.client.auth.tokens import Token


class AuthorizationCode:
    """The authorization code grant with PKCE; implements `Grant`."""

    interactive = True

    def __init__(
        self,
        identity: Identity,
        *,
        redirect: str,
        opener: Opener | None,
        handler: RedirectHandler | None,
        seconds: float,
    ) -> None:
        self._identity = identity
        self._redirect = redirect
        self._opener = opener
        self._handler = handler
        self._seconds = seconds
        self._one_at_a_time = asyncio.Lock()
        """Serializes authorizations: one browser per user, one listener per port."""

    async def obtain(self, attempt: Attempt, scopes: tuple[str, ...]) -> Token:
        authority = attempt.realm.authority
        if authority.authorization_endpoint is None:
            raise DiscoveryError(f"{authority.issuer} has no authorization endpoint")
        # 2026-07-28, authorization code protection: stop if the server does not support PKCE.
        if "S256" not in (authority.code_challenge_methods_supported or ()):
            raise UntrustedError(f"{authority.issuer} does not say that it supports PKCE by S256")
        scopes = for_refreshing(scopes, authority.scopes_supported)
        async with self._one_at_a_time:
            client = await known_client(attempt, self._identity, scopes)
            async with self._listening(client) as redirect:
                if client is None or client.redirect_uri not in ("", redirect.uri):
                    client = await register(attempt, self._identity, redirect.uri, scopes)
                return await self._authorize(attempt, client, redirect, scopes)

    async def renew(self, attempt: Attempt, token: Token) -> Token | None:
        if token.refresh_token is None:
            return None
        client = await known_client(attempt, self._identity, ())
        if client is None or client.client_id != token.client_id:
            return None
        form = {"grant_type": "refresh_token", "refresh_token": token.refresh_token}
        try:
            renewed = await attempt.token(
                form, client, requested=token.requested, granted=token.granted
            )
        except OAuthError as error:
            if error.error in ("invalid_client", "unauthorized_client"):
                await attempt.records.forget_registration(attempt.realm.issuer)
            return None
        # RFC 6749, section 6: if the response has no new refresh token, the old one remains valid.
        return replace(renewed, refresh_token=renewed.refresh_token or token.refresh_token)

    async def _authorize(
        self, attempt: Attempt, client: Registration, redirect: Redirect, scopes: tuple[str, ...]
    ) -> Token:
        state, verifier = unguessable(), unguessable()
        parameters = {
            "response_type": "code",
            "client_id": client.client_id,
            "redirect_uri": redirect.uri,
            "state": state,
            "code_challenge": code_challenge(verifier),
            "code_challenge_method": "S256",
            "resource": attempt.realm.resource,
        }
        if scopes:
            parameters["scope"] = " ".join(scopes)
        if attempt.proofs is not None:
            # RFC 9449, section 10: bind the code to this key.
            parameters["dpop_jkt"] = attempt.proofs.thumbprint
        url = _with_query(attempt.realm.authority.authorization_endpoint or "", parameters)
        answer = await redirect.authorize(url, state, self._seconds)
        form = {
            "grant_type": "authorization_code",
            "code": code_in(answer, attempt.realm),
            "redirect_uri": redirect.uri,
            "code_verifier": verifier,
        }
        try:
            return await attempt.token(form, client, requested=scopes)
        except OAuthError as error:
            if error.error in ("invalid_client", "unauthorized_client"):
                await attempt.records.forget_registration(attempt.realm.issuer)
            raise

    @asynccontextmanager
    async def _listening(self, client: Registration | None) -> AsyncIterator[Redirect]:
        if self._handler is not None:
            yield Redirect.handled(self._redirect, self._handler)
            return
        registered = "" if client is None else client.redirect_uri
        async with AsyncExitStack() as stack:
            at = with_port_of(self._redirect, registered)
            try:
                redirect = await stack.enter_async_context(listening(at, self._opener))
            except ConnectError:
                if at == self._redirect:
                    raise
                redirect = await stack.enter_async_context(listening(self._redirect, self._opener))
            yield redirect


def code_in(answer: dict[str, str], realm: Realm) -> str:
    """Return the code of an authorization response.

    Raises UntrustedError, OAuthError, or AuthorizationError for a response without a code.
    """
    iss = answer.get("iss")
    # 2026-07-28, authorization response validation: check `iss` before any other parameter, by
    # exact comparison.
    if iss is None and realm.authority.authorization_response_iss_parameter_supported:
        raise UntrustedError(f"the answer does not say that it comes from {realm.issuer}")
    if iss is not None and iss != realm.issuer:
        raise UntrustedError(f"the answer comes from another server than {realm.issuer}")
    if "error" in answer:
        raise oauth_error(
            f"the authorization server {realm.issuer}",
            answer["error"],
            answer.get("error_description", ""),
        )
    if not answer.get("code"):
        raise AuthorizationError(f"the answer of {realm.issuer} has no code")
    return answer["code"]


def _with_query(url: str, parameters: dict[str, str]) -> str:
    """Add query parameters; keep those of the endpoint (RFC 6749, section 3.1)."""
    parts = urlsplit(url)
    given = [pair for pair in parse_qsl(parts.query) if pair[0] not in parameters]
    return urlunsplit(parts._replace(query=urlencode([*given, *parameters.items()])))
