"""Finding out who gives tokens for a server.

    401 ─▶ resource_metadata of the challenge, else the well-known places ─▶ authorization servers
              │ nowhere                                                          │
              ▼                                                                  ▼
           2025-03-26: the server's own host                   RFC 8414, OpenID Connect Discovery

Every document is held against what led to it, so that no server can speak for another.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct

from accord.mcp.client.auth.challenges import Challenge
from accord.mcp.client.auth.errors import DiscoveryError, UntrustedError, shown
from accord.mcp.client.auth.metadata import (
    ResourceMetadata,
    ServerMetadata,
    default_server,
    resource_metadata_urls,
    server_metadata_urls,
)
from accord.mcp.client.auth.trust import base_of, covers, is_local, trusted
from accord.mcp.client.auth.web import Web
from accord.transports.urls import shown as without_query
from accord.transports.web_address import parse

T = TypeVar("T")


class Realm(Struct, frozen=True, kw_only=True):
    """The authorization server of an MCP server, and the resource of its tokens."""

    server: str
    """The URL of the MCP server."""
    resource: str
    """The audience of tokens, exactly as in the resource metadata (RFC 8707)."""
    scopes_supported: tuple[str, ...] = ()
    authority: ServerMetadata
    """The authorization server."""
    local: bool
    """True if the MCP server is on this machine, so that related URLs may be local."""
    dpop_required: bool = False

    @property
    def issuer(self) -> str:
        return self.authority.issuer


async def discover(web: Web, server: str, challenge: Challenge, issuer: str | None) -> Realm:
    """Return the realm of `server`.

    Of several authorization servers it is `issuer`, or without one the first.

    Raises DiscoveryError and UntrustedError.
    """
    address = trusted(server, "a server that wants a token", local=True)
    local = is_local(address)
    found = await _resource_metadata(web, server, challenge, local=local)
    if found is None:
        return await _without_metadata(web, server, issuer)
    if not covers(found.resource, server):
        # 2026-07-28, discovery, and RFC 9728, section 3.3: ignore metadata of another resource.
        raise UntrustedError(
            f"the metadata of {without_query(server)} is for another resource: "
            f"{shown(found.resource)!r}"
        )
    return Realm(
        server=server,
        resource=found.resource,
        scopes_supported=tuple(found.scopes_supported or ()),
        authority=await authority_of(web, _choose(found, issuer), local=local),
        local=local,
        dpop_required=found.dpop_bound_access_tokens_required,
    )


async def authority_of(web: Web, issuer: str, *, local: bool) -> ServerMetadata:
    """Return the metadata of an authorization server.

    Raises DiscoveryError and UntrustedError.
    """
    address = trusted(issuer, "an authorization server's identifier", local=local)
    other = ""
    for url in server_metadata_urls(address):
        found = await _document(web, url, ServerMetadata, local=local)
        if found is None:
            continue
        # RFC 8414, section 3.3: the issuer must equal the one that the URL was derived from.
        if found.issuer == issuer:
            return _checked(found, local=local)
        other = found.issuer
    if other:
        raise UntrustedError(f"{issuer} has metadata that is of another issuer, {shown(other)!r}")
    raise DiscoveryError(f"the authorization server {issuer} has no metadata")


async def _resource_metadata(
    web: Web, server: str, challenge: Challenge, *, local: bool
) -> ResourceMetadata | None:
    if challenge.resource_metadata:
        # 2026-07-28, discovery: a URL in the challenge takes precedence.
        url = challenge.resource_metadata
        found = await _document(web, url, ResourceMetadata, local=local)
        if found is None:
            raise DiscoveryError(f"there is no metadata where the server says: {shown(url)!r}")
        return found
    for url in resource_metadata_urls(parse(server)):
        found = await _document(web, url, ResourceMetadata, local=local)
        if found is not None:
            return found
    return None


async def _without_metadata(web: Web, server: str, issuer: str | None) -> Realm:
    """Return the realm of a server without resource metadata (2025-03-26).

    The server's own origin is the authorization server, with default endpoints if it has no
    metadata for that either.
    """
    address = parse(server)
    local, base = is_local(address), base_of(address)
    found: ServerMetadata | None = None
    for url in server_metadata_urls(parse(base)):
        found = found or await _document(web, url, ServerMetadata, local=local)
    # No document named an issuer to compare with, so any issuer of the same origin is accepted.
    if found is not None and not f"{found.issuer}/".startswith(f"{base}/"):
        raise UntrustedError(
            f"{base} has metadata that is of another issuer, {shown(found.issuer)!r}"
        )
    authority = default_server(address) if found is None else _checked(found, local=local)
    if issuer is not None and issuer.rstrip("/") != authority.issuer.rstrip("/"):
        raise _another_issuer(issuer)
    path = "" if address.path == "/" else address.path
    return Realm(server=server, resource=f"{base}{path}", authority=authority, local=local)


def _choose(found: ResourceMetadata, issuer: str | None) -> str:
    if not found.authorization_servers:
        raise DiscoveryError(f"the metadata of {found.resource} names no authorization server")
    if issuer is None:
        return found.authorization_servers[0]
    if issuer not in found.authorization_servers:
        raise _another_issuer(issuer)
    return issuer


def _another_issuer(issuer: str) -> UntrustedError:
    # 2026-07-28, client registration: credentials are bound to the server that issued them.
    return UntrustedError(
        f"the server's tokens no longer come from {shown(issuer)!r}, where this client is known",
        advice="Register the client with the new authorization server, and give its credentials.",
    )


def _checked(found: ServerMetadata, *, local: bool) -> ServerMetadata:
    for url in (found.token_endpoint, found.authorization_endpoint, found.registration_endpoint):
        if url is not None:
            trusted(url, "an endpoint of the authorization server", local=local)
    return found


async def _document(web: Web, url: str, kind: type[T], *, local: bool) -> T | None:
    """Return a document, None if it is missing. Raise DiscoveryError for HTTP 5xx."""
    reply = await web.get(trusted(url, "the place of a server's metadata", local=local))
    if reply.status >= 500:
        raise DiscoveryError(f"{url} answered HTTP {reply.status}", recoverable=True)
    # Some servers answer every URL with 200 and an HTML page.
    return reply.read(kind) if reply.status == 200 else None
