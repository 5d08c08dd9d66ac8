"""`OAuth`: the user allows a client to act for them, in a browser.

async with Client("https://example.org/mcp", auth=OAuth(client_name="Notes")) as client:
    …
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from typing import Final

from accord.mcp.client.auth.authorization_code import (
    AuthorizationCode,
    Opener,
    RedirectHandler,
    loopback,
)
from accord.mcp.client.auth.authorizer import Authorizer, Credentials
from accord.mcp.client.auth.dpop import PrivateKey
from accord.mcp.client.auth.registration import RegisteredIdentity
from accord.mcp.client.auth.tokens import Method, Registration, Storage
from accord.transports.urls import parse_web_address

REDIRECT: Final = "http://127.0.0.1:0/callback"


class OAuth(Authorizer):
    """Tokens by user consent in a browser (OAuth 2.1, authorization code with PKCE).

    The client is one of: `client_id` with a `client_secret` or `private_key`, registered in advance
    with the authorization server `issuer`; `client_metadata_url`, the https URL of a client id
    metadata document; otherwise it registers itself as `client_name`.

    `redirect` is the redirect URI: a page of this program on the loopback interface, with port 0
    for any free port. `open_browser` shows a URL to the user instead of the system's browser;
    `redirect_handler` replaces the whole exchange, and returns the URL to which the authorization
    server sent the user. The user has `wait_seconds`.

    `scopes` are requested in addition to those that the server requires. `storage` keeps tokens and
    registrations, by default in memory. With `dpop`, tokens are bound to a key of this client, and
    unbound tokens are rejected. One object may serve several clients and servers.
    """

    def __init__(
        self,
        *,
        client_name: str = "accord",
        client_uri: str | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        private_key: PrivateKey | None = None,
        auth_method: Method | None = None,
        issuer: str | None = None,
        client_metadata_url: str | None = None,
        redirect: str = REDIRECT,
        open_browser: Opener | None = None,
        redirect_handler: RedirectHandler | None = None,
        wait_seconds: float = 300.0,
        scopes: Sequence[str] = (),
        storage: Storage | None = None,
        dpop: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        _check_redirect(redirect, redirect_handler)
        _check_metadata_url(client_metadata_url)
        registered = None
        if client_id is not None:
            registered = Registration(
                client_id=client_id,
                client_secret=client_secret,
                key=private_key,
                method=auth_method,
            )
        elif client_secret is not None or issuer is not None:
            raise ValueError("client_secret and issuer belong to a client_id")
        identity = RegisteredIdentity(
            client_name=client_name,
            client_uri=client_uri,
            registered=registered,
            metadata_url=client_metadata_url,
            key=private_key,
        )
        grant = AuthorizationCode(
            identity,
            redirect=redirect,
            opener=open_browser,
            handler=redirect_handler,
            seconds=wait_seconds,
        )
        super().__init__(
            grant,
            scopes=scopes,
            credentials=None if client_id is None else Credentials(client_id, issuer),
            storage=storage,
            dpop=dpop,
            tls=tls,
        )


def _check_redirect(redirect: str, handler: RedirectHandler | None) -> None:
    if handler is None:
        loopback(redirect)
    elif parse_web_address(redirect).port == 0:
        raise ValueError("a redirect_handler needs the redirect that the client is registered with")


def _check_metadata_url(url: str | None) -> None:
    # 2026-07-28, client id metadata documents: an https URL with a path.
    if url is not None and not (url.startswith("https://") and parse_web_address(url).path != "/"):
        raise ValueError(f"a client_metadata_url is an https URL with a path, not {url!r}")
