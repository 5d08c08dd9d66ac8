"""Authorization for servers: who calls, and what they may.

    authenticator       what an endpoint asks: who sends a request, and why nobody does
    bearer              `BearerAuth`: the rules of bearer tokens, around any verifier
    protected_resource  `ProtectedResource`: the same for OAuth, with metadata and DPoP
    verifier            what tells whose a token is
    static_tokens       `StaticTokens`: tokens that are known beforehand
    jwt_verifier        `JwtVerifier`: signed tokens of an issuer
    introspection       `Introspection`: an authorization server is asked about each token

Everything else is what these are made of. The names that applications need are here, and are
loaded when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.lazy_names import lazy

_HOMES = {
    "Authenticator": "accord.mcp.server.auth.authenticator",
    "BearerAuth": "accord.mcp.server.auth.bearer",
    "Introspection": "accord.mcp.server.auth.introspection",
    "JwtVerifier": "accord.mcp.server.auth.jwt_verifier",
    "Principal": "accord.mcp.server.principal",
    "ProtectedResource": "accord.mcp.server.auth.protected_resource",
    "StaticTokens": "accord.mcp.server.auth.static_tokens",
    "UnavailableError": "accord.mcp.server.auth.verifier",
    "Verifier": "accord.mcp.server.auth.verifier",
}

__all__ = list(_HOMES)


__getattr__, __dir__ = lazy(__name__, _HOMES)

if TYPE_CHECKING:
    from accord.mcp.server.auth.authenticator import Authenticator as Authenticator
    from accord.mcp.server.auth.bearer import BearerAuth as BearerAuth
    from accord.mcp.server.auth.introspection import Introspection as Introspection
    from accord.mcp.server.auth.jwt_verifier import JwtVerifier as JwtVerifier
    from accord.mcp.server.auth.protected_resource import ProtectedResource as ProtectedResource
    from accord.mcp.server.auth.static_tokens import StaticTokens as StaticTokens
    from accord.mcp.server.auth.verifier import (
        UnavailableError as UnavailableError,
        Verifier as Verifier,
    )
    from accord.mcp.server.principal import Principal as Principal
