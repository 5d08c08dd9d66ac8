"""The authorization code grant: the user consents in a browser, with PKCE (RFC 7636).

    async with Client("https://example.org/mcp", auth=OAuth(client_name="Notes")) as client:
        …

The response arrives as a request of the user's browser to this machine. Any web page can send such
a request, so only a request with the expected `state` is accepted.
"""

from __future__ import annotations

import asyncio
import hmac
import ssl
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from inspect import isawaitable
from typing import Final, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from msgspec.structs import replace

from accord.jsonrpc.protocol.channel import Limits
from accord.jsonrpc.protocol.errors import ConnectError
from accord.mcp.client.auth.authorizer import Authorizer, Credentials
from accord.mcp.client.auth.discovery import Realm, for_refreshing
from accord.mcp.client.auth.dpop import PrivateKey, code_challenge, unguessable
from accord.mcp.client.auth.registration import (
    RegisteredIdentity,
    TokenAttempt,
    known_client,
    register,
)
from accord.mcp.client.auth.tokens import Method, Registration, Storage, Token
from accord.mcp.client.auth.web import (
    AuthorizationError,
    DiscoveryError,
    OAuthError,
    UntrustedError,
    base_of,
    is_local,
    oauth_error,
)
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import Reply
from accord.transports.http.server import listen_web
from accord.transports.http.web_app import SMALL_BODY, BodyLimit, Exchange, LivingApp
from accord.transports.options import Options
from accord.transports.urls import WebAddress, parse_web_address

Opener: TypeAlias = Callable[[str], Awaitable[None] | None]
"""A function that shows a URL to the user, such as in a browser."""
RedirectHandler: TypeAlias = Callable[[str], Awaitable[str]]
"""A function that opens a URL for the user, and returns the URL that the authorization server
redirected to."""

MAX_PARAMETERS: Final = 50
CLOSE_SECONDS: Final = 2.0

