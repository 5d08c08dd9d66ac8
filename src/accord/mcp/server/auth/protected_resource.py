"""`ProtectedResource`: OAuth tokens, metadata about their issuers (RFC 9728), and DPoP proofs.

A DPoP proof shows possession of the key that a token is bound to (RFC 9449).
"""

from __future__ import annotations

import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import UNSET

from accord.mcp.server.auth.authenticator import (
    MAX_TOKEN,
    WELL_KNOWN,
    PresentedToken,
    Scheme,
    Verifier,
    canonical_url,
    challenge,
    is_scope,
    resource_url,
    trusted_url,
    well_known_url,
)
from accord.mcp.server.auth.bearer import BearerAuth
from accord.mcp.server.auth.issuers import ALGORITHMS, base64url, read_header, read_key, read_signed
from accord.mcp.server.session import Principal
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import Reply, text_reply
from accord.transports.http.web_app import JSON, Exchange, LivingApp

if TYPE_CHECKING:
    from accord.transports.asgi.web import WebAsgi


WINDOW_SECONDS: Final = 60.0
"""Tolerated difference between a proof's `iat` and now, in either direction."""
MAX_SEEN: Final = 100_000
"""The limit of remembered proofs; beyond it the oldest is forgotten."""


class DpopProofs:
    """A checker of DPoP proofs that also rejects replays within this process."""

    def __init__(self, *, now: Callable[[], float]) -> None:
        self._now = now
        self._seen: OrderedDict[bytes, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seen)

    def shows(self, proof: str, *, method: str, url: str, token: str, thumbprint: str) -> bool:
        """Return whether a DPoP proof is valid for a request, its token and its key.

        `thumbprint` identifies the key to which the token is bound. RFC 9449, section 4.3, lists
        the checks. A valid proof is recorded, so that it is not accepted again.
        """
        header = read_header(proof) if len(proof) <= MAX_TOKEN else None
        if header is None or header.alg not in ALGORITHMS or header.jwk is UNSET:
            return False
        if header.typ is UNSET or header.typ.lower() != "dpop+jwt" or "d" in header.jwk:
            return False
        key = read_key(header.jwk)
        if key is None or not _same(key.thumbprint, thumbprint):
            return False
        claims = read_signed(proof, key, header.alg)
        if claims is None or not self._is_for(claims, method, url, token):
            return False
        return self._is_new(claims, thumbprint)

    def _is_for(self, claims: dict[str, Any], method: str, url: str, token: str) -> bool:
        at, issued_at = claims.get("htu"), claims.get("iat")
        return (
            claims.get("htm") == method
            and isinstance(at, str)
            # Without query and fragment, which are not part of it.
            and canonical_url(at.partition("?")[0].partition("#")[0]) == canonical_url(url)
            and isinstance(issued_at, int | float)
            and abs(issued_at - self._now()) <= WINDOW_SECONDS
            and _same(claims.get("ath"), base64url(sha256(token.encode("ascii")).digest()))
        )

    def _is_new(self, claims: dict[str, Any], thumbprint: str) -> bool:
        """Record a proof; return whether it is used for the first time.

        RFC 9449, section 11.1.
        """
        id, now = claims.get("jti"), self._now()
        if not isinstance(id, str) or not id:
            return False
        while self._seen and next(iter(self._seen.values())) < now - 2 * WINDOW_SECONDS:
            self._seen.popitem(last=False)
        digest = sha256(f"{thumbprint} {id}".encode("utf-8", "surrogatepass")).digest()
        if digest in self._seen:
            return False
        if len(self._seen) >= MAX_SEEN:
            self._seen.popitem(last=False)
        self._seen[digest] = now
        return True


def _same(claimed: Any, expected: str) -> bool:
    return isinstance(claimed, str) and hmac.compare_digest(claimed.encode(), expected.encode())


_METHODS: Final = ("GET", "HEAD", "OPTIONS")
# Pages of every origin may read it: nothing in it is secret, and clients in browsers need it.
_OPEN: Final = b"access-control-allow-origin: *\r\n"
_PREFLIGHT: Final = (
    b"access-control-allow-methods: GET, HEAD\r\n"
    b"access-control-allow-headers: *\r\n"
    b"access-control-max-age: 600\r\n"
)


