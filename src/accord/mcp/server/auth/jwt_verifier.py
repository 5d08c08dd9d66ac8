"""Verifiers for the tokens of one issuer: `JwtVerifier` and `Introspection`.

`JwtVerifier` checks access tokens signed by an issuer (RFC 9068, RFC 8725). The algorithm must be
in `ALGORITHMS`. The key is selected from the issuer's key set by the token's algorithm and key id.
No claim of a token is read before its signature is verified.

`Introspection` asks an authorization server (RFC 7662): for opaque tokens, and for tokens that must
end at the moment of revocation.
"""

from __future__ import annotations

import base64
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from inspect import isawaitable
from typing import Any, Final
from urllib.parse import quote_plus

from msgspec import UNSET, Struct

from accord.mcp.server.auth.authenticator import (
    ExpectedClaims,
    canonical_url,
    principal_of,
    trusted_url,
)
from accord.mcp.server.auth.issuers import (
    ALGORITHMS,
    FixedKeys,
    JoseHeader,
    KeySet,
    PublicKey,
    RemoteKeys,
    load_jwt,
    post_form,
    read_header,
    read_signed,
)
from accord.mcp.server.session import Principal

MAX_KEPT: Final = 10_000
"""The limit of cached tokens."""
KEEP_SECONDS: Final = 60.0
"""Lifetime of a cached token, in seconds. For at most this time a verified token is still accepted
after its issuer has withdrawn the key."""

_KINDS: Final = frozenset(("", "jwt", "at+jwt", "application/at+jwt"))
"""Accepted values of the header parameter `typ` of a token (RFC 8725, section 3.11). An issuer
signs other kinds of JWTs too, which must not be accepted as access tokens."""


class _CachedToken(Struct, frozen=True):
    principal: Principal
    until: float
    changes: int
    """The version of the issuer's key set with which this token was verified."""


class JwtVerifier:
    """A token verifier for the signed tokens of one issuer.

    `audience` is the audience of tokens for this server: the server's URL, or the issuer's name for
    the server. With several audiences, a token needs one of them. `jwks` is the URL of the issuer's
    keys, or the keys themselves; by default the issuer's metadata names the URL. `algorithms` are
    the accepted signature algorithms. `leeway` is the tolerated clock difference in seconds.
    """

    def __init__(
        self,
        *,
        issuer: str,
        audience: str | Iterable[str],
        jwks: str | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        algorithms: Iterable[str] = tuple(ALGORITHMS),
        leeway: float = 30.0,
        cache_seconds: float = 3_600.0,
        tls: ssl.SSLContext | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Check the settings.

        Raises ValueError for invalid settings, and ImportError if accord[auth] is not installed.
        """
        load_jwt()
        audiences = (audience,) if isinstance(audience, str) else tuple(audience)
        if not issuer or not audiences or not all(audiences):
            raise ValueError("a token is checked by its issuer and its audience: name both")
        self._algorithms = frozenset(algorithms)
        unknown = sorted(self._algorithms - ALGORITHMS.keys())
        if unknown or not self._algorithms:
            raise ValueError(
                f"tokens cannot be verified by {', '.join(unknown) or 'no algorithm'}: use some of "
                + ", ".join(ALGORITHMS)
            )
        self._expected = ExpectedClaims(
            issuer=issuer, audience=frozenset(map(canonical_url, audiences)), leeway=leeway
        )
        self._keys: KeySet
        if jwks is None or isinstance(jwks, str):
            self._keys = RemoteKeys(issuer, jwks, cache_seconds=cache_seconds, tls=tls, now=now)
        else:
            self._keys = FixedKeys(jwks)
        self._now = now
        self._kept: dict[bytes, _CachedToken] = {}
        self.authorization_servers = (issuer,)
        """The issuers of the tokens; the default `authorization_servers` of `ProtectedResource`."""
        self.resource = audiences[0]
        """The resource that the tokens are for; the default `resource` of `ProtectedResource`."""

    def verify(self, token: str) -> Principal | None | Awaitable[Principal | None]:
        digest = sha256(token.encode("utf-8", "surrogatepass")).digest()
        cached = self._kept.get(digest)
        if (
            cached is not None
            and self._now() < cached.until
            and cached.changes == self._keys.changes
        ):
            return cached.principal
        header = read_header(token)
        if header is None or not self._is_acceptable(header):
            return None
        keys = self._keys.find(None if header.kid is UNSET else header.kid, header.alg)
        if isawaitable(keys):
            return self._verify_later(token, digest, header.alg, keys)
        return self._verify_with(token, digest, header.alg, keys)

    def _is_acceptable(self, header: JoseHeader) -> bool:
        kind = "" if header.typ is UNSET else header.typ.lower()
        return header.alg in self._algorithms and kind in _KINDS

    async def _verify_later(
        self, token: str, digest: bytes, algorithm: str, keys: Awaitable[list[PublicKey]]
    ) -> Principal | None:
        return self._verify_with(token, digest, algorithm, await keys)

    def _verify_with(
        self, token: str, digest: bytes, algorithm: str, keys: list[PublicKey]
    ) -> Principal | None:
        for key in keys:
            claims = read_signed(token, key, algorithm)
            if claims is not None:
                principal = principal_of(claims, self._expected, self._now())
                if principal is not None:
                    self._keep(digest, principal)
                return principal
        return None

    def _keep(self, digest: bytes, principal: Principal) -> None:
        """Cache a verified token, as clients send it with every request."""
        assert principal.expires is not None
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        until = min(principal.expires, self._now() + KEEP_SECONDS)
        self._kept[digest] = _CachedToken(principal, until, self._keys.changes)


class _IntrospectedToken(Struct, frozen=True):
    principal: Principal
    until: float


class Introspection:
    """A token verifier backed by RFC 7662 introspection.

    It sends tokens to the endpoint at `url` and authenticates as `client_id`. `audience` is the
    audience of tokens for this server; use None only if the endpoint reports no tokens of other
    servers. With `issuer`, tokens of other issuers are refused. A token that the endpoint reports
    as active is accepted for `cache_seconds`, even if it is revoked in the meantime.
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
        """Raise ValueError for a URL that is neither https nor on the loopback interface."""
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
        self._kept: dict[bytes, _IntrospectedToken] = {}

    def verify(self, token: str) -> Principal | None | Awaitable[Principal | None]:
        digest = sha256(token.encode("utf-8", "surrogatepass")).digest()
        cached = self._kept.get(digest)
        if cached is not None and self._now() < cached.until:
            return cached.principal
        return self._ask(token, digest)

    async def _ask(self, token: str, digest: bytes) -> Principal | None:
        form = {"token": token, "token_type_hint": "access_token"}
        response = await post_form(self._address, form, self._headers, self._tls)
        # RFC 7662, section 2.2: only `true` means an active token
        active = response.pop("active", None) is True
        principal = principal_of(response, self._expected, self._now()) if active else None
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
        self._kept[digest] = _IntrospectedToken(principal, until)
