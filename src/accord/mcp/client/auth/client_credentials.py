"""Grants without a user: client credentials, workload identities, enterprise-managed access.

Workload and enterprise access present a JWT as a grant (RFC 7523, section 2.1).
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

from accord.mcp.client.auth.authorizer import Authorizer, Credentials
from accord.mcp.client.auth.discovery import authority_of
from accord.mcp.client.auth.dpop import PrivateKey
from accord.mcp.client.auth.registration import TokenAttempt
from accord.mcp.client.auth.tokens import Method, Registration, Storage, Token, prove, read_response
from accord.mcp.client.auth.web import AuthorizationError, trusted


class ClientCredentials(Authorizer):
    """A source of tokens for a program without a user: `Client(auth=…)`.

    It implements the OAuth client credentials extension of MCP.

    The client must be registered with the authorization server `issuer`, as `client_id` with a
    `client_secret`, or with a `private_key` that signs a JWT for each request.
    """

    def __init__(
        self,
        client_id: str,
        client_secret: str | None = None,
        *,
        private_key: PrivateKey | None = None,
        auth_method: Method | None = None,
        issuer: str | None = None,
        scopes: Sequence[str] = (),
        storage: Storage | None = None,
        dpop: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        if (client_secret is None) is (private_key is None):
            raise ValueError("client credentials are a client_secret or a private_key")
        client = Registration(
            client_id=client_id, client_secret=client_secret, key=private_key, method=auth_method
        )
        super().__init__(
            _ClientCredentials(client),
            scopes=scopes,
            credentials=Credentials(client_id, issuer),
            storage=storage,
            dpop=dpop,
            tls=tls,
        )


class _ClientCredentials:
    """The client credentials grant that `ClientCredentials` uses; implements `Grant`."""

    interactive = False

    def __init__(self, client: Registration) -> None:
        self._client = client

    async def obtain(self, attempt: TokenAttempt, scopes: tuple[str, ...]) -> Token:
        form = {"grant_type": "client_credentials"}
        if scopes:
            form["scope"] = " ".join(scopes)
        return await attempt.token(form, self._client, requested=scopes)

    async def renew(self, attempt: TokenAttempt, token: Token) -> Token | None:
        return await self.obtain(attempt, token.requested)


JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
TOKEN_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_JAG: Final = "urn:ietf:params:oauth:token-type:id-jag"
ID_TOKEN: Final = "urn:ietf:params:oauth:token-type:id_token"

Assertion: TypeAlias = str | Callable[[str], Awaitable[str]]
"""A JWT, or an async function that returns one for an audience (an issuer)."""
IdToken: TypeAlias = str | Callable[[], Awaitable[str]]
"""The ID token of the user's login, or an async function that returns one."""


class WorkloadIdentity(Authorizer):
    """A source of tokens for a workload, in exchange for JWTs of its platform.

    This is workload identity federation: the platform (Kubernetes, a cloud) issues JWTs to its
    workloads. `assertion` is a JWT of the platform, or an async function that returns one for the
    required audience, and is called whenever a token is needed. An error of the authorization
    server is raised, and the request is not retried.
    """

    def __init__(
        self,
        assertion: Assertion,
        *,
        client_id: str | None = None,
        client_secret: str | None = None,
        issuer: str | None = None,
        scopes: Sequence[str] = (),
        storage: Storage | None = None,
        dpop: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        client = Registration(client_id=client_id or "", client_secret=client_secret)
        super().__init__(
            _JwtBearer(client, _ProvidedAssertion(assertion)),
            scopes=scopes,
            credentials=Credentials(client.client_id, issuer),
            storage=storage,
            dpop=dpop,
            tls=tls,
        )


class EnterpriseManaged(Authorizer):
    """Tokens for a user who is logged in with the identity provider of an enterprise.

    The provider decides what the user may access; no consent page is shown.

    `idp` is the provider's issuer, and `idp_client_id` this client's id there. `id_token` is the
    token of the user's login, of type `id_token_type`. `client_id` is this client's id at the
    authorization server `issuer`.
    """

    def __init__(
        self,
        *,
        idp: str,
        idp_client_id: str,
        id_token: IdToken,
        client_id: str,
        client_secret: str | None = None,
        private_key: PrivateKey | None = None,
        auth_method: Method | None = None,
        idp_client_secret: str | None = None,
        id_token_type: str = ID_TOKEN,
        issuer: str | None = None,
        scopes: Sequence[str] = (),
        storage: Storage | None = None,
        dpop: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        client = Registration(
            client_id=client_id, client_secret=client_secret, key=private_key, method=auth_method
        )
        provider = Registration(client_id=idp_client_id, client_secret=idp_client_secret)
        super().__init__(
            _JwtBearer(client, _TokenExchange(idp, provider, id_token, id_token_type)),
            scopes=scopes,
            credentials=Credentials(client_id, issuer),
            storage=storage,
            dpop=dpop,
            tls=tls,
        )


class _ProvidedAssertion:
    """A source of JWT assertions that the application provides."""

    def __init__(self, assertion: Assertion) -> None:
        self._assertion = assertion

    async def assertion(self, attempt: TokenAttempt, scopes: tuple[str, ...]) -> str:
        if isinstance(self._assertion, str):
            return self._assertion
        return await self._assertion(attempt.realm.issuer)


class _TokenExchange:
    """A source of assertions of the identity provider: token exchange (RFC 8693)."""

    def __init__(self, idp: str, client: Registration, id_token: IdToken, kind: str) -> None:
        self._idp = idp
        self._client = client
        self._id_token = id_token
        self._kind = kind

    async def assertion(self, attempt: TokenAttempt, scopes: tuple[str, ...]) -> str:
        provider = await authority_of(attempt.web, self._idp, local=True)
        address = trusted(provider.token_endpoint, "the token endpoint", local=True)
        proof = prove(self._client, provider.issuer, provider.token_endpoint_auth_methods_supported)
        token = self._id_token
        form = {
            "grant_type": TOKEN_EXCHANGE,
            "requested_token_type": ID_JAG,
            "audience": attempt.realm.issuer,
            "resource": attempt.realm.resource,
            "subject_token": token if isinstance(token, str) else await token(),
            "subject_token_type": self._kind,
            **proof.form,
        }
        if scopes:
            form["scope"] = " ".join(scopes)
        reply = await attempt.web.post_form(address, form, proof.headers)
        response = read_response(reply, f"the identity provider {address}")
        # Enterprise-managed authorization, section 4.2: the response must be an ID-JAG, the only
        # type that was requested.
        if response.issued_token_type != ID_JAG:
            raise AuthorizationError("the identity provider gave another kind of token")
        return response.access_token


class _JwtBearer:
    """The JWT bearer grant; implements `Grant`."""

    interactive = False

    def __init__(self, client: Registration, source: _ProvidedAssertion | _TokenExchange) -> None:
        self._client = client
        self._source = source

    async def obtain(self, attempt: TokenAttempt, scopes: tuple[str, ...]) -> Token:
        assertion = await self._source.assertion(attempt, scopes)
        form = {"grant_type": JWT_BEARER, "assertion": assertion}
        if scopes:
            form["scope"] = " ".join(scopes)
        return await attempt.token(form, self._client, requested=scopes)

    async def renew(self, attempt: TokenAttempt, token: Token) -> Token | None:
        return await self.obtain(attempt, token.requested)
