"""The authorizer: adds tokens to requests, and obtains new tokens when servers demand them.

    headers ──▶ the token of the server, renewed before it expires
    401 ──▶ token renewed, or a new one obtained after discovery
    403 insufficient_scope ──▶ new token with the additional scopes

One authorizer may serve many servers, but sends each token only to the server that it was issued
for. At any time one request per server obtains a token; concurrent requests wait for it.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from accord.mcp.client.auth.discovery import (
    Challenge,
    Realm,
    authority_of,
    challenge_in,
    discover,
    union,
    wanted,
)
from accord.mcp.client.auth.dpop import Proofs, new_key, require_signing
from accord.mcp.client.auth.registration import NONCE, Grant, TokenAttempt
from accord.mcp.client.auth.tokens import MemoryStorage, Records, Storage, Token
from accord.mcp.client.auth.web import (
    AuthorizationError,
    OAuthError,
    Web,
    insufficient_scope,
    is_local,
    origin_of,
)
from accord.mcp.client.auth_hook import AuthRequest
from accord.transports.urls import parse_web_address, shown

log = logging.getLogger("accord.mcp.auth")

MAX_ATTEMPTS: Final = 3
"""Maximum number of times that one request is repeated, for more scopes or another nonce."""
PAUSE_SECONDS: Final = 10.0
"""Pause between a failed renewal and the next one, unless an OAuth error was the reason."""


class Credentials(Struct, frozen=True):
    """A client that was registered in advance, and its authorization server."""

    client_id: str
    """Empty for a client that is identified by its assertion alone."""
    issuer: str | None


class Authorizer:
    """A source of tokens for any number of servers; implements `Auth`.

    All tokens are obtained by the same grant, and added to the headers of requests.
    """

    def __init__(
        self,
        grant: Grant,
        *,
        scopes: Sequence[str],
        credentials: Credentials | None = None,
        storage: Storage | None,
        dpop: bool,
        tls: ssl.SSLContext | None,
    ) -> None:
        if dpop:
            require_signing()
        self._grant = grant
        self._scopes = tuple(scopes)
        self._credentials = credentials
        self._records = Records(MemoryStorage() if storage is None else storage)
        self._dpop = dpop
        self._proofs: Proofs | None = None
        self._one_key = asyncio.Lock()
        self._tls = tls
        self._accesses: dict[str, _Access] = {}

    async def headers(self, request: AuthRequest) -> Mapping[str, str]:
        """Return the Authorization and DPoP headers, or none without a token."""
        access = self._access(request)
        if access is None:
            return {}
        # After a challenge, use the token that was obtained for this request, even if it is stale
        # already.
        if request.attempt == 0 and access.needs_care(time.time()):
            async with access.lock:
                await self._prepare(access)
        return await self._present(access.token, request)

    async def challenged(
        self, request: AuthRequest, status: int, headers: Mapping[str, str]
    ) -> bool:
        """React to a 401 or 403 response; return whether to send the request again.

        Obtains another token if necessary.

        Raises AuthorizationError if no usable token can be obtained.
        """
        access = self._access(request)
        if access is None:
            return False
        challenge = challenge_in(headers.get("www-authenticate", ""))
        if self._proofs is not None:
            learned = self._proofs.learn(parse_web_address(request.url), headers)
            if challenge.error == NONCE:
                # RFC 9449, section 9: repeat with the same token, and a proof that contains the
                # server's nonce.
                return learned and request.attempt < MAX_ATTEMPTS
        async with access.lock:
            if access.token is not None and _sent(request) != access.token.authorization:
                return True  # another request replaced the token in the meantime
            if await self._take_over(access):
                return True
            if status == 401:
                return await self._after_401(access, request, challenge)
            if challenge.error == "insufficient_scope" and challenge.scopes:
                return await self._step_up(access, request, challenge)
        return False

    # One server

    def _access(self, request: AuthRequest) -> _Access | None:
        """Return the `_Access` of the MCP server that a request belongs to.

        Returns None if the request's URL is not of the same origin as the server.
        """
        server, url = request.server, request.url
        if url != server and origin_of(parse_web_address(url)) != origin_of(
            parse_web_address(server)
        ):
            return None
        return self._accesses.setdefault(request.server, _Access(request.server))

    async def _prepare(self, access: _Access) -> None:
        """Load the stored token if necessary, and renew a token that is about to expire."""
        if not access.loaded:
            access.token = await self._kept(access.server)
            access.loaded = True
        if access.token is not None and access.needs_care(time.time()):
            await self._renew(access, access.token)

    async def _kept(self, server: str) -> Token | None:
        token = await self._records.token_for(server)
        if token is None or not self._is_usable(token):
            return None
        return token if await self._issuer() in (None, token.issuer) else None

    def _is_usable(self, token: Token) -> bool:
        return (token.scheme == "DPoP") is self._dpop

    async def _take_over(self, access: _Access) -> bool:
        """Use a token that another client with the same storage obtained.

        Return whether there was such a token and it is not stale.
        """
        stored = await self._kept(access.server)
        if stored is None or stored == access.token:
            return False
        access.token = stored
        return not stored.is_stale(time.time())

    async def _renew(self, access: _Access, token: Token) -> None:
        """Replace a token without asking the user; drop it if the grant cannot renew it."""
        if await self._take_over(access):
            return
        token = access.token or token
        try:
            async with Web(self._tls) as web:
                realm = await self._realm(access, token, web)
                renewed = await self._grant.renew(await self._attempt(web, realm), token)
        except OAuthError:
            raise
        except AuthorizationError as error:
            log.info("the token for %s could not be renewed: %s", shown(access.server), error)
            access.left_alone_until = time.time() + PAUSE_SECONDS
            return  # keep the old token: the server decides whether it is still valid
        if renewed is None:
            await self._records.forget(token)
            access.token = None
        else:
            await self._keep(access, renewed)

    async def _realm(self, access: _Access, token: Token, web: Web) -> Realm:
        if access.realm is None or access.realm.issuer != token.issuer:
            local = is_local(parse_web_address(access.server))
            access.realm = Realm(
                server=access.server,
                resource=token.resource,
                authority=await authority_of(web, token.issuer, local=local),
                local=local,
            )
        return access.realm

    # Challenges

    async def _after_401(self, access: _Access, request: AuthRequest, challenge: Challenge) -> bool:
        refused = access.token
        async with Web(self._tls) as web:
            realm = await self._discover(web, access, challenge)
            attempt = await self._attempt(web, realm)
            if refused is not None and _is_of(refused, realm):
                if request.attempt == 0:
                    renewed = await self._grant.renew(attempt, refused)
                    if renewed is not None:
                        await self._keep(access, renewed)
                        return True
                elif refused is access.obtained:
                    raise AuthorizationError(
                        f"{shown(access.server)} refuses the token that was got for it just now"
                    )
            shared = await self._records.token(realm.issuer, realm.resource)
            if shared is not None and self._helps(shared, refused, challenge):
                await self._keep(access, shared)
                return True
            if not self._may_ask(request):
                return False
            scopes = wanted(
                challenged=challenge.scopes,
                supported=realm.scopes_supported,
                before=() if refused is None else refused.requested,
                configured=self._scopes,
            )
            access.obtained = await self._grant.obtain(attempt, scopes)
            await self._keep(access, access.obtained)
        return True

    def _helps(self, shared: Token, refused: Token | None, challenge: Challenge) -> bool:
        """Return whether the stored token `shared` can replace the refused token.

        Both tokens are for the same resource. `refused` is None if the request had no token.
        """
        return (
            self._is_usable(shared)
            and (refused is None or shared.authorization != refused.authorization)
            and not shared.is_stale(time.time())
            and set(challenge.scopes) <= set(shared.granted)
        )

    async def _step_up(self, access: _Access, request: AuthRequest, challenge: Challenge) -> bool:
        token = access.token
        granted = () if token is None else token.granted
        missing = tuple(scope for scope in challenge.scopes if scope not in granted)
        # 2026-07-28, step-up: limit the number of attempts, and do not request again a scope that
        # was withheld.
        if not missing or request.attempt >= MAX_ATTEMPTS or access.withheld.issuperset(missing):
            raise insufficient_scope(missing or challenge.scopes)
        if not self._may_ask(request):
            return False
        before = self._scopes if token is None else token.requested
        async with Web(self._tls) as web:
            realm = access.realm or await self._discover(web, access, challenge)
            attempt = await self._attempt(web, realm)
            obtained = await self._grant.obtain(attempt, union(before, challenge.scopes))
        access.withheld.update(scope for scope in missing if scope not in obtained.granted)
        access.obtained = obtained
        await self._keep(access, obtained)
        return True

    def _may_ask(self, request: AuthRequest) -> bool:
        """Return whether this request may obtain a new token from the grant.

        An interactive grant opens a browser, and is therefore limited to POST requests, which come
        from the application. GET (a reopened stream) and DELETE (the end of a session) happen in
        the background.
        """
        return not self._grant.interactive or request.method == "POST"

    async def _discover(self, web: Web, access: _Access, challenge: Challenge) -> Realm:
        realm = await discover(web, access.server, challenge, await self._issuer())
        if realm.dpop_required and not self._dpop:
            raise AuthorizationError(
                f"{shown(access.server)} takes no tokens but those bound to a key",
                advice="Ask for such tokens with dpop=True.",
            )
        access.realm = realm
        return realm

    async def _issuer(self) -> str | None:
        """Return the issuer that the client's credentials are for; None for any issuer.

        This is the configured issuer, or else the first one that accepted the credentials.
        """
        if self._credentials is None:
            return None
        if self._credentials.issuer is not None or not self._credentials.client_id:
            return self._credentials.issuer
        return await self._records.issuer_of(self._credentials.client_id)

    async def _attempt(self, web: Web, realm: Realm) -> TokenAttempt:
        return TokenAttempt(web, realm, self._records, await self._proofs_of_possession())

    async def _keep(self, access: _Access, token: Token) -> None:
        access.token = token
        await self._records.keep(access.server, token)
        if self._credentials is not None and self._credentials.client_id:
            await self._records.keep_issuer(self._credentials.client_id, token.issuer)

    # Headers of requests

    async def _present(self, token: Token | None, request: AuthRequest) -> dict[str, str]:
        if token is None:
            return {}
        headers = {"authorization": token.authorization}
        proofs = await self._proofs_of_possession()
        if proofs is not None:
            address = parse_web_address(request.url)
            headers["dpop"] = proofs.proof(request.method, address, token.access_token)
        return headers

    async def _proofs_of_possession(self) -> Proofs | None:
        if not self._dpop:
            return None
        async with self._one_key:
            if self._proofs is None:
                key = await self._records.key()
                if key is None:
                    key = new_key()
                    await self._records.keep_key(key)
                self._proofs = Proofs(key)
        return self._proofs


class _Access:
    """The current token of one MCP server, and the progress of obtaining one."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.lock = asyncio.Lock()
        self.loaded = False
        self.token: Token | None = None
        self.obtained: Token | None = None
        """The last token that was obtained by the grant, and not merely renewed."""
        self.realm: Realm | None = None
        self.withheld: set[str] = set()
        """Scopes that were requested and not granted."""
        self.left_alone_until = 0.0

    def needs_care(self, now: float) -> bool:
        """Return whether the token must be loaded from storage, or renewed."""
        if self.token is None:
            return not self.loaded
        return self.token.is_stale(now) and now >= self.left_alone_until


def _sent(request: AuthRequest) -> str:
    return request.headers.get("authorization", "")


def _is_of(token: Token, realm: Realm) -> bool:
    return (token.issuer, token.resource) == (realm.issuer, realm.resource)