class ProtectedResource(BearerAuth):
    """Authentication by OAuth access tokens for `resource`.

    `resource` is the URL that clients use for this server, and `authorization_servers` are the
    issuers of its tokens; a `JwtVerifier` provides defaults for both. Every caller needs all of
    `scopes`; clients should request `scopes_supported` at first. The metadata is served at its
    well-known paths, and below the path of the server. `metadata_url` is the metadata URL in
    challenges, by default the well-known URL of `resource`. A token that is bound to a key (DPoP)
    needs a proof of that key; with `dpop_required` unbound tokens are refused.
    """

    def __init__(
        self,
        verifier: Verifier,
        *,
        resource: str = "",
        authorization_servers: Iterable[str] = (),
        scopes: Iterable[str] = (),
        scopes_supported: Iterable[str] = (),
        implies: Mapping[str, Iterable[str]] | None = None,
        name: str = "",
        documentation: str = "",
        metadata_url: str = "",
        dpop_required: bool = False,
    ) -> None:
        """Raise ValueError for invalid URLs and scopes."""
        super().__init__(verifier, scopes=scopes, implies=implies)
        self.resource = resource_url(resource or getattr(verifier, "resource", ""))
        trusted_url(self.resource)
        servers = tuple(authorization_servers) or getattr(verifier, "authorization_servers", ())
        if not servers:
            # 2026-07-28, authorization server discovery: at least one
            raise ValueError("authorization_servers must name at least one")
        for server in servers:
            trusted_url(server)
        supported = tuple(dict.fromkeys(scopes_supported)) or self._scopes
        _check_scopes((*self._scopes, *supported))
        self._dpop_required = dpop_required
        self._proofs = DpopProofs(now=time.time)
        self.metadata_url = metadata_url or well_known_url(self.resource)
        trusted_url(self.metadata_url)
        self._document = msgspec.json.encode(
            _said(
                {
                    "resource": self.resource,
                    "authorization_servers": servers,
                    "scopes_supported": supported,
                    "bearer_methods_supported": ("header",),
                    "resource_name": name,
                    "resource_documentation": documentation,
                    "dpop_signing_alg_values_supported": tuple(ALGORITHMS),
                    "dpop_bound_access_tokens_required": dpop_required,
                }
            )
        )
        self._paths = frozenset((unquote(self.metadata_path), WELL_KNOWN))

    # The metadata

    @property
    def metadata_path(self) -> str:
        """The path of the metadata from the root of the host."""
        return urlsplit(well_known_url(self.resource)).path

    @cached_property
    def metadata_asgi(self) -> WebAsgi:
        """The metadata as an ASGI application.

        Mount it at `metadata_path` if the server is itself mounted in an application: requests to
        the root of the host do not reach the server there.
        """
        from accord.transports.asgi.web import WebAsgi

        return WebAsgi(_Metadata(self))

    def page(self, request: WebRequest) -> Reply | None:
        below = request.place is not None and f"/{request.place}".rstrip("/") == WELL_KNOWN
        return self.describe(request) if below or request.path in self._paths else None

    def describe(self, request: WebRequest) -> Reply:
        """Return the answer to a request for the resource's metadata."""
        if request.method == "OPTIONS":
            return Reply(204, _OPEN + _PREFLIGHT)
        if request.method not in _METHODS:
            allow = f"allow: {', '.join(_METHODS)}\r\n".encode("ascii")
            return text_reply(405, "This method is not served here", allow)
        return Reply(200, JSON + b"cache-control: max-age=300\r\n" + _OPEN, self._document)

    # Tokens that are bound to a key

    def _is_bound(self, principal: Principal, found: PresentedToken, request: WebRequest) -> bool:
        """Return whether a token is presented as its binding to a key requires.

        RFC 9449, section 7.1: a bound token needs the scheme DPoP and a proof, and an unbound token
        must not use that scheme.
        """
        bound = principal.claims.get("cnf")
        if not bound:
            return found.scheme == "bearer" and not self._dpop_required
        thumbprint = bound.get("jkt") if isinstance(bound, dict) else None
        if found.scheme != "dpop" or not isinstance(thumbprint, str):
            return False
        return self._proofs.shows(
            request.fields.get("dpop", ""),
            method=request.method,
            url=self._url_of(request),
            token=found.token,
            thumbprint=thumbprint,
        )

    def _url_of(self, request: WebRequest) -> str:
        """Return the URL that the client requested.

        Scheme, host and the server's path come from `resource`, because proxies may have changed
        them in the request. Only the path below the server comes from the request.
        """
        return f"{self.resource.rstrip('/')}/{request.place}" if request.place else self.resource

    def _challenge(self, scheme: Scheme = "bearer", **parameters: str) -> bytes:
        extended = {**parameters, "resource_metadata": self.metadata_url}
        if scheme == "bearer" and not self._dpop_required:
            return challenge("Bearer", **extended)
        return challenge("DPoP", **extended, algs=" ".join(ALGORITHMS))


class _Metadata(LivingApp[Reply]):
    """An application that serves the metadata of a resource; implements `LivingApp`."""

    def __init__(self, resource: ProtectedResource) -> None:
        self._resource = resource

    def judge(self, request: WebRequest) -> Reply:
        return self._resource.describe(request)

    def too_large(self, request: WebRequest, most: int) -> Reply:
        return self._resource.describe(request)

    def handle(self, judged: Reply, body: bytes, exchange: Exchange) -> None:
        raise AssertionError("every request is answered by its head")

    async def start(self) -> None:
        """Do nothing: the metadata is static."""

    async def close(self, drain: float) -> None:
        """Do nothing: no request is ever in flight."""


def _check_scopes(scopes: Iterable[str]) -> None:
    for scope in scopes:
        if not is_scope(scope):
            raise ValueError(f"{scope!r} cannot be a scope")
        if scope == "offline_access":
            # 2026-07-28, authorization, refresh tokens: no resource requires it
            raise ValueError("offline_access is a matter between clients and their issuers")


def _said(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value}
