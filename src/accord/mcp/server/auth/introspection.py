"""`Introspection`: token verification by an authorization server (RFC 7662).

For opaque tokens, and for tokens that must end at the moment of revocation.
"""

from __future__ import annotations

import base64
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable
from hashlib import sha256
from typing import Final
from urllib.parse import quote_plus

from msgspec import Struct

from accord.mcp.server.auth.issuers import post_form
from accord.mcp.server.auth.resource_url import canonical_url, trusted_url
from accord.mcp.server.auth.verifier import ExpectedClaims, principal_of
from accord.mcp.server.session import Principal

MAX_KEPT: Final = 10_000


class _CachedToken(Struct, frozen=True):
    principal: Principal
    until: float


class Introspection:
    """A token verifier backed by RFC 7662 introspection.

    Asks the endpoint at `url` as `client_id`. `audience` is the audience of tokens for this server;
    None only if the endpoint reports no tokens of other servers. `issuer` is compared if given. A
    valid token stays valid for `cache_seconds`, even if it is revoked in the meantime.
    """

    def __init__(
        self,
        url: str,
        *,
        client_id: str,
        client_secret: str,
        audience: str | Iterable[str] | None,
        issuer: str | None = None,
        leeway: float = 30.0,
        cache_seconds: float = 0.0,
        tls: ssl.SSLContext | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Raise ValueError for a URL that tokens must not be sent to."""
        self._address = trusted_url(url)
        audiences = (audience,) if isinstance(audience, str) else audience
        self._expected = ExpectedClaims(
            issuer=issuer,
            audience=None if audiences is None else frozenset(map(canonical_url, audiences)),
            leeway=leeway,
            must_expire=False,
        )
        # RFC 6749, section 2.3.1: both are encoded as in forms before they are put together
        secret = f"{quote_plus(client_id)}:{quote_plus(client_secret)}".encode("ascii")
        self._headers = {"authorization": f"Basic {base64.b64encode(secret).decode('ascii')}"}
        self._cache_seconds = cache_seconds
        self._tls = tls
        self._now = now
        self._kept: dict[bytes, _CachedToken] = {}

    def verify(self, token: str) -> Principal | None | Awaitable[Principal | None]:
        digest = sha256(token.encode("utf-8", "surrogatepass")).digest()
        kept = self._kept.get(digest)
        if kept is not None and self._now() < kept.until:
            return kept.principal
        return self._ask(token, digest)

    async def _ask(self, token: str, digest: bytes) -> Principal | None:
        form = {"token": token, "token_type_hint": "access_token"}
        said = await post_form(self._address, form, self._headers, self._tls)
        # RFC 7662, section 2.2: only `true` means an active token
        active = said.pop("active", None) is True
        principal = principal_of(said, self._expected, self._now()) if active else None
        self._kept.pop(digest, None)
        if principal is not None and self._cache_seconds > 0:
            self._keep(digest, principal)
        return principal

    def _keep(self, digest: bytes, principal: Principal) -> None:
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        until = self._now() + self._cache_seconds
        if principal.expires is not None:
            until = min(until, principal.expires)
        self._kept[digest] = _CachedToken(principal, until)
