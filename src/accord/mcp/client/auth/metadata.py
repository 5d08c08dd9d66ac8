"""The documents in which servers say where tokens come from, and where they are. Pure."""

from __future__ import annotations

from msgspec import Struct

from accord.mcp.client.auth.trust import base_of
from accord.transports.web_address import WebAddress


class ResourceMetadata(Struct, frozen=True, kw_only=True):
    """Metadata of a protected resource (RFC 9728)."""

    resource: str
    authorization_servers: list[str] = []
    scopes_supported: list[str] | None = None
    dpop_bound_access_tokens_required: bool = False


class ServerMetadata(Struct, frozen=True, kw_only=True):
    """Metadata of an authorization server (RFC 8414, OpenID Connect Discovery)."""

    issuer: str
    token_endpoint: str
    authorization_endpoint: str | None = None
    registration_endpoint: str | None = None
    scopes_supported: list[str] | None = None
    token_endpoint_auth_methods_supported: list[str] | None = None
    code_challenge_methods_supported: list[str] | None = None
    authorization_response_iss_parameter_supported: bool = False
    client_id_metadata_document_supported: bool = False
    dpop_signing_alg_values_supported: list[str] | None = None


def resource_metadata_urls(server: WebAddress) -> list[str]:
    """Return the metadata URLs of a server in order of trial (2026-07-28, discovery)."""
    root = f"{base_of(server)}/.well-known/oauth-protected-resource"
    target = server.target.removeprefix("/") if server.path == "/" else server.target
    return [f"{root}{target}", root] if target else [root]


def server_metadata_urls(issuer: WebAddress) -> list[str]:
    """Return the metadata URLs of an authorization server in order of trial."""
    base, path = base_of(issuer), issuer.path.rstrip("/")
    urls = [
        f"{base}/.well-known/oauth-authorization-server{path}",
        f"{base}/.well-known/openid-configuration{path}",
    ]
    return [*urls, f"{base}{path}/.well-known/openid-configuration"] if path else urls


def default_server(server: WebAddress) -> ServerMetadata:
    """Return default endpoints for a server without metadata (2025-03-26, fallbacks)."""
    base = base_of(server)
    return ServerMetadata(
        issuer=base,
        authorization_endpoint=f"{base}/authorize",
        token_endpoint=f"{base}/token",
        registration_endpoint=f"{base}/register",
        code_challenge_methods_supported=["S256"],  # 2025-03-26: all servers must support PKCE
    )
