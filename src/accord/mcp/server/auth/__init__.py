"""Authorization for servers: authentication of requests, and scopes.

    authenticator       authenticators, token verifiers, `StaticTokens`, challenges, claims
    bearer              `BearerAuth`: the rules of bearer tokens, for any verifier
    protected_resource  `ProtectedResource`: the same for OAuth, with metadata and DPoP
    jwt_verifier        `JwtVerifier` for signed tokens, `Introspection` for opaque ones
    issuers             metadata and key sets of issuers, and signatures of JWTs

The names that applications need are exported here, and loaded when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord import lazy_names

_HOMES = {
    "Authenticator": "accord.mcp.server.auth.authenticator",
    "BearerAuth": "accord.mcp.server.auth.bearer",
    "Introspection": "accord.mcp.server.auth.jwt_verifier",
    "JwtVerifier": "accord.mcp.server.auth.jwt_verifier",
    "Principal": "accord.mcp.server.session",
    "ProtectedResource": "accord.mcp.server.auth.protected_resource",
    "StaticTokens": "accord.mcp.server.auth.authenticator",
    "UnavailableError": "accord.mcp.server.auth.authenticator",
    "Verifier": "accord.mcp.server.auth.authenticator",
}

__all__ = list(_HOMES)


__getattr__, __dir__ = lazy_names(__name__, _HOMES)

if TYPE_CHECKING:
    from accord.mcp.server.auth.authenticator import (
        Authenticator as Authenticator,
        StaticTokens as StaticTokens,
        UnavailableError as UnavailableError,
        Verifier as Verifier,
    )
    from accord.mcp.server.auth.bearer import BearerAuth as BearerAuth
    from accord.mcp.server.auth.jwt_verifier import (
        Introspection as Introspection,
        JwtVerifier as JwtVerifier,
    )
    from accord.mcp.server.auth.protected_resource import ProtectedResource as ProtectedResource
    from accord.mcp.server.session import Principal as Principal
