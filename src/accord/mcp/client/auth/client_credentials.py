"""`ClientCredentials`: a program acts for itself, without a user."""

from __future__ import annotations

import ssl
from collections.abc import Sequence

from accord.mcp.client.auth.attempt import Attempt
from accord.mcp.client.auth.authorizer import Authorizer, Credentials
from accord.mcp.client.auth.keys import PrivateKey
from accord.mcp.client.auth.registrations import Method, Registration
from accord.mcp.client.auth.storage import Storage
from accord.mcp.client.auth.tokens import Token


class ClientCredentials(Authorizer):
    """Tokens for a program without a user (the OAuth client credentials extension).

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
    """The client credentials grant; implements `Grant`."""

    interactive = False

    def __init__(self, client: Registration) -> None:
        self._client = client

    async def obtain(self, attempt: Attempt, scopes: tuple[str, ...]) -> Token:
        form = {"grant_type": "client_credentials"}
        if scopes:
            form["scope"] = " ".join(scopes)
        return await attempt.token(form, self._client, requested=scopes)

    async def renew(self, attempt: Attempt, token: Token) -> Token | None:
        return await self.obtain(attempt, token.requested)
