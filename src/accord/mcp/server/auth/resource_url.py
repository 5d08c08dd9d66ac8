"""URLs of resources and issuers: trust, comparison and well-known forms. Pure."""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, urlsplit

from accord.jsonrpc.protocol.errors import ConnectError
from accord.transports.urls import WebAddress, is_loopback, parse_web_address

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
_PORTS: Final = {"http": 80, "https": 443}


def trusted_url(url: str) -> WebAddress:
    """Return the address of `url` if tokens and keys are safe on the way there.

    Raises ValueError for others: 2026-07-28, authorization, communication security.
    """
    try:
        address = parse_web_address(url)
    except ConnectError as error:
        raise ValueError(error.message) from None
    if address.scheme != "https" and not (address.scheme == "http" and is_loopback(address.host)):
        raise ValueError(f"{address} must be https, or http on the loopback interface")
    return address


def resource_url(url: str) -> str:
    """Return a resource identifier (RFC 8707, section 2) in canonical form.

    Raises ValueError.
    """
    parts = _split(url)
    if parts is None or not parts.hostname or parts.fragment or parts.username is not None:
        raise ValueError(f"{url!r} is not the http or https URL of a resource, without fragment")
    return canonical_url(url)


def canonical_url(identifier: str) -> str:
    """Return the canonical form of an identifier, for comparison.

    2026-07-28, authorization: scheme and host in any letter case; RFC 3986, section 6.2.3: an empty
    path is "/", and the default port is optional. A text that is not a URL stays as it is.
    """
    parts = _split(identifier)
    if parts is None or not parts.hostname:
        return identifier
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
    path = "" if parts.path == "/" and not parts.query else parts.path
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{host}{port}{path}{query}"


def well_known_url(resource: str) -> str:
    """Return the URL of a resource's metadata.

    RFC 9728, section 3.1: the well-known part is inserted between the host and the path.
    """
    parts = urlsplit(resource)
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}{parts.path.rstrip('/')}{query}"


def _split(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text)
        if parts.scheme not in _PORTS or (parts.port or 1) < 0:
            return None
    except ValueError:
        return None
    return parts
