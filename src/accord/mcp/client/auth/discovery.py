"""Discovery of the authorization server of a resource, its metadata, and the scopes to ask for.

401 ─▶ resource_metadata of the challenge, else the well-known URLs ─▶ authorization servers
    ─▶ their metadata (RFC 8414, OpenID Connect Discovery)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeVar

from msgspec import Struct

from accord.mcp.client.auth.web import (
    DiscoveryError,
    UntrustedError,
    Web,
    base_of,
    covers,
    is_local,
    printable,
    trusted,
)
from accord.transports.urls import WebAddress, parse_web_address, shown as without_query

SCHEMES: Final = ("bearer", "dpop")

_TOKEN: Final = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_SEPARATORS = re.compile(r"[ \t,]*")
_PARAMETER = re.compile(
    rf'({_TOKEN})[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|({_TOKEN}))(?=[ \t]*(?:,|$))'
)
_SCHEME = re.compile(rf"({_TOKEN})(?=[ \t,]|$)")
_TOKEN68 = re.compile(r"[ \t]+[A-Za-z0-9\-._~+/]+=*(?=[ \t]*(?:,|$))")
_ESCAPED = re.compile(r"\\(.)")


class Challenge(Struct, frozen=True, kw_only=True):
    """One WWW-Authenticate challenge; missing parameters are empty."""

    scheme: str = ""
    """The authentication scheme, in lower case."""
    resource_metadata: str = ""
    scopes: tuple[str, ...] = ()
    error: str = ""


def challenge_in(header: str) -> Challenge:
    """Return the OAuth challenge of a WWW-Authenticate header.

    This is the first OAuth challenge with `resource_metadata`, or else the first OAuth challenge,
    or else an empty one.
    """
    ours = [each for each in read_challenges(header) if each.scheme in SCHEMES]
    telling = [each for each in ours if each.resource_metadata]
    return next(iter(telling or ours), Challenge())


def read_challenges(header: str) -> list[Challenge]:
    """Return all challenges of a WWW-Authenticate header.

    Parsing stops at the first malformed part.
    """
    found: list[tuple[str, dict[str, str]]] = []
    at = 0
    while True:
        at = _end(_SEPARATORS.match(header, at), at)
        parameter = _PARAMETER.match(header, at)
        if parameter is not None and found:
            name, quoted, plain = parameter.groups()
            value = plain if quoted is None else _ESCAPED.sub(r"\1", quoted)
            found[-1][1].setdefault(name.lower(), value)
            at = parameter.end()
            continue
        scheme = _SCHEME.match(header, at)
        if scheme is None:
            return [_challenge(scheme, parameters) for scheme, parameters in found]
        found.append((scheme[1].lower(), {}))
        at = _end(_TOKEN68.match(header, scheme.end()), scheme.end())


def _challenge(scheme: str, parameters: dict[str, str]) -> Challenge:
    return Challenge(
        scheme=scheme,
        resource_metadata=parameters.get("resource_metadata", ""),
        scopes=tuple(dict.fromkeys(parameters.get("scope", "").split())),
        error=parameters.get("error", ""),
    )


def _end(match: re.Match[str] | None, otherwise: int) -> int:
    return otherwise if match is None else match.end()


OFFLINE_ACCESS: Final = "offline_access"


MAX_SCOPES: Final = 100
MAX_SCOPE: Final = 200
"""Maximum length of one scope; scopes are part of a URL."""

_SCOPE = re.compile(rf"[\x21\x23-\x5b\x5d-\x7e]{{1,{MAX_SCOPE}}}")
"""The syntax of a scope (RFC 6749, section 3.3), of bounded length."""


def union(*sets: Iterable[str]) -> tuple[str, ...]:
    """Merge sets of scopes: each valid scope once, in order, at most `MAX_SCOPES`."""
    scopes = dict.fromkeys(scope for each in sets for scope in each if _SCOPE.fullmatch(scope))
    return tuple(scopes)[:MAX_SCOPES]


def wanted(
    *,
    challenged: tuple[str, ...],
    supported: tuple[str, ...],
    before: tuple[str, ...],
    configured: tuple[str, ...],
) -> tuple[str, ...]:
    """Return the scopes to request (MCP 2026-07-28, scope selection).

    These are the scopes requested before, those of the challenge, and those that the application
    configured. A first request without scopes in the challenge includes all scopes that the
    resource supports.
    """
    return union(before, challenged or (() if before else supported), configured)


def for_refreshing(scopes: tuple[str, ...], authority: Iterable[str] | None) -> tuple[str, ...]:
    """Add `offline_access` to the scopes, if the authorization server supports it.

    The server then issues refresh tokens (MCP 2026-07-28, refresh tokens). `authority` has the
    scopes that the server supports. Empty `scopes` are returned unchanged, because a request
    without scopes is for the server's default scopes.
    """
    if scopes and authority is not None and OFFLINE_ACCESS in authority:
        return union(scopes, (OFFLINE_ACCESS,))
    return scopes


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
    """Return the URLs to try for the resource metadata of an MCP server, in order.

    The order is that of the MCP specification 2026-07-28, section Discovery.
    """
    root = f"{base_of(server)}/.well-known/oauth-protected-resource"
    target = server.target.removeprefix("/") if server.path == "/" else server.target
    return [f"{root}{target}", root] if target else [root]


def server_metadata_urls(issuer: WebAddress) -> list[str]:
    """Return the URLs to try for an authorization server's metadata, in order."""
    base, path = base_of(issuer), issuer.path.rstrip("/")
    urls = [
        f"{base}/.well-known/oauth-authorization-server{path}",
        f"{base}/.well-known/openid-configuration{path}",
    ]
    return [*urls, f"{base}{path}/.well-known/openid-configuration"] if path else urls


