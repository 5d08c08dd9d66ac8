"""Exceptions of client authorization.

TransportError
└── AuthorizationError          also raised itself, when no subclass fits
    ├── DiscoveryError          the authorization server or its metadata is not found
    ├── UntrustedError          a response contradicts the request or earlier metadata
    ├── OAuthError              the authorization server refuses; has `error`
    └── InsufficientScopeError  the token lacks scopes, and a new one would lack them too
"""

from __future__ import annotations

import re
from typing import Final

from accord.jsonrpc.protocol.errors import TransportError

MAX_TEXT: Final = 300
"""Maximum number of characters shown of a server's explanation."""

_UNPRINTABLE = re.compile(r"[^\x20-\x7e]+")


class AuthorizationError(TransportError):
    """The server requires a token, and none could be obtained."""

    code = -32052
    default_message = "Authorization failed"
    recoverable = False
    advice = "Check how the server is to be authorized with, then connect again."


class DiscoveryError(AuthorizationError):
    """The authorization server of an MCP server cannot be found."""


class UntrustedError(AuthorizationError):
    """An attack or a misconfigured server; no secret is sent to it."""

    advice = "Do not go on unless whoever runs the server can explain this."


class OAuthError(AuthorizationError):
    """An error of the authorization server: `access_denied`, `invalid_grant`, …"""

    error: str = ""
    description: str = ""


class InsufficientScopeError(AuthorizationError):
    """The call needs scopes that the authorization server did not grant."""

    scopes: tuple[str, ...] = ()


def oauth_error(where: str, error: str, description: str = "") -> OAuthError:
    explained = f": {shown(description)}" if description else ""
    refused = OAuthError(f"{where} says {shown(error)}{explained}")
    refused.error, refused.description = shown(error), shown(description)
    return refused


def insufficient_scope(scopes: tuple[str, ...]) -> InsufficientScopeError:
    listed = shown(" ".join(scopes))
    refused = InsufficientScopeError(f"the server wants scopes that are not to be had: {listed}")
    refused.scopes = scopes
    return refused


def shown(text: str) -> str:
    """Return a server's text fit for printing: ASCII, one line, bounded length."""
    plain = _UNPRINTABLE.sub("?", text)
    return plain if len(plain) <= MAX_TEXT else f"{plain[:MAX_TEXT]}…"
