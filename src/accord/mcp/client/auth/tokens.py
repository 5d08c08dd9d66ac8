"""Tokens, and what the answer to a token request means. Pure: the time comes in."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from accord.mcp.client.auth.errors import AuthorizationError, UntrustedError, oauth_error
from accord.mcp.client.auth.web import Reply

MAX_TOKEN: Final = 16 * 1024
LEEWAY_SECONDS: Final = 30.0
"""How long before its end a token is no longer used, at most."""
LEEWAY_SHARE: Final = 0.1
"""The same as a share of its life, for short ones."""


class Token(Struct, frozen=True, kw_only=True):
    """An access token, with all that is needed to use and to renew it."""

    access_token: str
    scheme: str
    """Bearer or DPoP: how it is presented."""
    issuer: str
    resource: str
    client_id: str
    requested: tuple[str, ...]
    granted: tuple[str, ...]
    refresh_token: str | None = None
    stale_at: float | None = None
    """When to get another one, in seconds since 1970; None where nobody said."""

    def __repr__(self) -> str:
        return f"Token(…, issuer={self.issuer!r}, resource={self.resource!r})"

    @property
    def authorization(self) -> str:
        return f"{self.scheme} {self.access_token}"

    def is_stale(self, now: float) -> bool:
        return self.stale_at is not None and now >= self.stale_at


class TokenResponse(Struct, frozen=True, kw_only=True):
    """RFC 6749, section 5.1."""

    access_token: str
    token_type: str
    expires_in: float | str | None = None
    """Some send the number as a string."""
    refresh_token: str | None = None
    scope: str | None = None
    issued_token_type: str | None = None

    def __repr__(self) -> str:
        return f"TokenResponse(…, token_type={self.token_type!r})"


class _Refusal(Struct, frozen=True):
    error: str
    error_description: str = ""


def read_response(reply: Reply, where: str) -> TokenResponse:
    """What a token endpoint answered. Raises AuthorizationError."""
    if reply.status == 200:
        response = reply.read(TokenResponse)
        if response is None or not _is_token(response.access_token):
            raise AuthorizationError(f"{where} answered without a usable token")
        return response
    raise refusal(reply, where)


def refusal(reply: Reply, where: str) -> AuthorizationError:
    """The error that a reply is."""
    refused = reply.read(_Refusal)
    if refused is not None and 400 <= reply.status < 500:
        return oauth_error(where, refused.error, refused.error_description)
    return AuthorizationError(f"{where} answered HTTP {reply.status}", recoverable=True)


def scheme_of(response: TokenResponse, *, bound: bool) -> str:
    """How the token is presented. Raises UntrustedError for one that is less than was asked
    for, or of a kind that nobody knows."""
    kind = response.token_type.lower()
    if bound and kind != "dpop":
        # RFC 9449, section 5: a client that wants the protection discards such a response.
        raise UntrustedError("the token is not bound to this client's key, which was asked for")
    if kind not in ("bearer", "dpop") or (kind == "dpop" and not bound):
        raise AuthorizationError(f"the token is of the unknown type {response.token_type[:40]!r}")
    return "DPoP" if bound else "Bearer"


def stale_at(response: TokenResponse, now: float) -> float | None:
    try:
        seconds = float(response.expires_in)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    if not 0 <= seconds < 1e10:
        return None
    return now + seconds - min(LEEWAY_SECONDS, seconds * LEEWAY_SHARE)


def scopes_in(text: str | None, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    """RFC 6749, section 5.1: without a scope the token has what was asked for."""
    return otherwise if text is None else tuple(dict.fromkeys(text.split()))


def _is_token(text: str) -> bool:
    """Whether it can stand in a header."""
    return 0 < len(text) <= MAX_TOKEN and text.isascii() and text.isprintable() and " " not in text
