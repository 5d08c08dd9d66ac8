"""Why a client gets no token.

TransportError
└── AuthorizationError          also raised as such, where nothing below fits
    ├── DiscoveryError          nobody says where tokens come from, or not so that it works
    ├── UntrustedError          something contradicts what was asked for or announced
    ├── OAuthError              the authorization server refuses; knows `error`
    └── InsufficientScopeError  the token lacks scopes, and a new one would lack them too
"""

from __future__ import annotations

import re
from typing import Final

from accord.jsonrpc.errors import TransportError

MAX_TEXT: Final = 300
"""How much of a server's explanation is shown."""

_UNPRINTABLE = re.compile(r"[^\x20-\x7e]+")


class AuthorizationError(TransportError):
    """The server wants a token, and there is none for it."""

    code = -32052
    default_message = "Authorization failed"
    recoverable = False
    advice = "Check how the server is to be authorized with, then connect again."


class DiscoveryError(AuthorizationError):
    """Nobody says where tokens for a server come from."""


class UntrustedError(AuthorizationError):
    """An attack, or a server that is set up wrongly: it is not told any secret."""

    advice = "Do not go on unless whoever runs the server can explain this."


class OAuthError(AuthorizationError):
    """The authorization server's own error, such as `access_denied` or `invalid_grant`."""

    error: str = ""
    description: str = ""


class InsufficientScopeError(AuthorizationError):
    """What was called needs scopes which the authorization server did not give."""

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
    """A server's text as it may be printed: one line, not too long."""
    plain = _UNPRINTABLE.sub("?", text)
    return plain if len(plain) <= MAX_TEXT else f"{plain[:MAX_TEXT]}…"