def default_server(server: WebAddress) -> ServerMetadata:
    """Return default metadata for the authorization server at an MCP server's origin.

    The defaults are for a server that publishes no metadata (MCP 2025-03-26, fallbacks).
    """
    base = base_of(server)
    return ServerMetadata(
        issuer=base,
        authorization_endpoint=f"{base}/authorize",
        token_endpoint=f"{base}/token",
        registration_endpoint=f"{base}/register",
        code_challenge_methods_supported=["S256"],  # 2025-03-26: all servers must support PKCE
    )


T = TypeVar("T")


class Realm(Struct, frozen=True, kw_only=True):
    """The authorization server of an MCP server, and the audience of its tokens.

    `discover` finds them.
    """

    server: str
    """The URL of the MCP server."""
    resource: str
    """The audience of tokens, exactly as in the resource metadata (RFC 8707)."""
    scopes_supported: tuple[str, ...] = ()
    authority: ServerMetadata
    """The authorization server."""
    local: bool
    """True if the MCP server is on this machine; URLs of its authorization server may then be local
    too."""
    dpop_required: bool = False

    @property
    def issuer(self) -> str:
        return self.authority.issuer


async def discover(web: Web, server: str, challenge: Challenge, issuer: str | None) -> Realm:
    """Discover the authorization server and the resource of the MCP server `server`.

    If the metadata lists several authorization servers, `issuer` is chosen, or the first if
    `issuer` is None.

    Raises DiscoveryError if metadata is missing, and UntrustedError if the metadata is for another
    resource or issuer, or contains a URL that is not secure.
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
            f"{printable(found.resource)!r}"
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
    """Fetch the metadata of the authorization server `issuer`.

    Raises DiscoveryError if there is no metadata, and UntrustedError if the metadata is of another
    issuer or contains a URL that is not secure.
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
        raise UntrustedError(
            f"{issuer} has metadata that is of another issuer, {printable(other)!r}"
        )
    raise DiscoveryError(f"the authorization server {issuer} has no metadata")


async def _resource_metadata(
    web: Web, server: str, challenge: Challenge, *, local: bool
) -> ResourceMetadata | None:
    if challenge.resource_metadata:
        # 2026-07-28, discovery: a URL in the challenge takes precedence.
        url = challenge.resource_metadata
        found = await _document(web, url, ResourceMetadata, local=local)
        if found is None:
            raise DiscoveryError(f"there is no metadata where the server says: {printable(url)!r}")
        return found
    for url in resource_metadata_urls(parse_web_address(server)):
        found = await _document(web, url, ResourceMetadata, local=local)
        if found is not None:
            return found
    return None


async def _without_metadata(web: Web, server: str, issuer: str | None) -> Realm:
    """Return the realm of a server without resource metadata (2025-03-26).

    The server's own origin is then the authorization server, with default endpoints if it has no
    authorization server metadata either.
    """
    address = parse_web_address(server)
    local, base = is_local(address), base_of(address)
    found: ServerMetadata | None = None
    for url in server_metadata_urls(parse_web_address(base)):
        found = found or await _document(web, url, ServerMetadata, local=local)
    # No document named an issuer to compare with, so any issuer of the same origin is accepted.
    if found is not None and not f"{found.issuer}/".startswith(f"{base}/"):
        raise UntrustedError(
            f"{base} has metadata that is of another issuer, {printable(found.issuer)!r}"
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
        f"the server's tokens no longer come from {printable(issuer)!r}, where this client is "
        "known",
        advice="Register the client with the new authorization server, and give its credentials.",
    )


def _checked(found: ServerMetadata, *, local: bool) -> ServerMetadata:
    for url in (found.token_endpoint, found.authorization_endpoint, found.registration_endpoint):
        if url is not None:
            trusted(url, "an endpoint of the authorization server", local=local)
    return found


async def _document(web: Web, url: str, kind: type[T], *, local: bool) -> T | None:
    """Fetch a metadata document; return None if it is missing or malformed.

    Raises DiscoveryError for HTTP 5xx.
    """
    reply = await web.get(trusted(url, "the place of a server's metadata", local=local))
    if reply.status >= 500:
        raise DiscoveryError(f"{url} answered HTTP {reply.status}", recoverable=True)
    # Some servers answer every URL with 200 and an HTML page.
    return reply.read(kind) if reply.status == 200 else None
