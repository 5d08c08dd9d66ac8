"""Where an issuer of tokens publishes its keys, as its metadata says (RFC 8414; OpenID Connect
Discovery 1.0)."""

from __future__ import annotations

import ssl
from typing import Final
from urllib.parse import urlsplit

from accord.mcp.server.auth.documents import get_document
from accord.mcp.server.auth.places import trusted
from accord.mcp.server.auth.verifier import UnavailableError
from accord.transports.web_address import WebAddress

_OAUTH: Final = "/.well-known/oauth-authorization-server"
_OPENID: Final = "/.well-known/openid-configuration"


async def find_key_set(issuer: str, tls: ssl.SSLContext | None) -> WebAddress:
    """Return the address of an issuer's keys.

    Raises UnavailableError.
    """
    problem = UnavailableError(f"{issuer} has no metadata")
    for url in places_of(issuer):
        try:
            document = await get_document(trusted(url), tls)
        except UnavailableError as error:
            problem = error
            continue
        # RFC 8414, section 3.3: metadata that names another issuer must not be used
        if document.get("issuer") != issuer:
            problem = UnavailableError(f"{url} is the metadata of another issuer")
            continue
        try:
            return trusted(str(document.get("jwks_uri", "")))
        except ValueError as error:
            problem = UnavailableError(f"{url} names no keys: {error}")
    raise problem


def places_of(issuer: str) -> list[str]:
    """Return the metadata URLs of an issuer, in the order of lookup."""
    parts = urlsplit(issuer)
    host, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    found = [f"{host}{_OAUTH}{path}", f"{host}{_OPENID}{path}", f"{host}{path}{_OPENID}"]
    return list(dict.fromkeys(found))