_HEADERS: Final = (
    b"content-type: text/html; charset=utf-8\r\n"
    b"cache-control: no-store\r\n"
    b"referrer-policy: no-referrer\r\n"  # the URL of the page contains the code
    b"x-content-type-options: nosniff\r\n"
    b"content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
)
_PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>%s</title>
<style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}
@media(prefers-color-scheme:dark){body{background:#16181c;color:#e8e8e8}}</style>
<h1>%s</h1><p>%s</p>
"""


def _page(title: str, text: str) -> bytes:
    return (_PAGE % (title, title, text)).encode()


_DONE: Final = _page("Back to your program", "It has got the answer. You can close this page.")
_STRANGE: Final = _page("Nothing to see here", "This is not an answer that is waited for.")


class RedirectListener:
    """A receiver of authorization responses at one redirect URI."""

    def __init__(self, uri: str, take: Callable[[str, str], Awaitable[str]]) -> None:
        self.uri = uri
        self._take = take
        """The function that opens an authorization URL and returns the redirect URL.

        The second argument is the state that the redirect URL must contain.
        """

    @staticmethod
    def handled(uri: str, handler: RedirectHandler) -> RedirectListener:
        """Return a listener that calls the application's handler, and opens no port."""
        return RedirectListener(uri, lambda url, _state: handler(url))

    async def authorize(self, url: str, state: str, seconds: float) -> dict[str, str]:
        """Open an authorization URL, and return the parameters of the response.

        Raises AuthorizationError if no browser can be opened, if nothing arrives within `seconds`,
        or if the response is malformed or has another `state`.
        """
        try:
            async with asyncio.timeout(seconds):
                answer = parameters_of(await self._take(url, state))
        except TimeoutError:
            raise AuthorizationError(
                f"nobody answered within {seconds:g} seconds", recoverable=True
            ) from None
        # 2026-07-28, open redirection: discard responses with another state.
        if not same_state(answer, state):
            raise UntrustedError("the answer of the authorization server has another state")
        return answer


@asynccontextmanager
async def listening(uri: str, opener: Opener | None) -> AsyncIterator[RedirectListener]:
    """Open a listener at a redirect URI on the loopback interface; close it at exit.

    Port 0 means any free port. Raises ConnectError if the port cannot be bound.
    """
    pages = _Pages()
    listener = await listen_web(uri, pages, Options(limits=Limits(max_message_bytes=1024)))
    at = parse_web_address(listener.url)

    async def take(url: str, state: str) -> str:
        pages.state = state
        await _open(opener, url)
        return f"{uri}?{await pages.answered}"

    try:
        yield RedirectListener(f"{base_of(at)}{at.path}", take)
    finally:
        with suppress(TimeoutError):
            # Browsers keep idle connections open, so the listener is closed with a timeout.
            async with asyncio.timeout(CLOSE_SECONDS):
                await listener.close()


def loopback(uri: str) -> WebAddress:
    """Parse a redirect URI on the loopback interface.

    Raises ValueError for any other URI.
    """
    try:
        address = parse_web_address(uri)
    except ConnectError as error:
        raise ValueError(f"the redirect URI is not a URL: {error.message}") from error
    if address.scheme != "http" or not is_local(address) or address.query:
        raise ValueError(
            f"cannot wait for answers at {uri!r}: give an http URL on the loopback interface, "
            "such as http://127.0.0.1:0/callback, or a redirect_handler"
        )
    return address


def with_port_of(uri: str, registered: str) -> str:
    """Return `uri` with its port 0 replaced by the port of the URI `registered`.

    `registered` is the redirect URI that the authorization server already knows; empty for none.
    Returns `uri` unchanged if its port is not 0, or if the URIs differ in more than the port.
    """
    address = parse_web_address(uri)
    if address.port != 0 or not registered:
        return uri
    before = parse_web_address(registered)
    same = replace(before, port=0) == address
    return f"{base_of(before)}{before.path}" if same else uri


def parameters_of(url: str) -> dict[str, str]:
    """Return the query parameters of an authorization response.

    Raises UntrustedError if the query is malformed or repeats a parameter.
    """
    try:
        pairs = parse_qsl(
            urlsplit(url).query, keep_blank_values=True, max_num_fields=MAX_PARAMETERS
        )
    except ValueError:
        raise UntrustedError("the answer of the authorization server is malformed") from None
    parameters = dict(pairs)
    # RFC 6749, section 3.1: parameters must not be repeated.
    if len(parameters) != len(pairs):
        raise UntrustedError("the answer of the authorization server says something twice")
    return parameters


def same_state(answer: Mapping[str, str], state: str) -> bool:
    return hmac.compare_digest(answer.get("state", "").encode(), state.encode())


async def _open(opener: Opener | None, url: str) -> None:
    if opener is not None:
        opened = opener(url)
        if isawaitable(opened):
            await opened
    elif not await asyncio.to_thread(webbrowser.open, url):
        raise AuthorizationError(
            "no browser could be opened for the user to log in",
            advice="Give OAuth an open_browser that shows the URL to the user.",
        )


class _Pages(LivingApp[str]):
    """The web page at the redirect URI; implements `WebApp`.

    It receives the authorization response, and asks the user to return to the program.
    """

    def __init__(self) -> None:
        self.state = ""
        self.answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def judge(self, request: WebRequest) -> Reply | str:
        if request.method != "GET" or request.place != "":
            return Reply(404, _HEADERS, _STRANGE)
        return request.query

    def body_limit(self, judged: str) -> BodyLimit:
        return SMALL_BODY

    def too_large(self, request: WebRequest, most: int) -> Reply:
        return Reply(413, _HEADERS, _STRANGE)

    def handle(self, judged: str, body: bytes, exchange: Exchange) -> None:
        if self._is_answer(judged):
            if not self.answered.done():
                self.answered.set_result(judged)
            exchange.reply(_DONE, headers=_HEADERS)
        else:
            exchange.reply(_STRANGE, status=400, headers=_HEADERS)

    def _is_answer(self, query: str) -> bool:
        if not self.state:
            return False
        try:
            return same_state(parameters_of(f"?{query}"), self.state)
        except UntrustedError:
            return False

    async def start(self) -> None:
        """Do nothing: there is nothing to start."""

    async def close(self, drain: float) -> None:
        """Do nothing: no request takes long."""


class AuthorizationCode:
    """The authorization code grant with PKCE; implements `Grant`."""

    interactive = True

    def __init__(
        self,
        identity: RegisteredIdentity,
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

    async def obtain(self, attempt: TokenAttempt, scopes: tuple[str, ...]) -> Token:
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

    async def renew(self, attempt: TokenAttempt, token: Token) -> Token | None:
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
        self,
        attempt: TokenAttempt,
        client: Registration,
        redirect: RedirectListener,
        scopes: tuple[str, ...],
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
    async def _listening(self, client: Registration | None) -> AsyncIterator[RedirectListener]:
        if self._handler is not None:
            yield RedirectListener.handled(self._redirect, self._handler)
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
    """Return the authorization code in an authorization response.

    Raises UntrustedError if the response names an issuer other than the realm's, or has to name one
    and does not. Raises OAuthError for an error of the authorization server, and AuthorizationError
    if the code is missing.
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
    """Add query parameters to the URL of an endpoint.

    Other parameters of the URL remain (RFC 6749, section 3.1).
    """
    parts = urlsplit(url)
    existing = [pair for pair in parse_qsl(parts.query) if pair[0] not in parameters]
    return urlunsplit(parts._replace(query=urlencode([*existing, *parameters.items()])))


REDIRECT: Final = "http://127.0.0.1:0/callback"


class OAuth(Authorizer):
    """A source of tokens by user consent in a browser: `Client(auth=OAuth(…))`.

    The grant is the authorization code with PKCE (OAuth 2.1).

    The client is one of: `client_id` with a `client_secret` or `private_key`, registered in advance
    with the authorization server `issuer`; `client_metadata_url`, the https URL of a client id
    metadata document; otherwise it registers itself as `client_name`.

    `redirect` is the redirect URI: a page of this program on the loopback interface, with port 0
    for any free port. `open_browser` shows a URL to the user instead of the system's browser;
    `redirect_handler` replaces the whole exchange, and returns the URL to which the authorization
    server sent the user. The user has `wait_seconds` to consent.

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
