"""Tokens, and what the answer to a token request means. Pure: the time comes in."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from accord.mcp.client.auth.errors import AuthorizationError, UntrustedError, oauth_error
from accord.mcp.client.auth.web import Reply

MAX_TOKEN: Final = 16 * 1024
LEEWAY_SECONDS: Final = 30.0
"""Maximum time before expiry at which a token is renewed."""
LEEWAY_SHARE: Final = 0.1
"""The same as a share of the lifetime, which applies to short-lived tokens."""


class Token(Struct, frozen=True, kw_only=True):
    """An access token with everything needed to use and renew it."""

    access_token: str
    scheme: str
    """Authorization scheme: Bearer or DPoP."""
    issuer: str
    resource: str
    client_id: str
    requested: tuple[str, ...]
    granted: tuple[str, ...]
    refresh_token: str | None = None
    stale_at: float | None = None
    """Time to renew the token, in seconds since 1970; None if it has no known expiry."""

    def __repr__(self) -> str:
        return f"Token(…, issuer={self.issuer!r}, resource={self.resource!r})"

    @property
    def authorization(self) -> str:
        return f"{self.scheme} {self.access_token}"

    def is_stale(self, now: float) -> bool:
        return self.stale_at is not None and now >= self.stale_at


class TokenResponse(Struct, frozen=True, kw_only=True):
    """The successful response of a token endpoint (RFC 6749, section 5.1)."""

    access_token: str
    token_type: str
    expires_in: float | str | None = None
    """Some servers send the number as a string."""
    refresh_token: str | None = None
    scope: str | None = None
    issued_token_type: str | None = None

    def __repr__(self) -> str:
        return f"TokenResponse(…, token_type={self.token_type!r})"


class _Refusal(Struct, frozen=True):
    error: str
    error_description: str = ""


def read_response(reply: Reply, where: str) -> TokenResponse:
    """Return the response of a token endpoint. Raise AuthorizationError."""
    if reply.status == 200:
        response = reply.read(TokenResponse)
        if response is None or not _is_token(response.access_token):
            raise AuthorizationError(f"{where} answered without a usable token")
        return response
    raise refusal(reply, where)


def refusal(reply: Reply, where: str) -> AuthorizationError:
    """Return the error that a reply stands for."""
    refused = reply.read(_Refusal)
    if refused is not None and 400 <= reply.status < 500:
        return oauth_error(where, refused.error, refused.error_description)
    return AuthorizationError(f"{where} answered HTTP {reply.status}", recoverable=True)


def scheme_of(response: TokenResponse, *, bound: bool) -> str:
    """Return the authorization scheme of a token.

    Raises UntrustedError if it is not bound as requested, AuthorizationError for an unknown type.
    """
    kind = response.token_type.lower()
    if bound and kind != "dpop":
        # RFC 9449, section 5: a client that requires binding discards such a response.
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
    """Return the granted scopes; by default those requested (RFC 6749, section 5.1)."""
    return otherwise if text is None else tuple(dict.fromkeys(text.split()))


def _is_token(text: str) -> bool:
    """Return whether the token fits into a header."""
    return 0 < len(text) <= MAX_TOKEN and text.isascii() and text.isprintable() and " " not in text
