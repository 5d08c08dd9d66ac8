"""Authorization for servers: authentication of requests, and scopes.

    authenticator       authenticators, the credentials of requests, and challenges
    bearer              `BearerAuth`: the rules of bearer tokens, for any verifier
    protected_resource  `ProtectedResource`: the same for OAuth, with metadata and DPoP
    dpop                DPoP proofs
    verifier            verifiers, `StaticTokens`, and the rules of claims
    jwt_verifier        `JwtVerifier`: signed tokens of an issuer
    introspection       `Introspection`: asks an authorization server about each token
    issuers             metadata and key sets of issuers
    signatures          signatures of JWTs
    resource_url        URLs of resources and issuers

The names that applications need are exported here, and loaded when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord import lazy_names

_HOMES = {
    "Authenticator": "accord.mcp.server.auth.authenticator",
    "BearerAuth": "accord.mcp.server.auth.bearer",
    "Introspection": "accord.mcp.server.auth.introspection",
    "JwtVerifier": "accord.mcp.server.auth.jwt_verifier",
    "Principal": "accord.mcp.server.session",
    "ProtectedResource": "accord.mcp.server.auth.protected_resource",
    "StaticTokens": "accord.mcp.server.auth.verifier",
    "UnavailableError": "accord.mcp.server.auth.verifier",
    "Verifier": "accord.mcp.server.auth.verifier",
}

__all__ = list(_HOMES)


__getattr__, __dir__ = lazy_names(__name__, _HOMES)

if TYPE_CHECKING:
    from accord.mcp.server.auth.authenticator import Authenticator as Authenticator
    from accord.mcp.server.auth.bearer import BearerAuth as BearerAuth
    from accord.mcp.server.auth.introspection import Introspection as Introspection
    from accord.mcp.server.auth.jwt_verifier import JwtVerifier as JwtVerifier
    from accord.mcp.server.auth.protected_resource import ProtectedResource as ProtectedResource
    from accord.mcp.server.auth.verifier import (
        StaticTokens as StaticTokens,
        UnavailableError as UnavailableError,
        Verifier as Verifier,
    )
    from accord.mcp.server.session import Principal as Principal
