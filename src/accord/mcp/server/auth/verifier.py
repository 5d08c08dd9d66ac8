"""Token verifiers, tokens known beforehand, and the rules of claims.

Claims follow RFC 7519 and RFC 9068.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Mapping
from hashlib import blake2b
from secrets import token_bytes
from typing import Any, Final, Protocol, runtime_checkable

from msgspec import Struct

from accord.mcp.server.auth.authenticator import MAX_TOKEN, is_token
from accord.mcp.server.auth.resource_url import canonical_url
from accord.mcp.server.session import Principal


class UnavailableError(Exception):
    """Tokens cannot be verified now, because their issuer does not answer.

    The client is asked to retry (503) and gets no further details.
    """


@runtime_checkable
class Verifier(Protocol):
    """A token verifier."""

    def verify(self, token: str) -> Principal | None | Awaitable[Principal | None]:
        """Return the principal of `token`; None if the token is invalid here.

        A plain or an `async def` method. Raises UnavailableError if the token cannot be verified
        now.
        """


class StaticTokens:
    """A token verifier for fixed tokens, each with its principal or its subject.

        StaticTokens({os.environ["ADA_TOKEN"]: Principal(subject="ada", scopes=…)})

    Tokens are kept as digests under a key of this process. An attacker cannot know how close the
    digest of a guess comes to another, so the time of a lookup reveals nothing.
    """

    def __init__(self, tokens: Mapping[str, Principal | str]) -> None:
        """Raise ValueError for a token that no client could send."""
        if not tokens:
            raise ValueError("without any token nobody can be let in")
        self._key = token_bytes(32)
        self._principals: dict[bytes, Principal] = {}
        for token, owner in tokens.items():
            if not is_token(token) or len(token) > MAX_TOKEN:
                raise ValueError(
                    "a token is made of letters, digits and - . _ ~ + /, with = at its end only, "
                    f"and has at most {MAX_TOKEN:,} characters"
                )
            principal = Principal(subject=owner) if isinstance(owner, str) else owner
            self._principals[self._digest(token)] = principal

    def __repr__(self) -> str:
        return f"StaticTokens({len(self._principals)} tokens)"

    def verify(self, token: str) -> Principal | None:
        return self._principals.get(self._digest(token))

    def _digest(self, token: str) -> bytes:
        return blake2b(token.encode("utf-8", "surrogatepass"), key=self._key).digest()


MAX_TOKEN_SCOPES: Final = 1_000


class ExpectedClaims(Struct, frozen=True, kw_only=True):
    """Requirements on the claims of a token for this server."""

    issuer: str | None
    """None if the endpoint that reports the claims vouches for them."""
    audience: frozenset[str] | None
    """Accepted audiences in canonical form; None if only tokens for this server are reported."""
    leeway: float
    """Tolerated clock difference in seconds."""
    must_expire: bool = True


def principal_of(claims: dict[str, Any], expected: ExpectedClaims, now: float) -> Principal | None:
    """Return the principal of valid claims; None for invalid ones."""
    if not (_is_issued(claims, expected) and _is_for(claims, expected.audience)):
        return None
    expires = claims.get("exp")
    if expires is None:
        if expected.must_expire:
            return None
    elif not _is_time(expires) or now >= expires + expected.leeway:
        return None
    if not all(_is_past(claims.get(name), now + expected.leeway) for name in ("nbf", "iat")):
        return None
    return _principal(claims, None if expires is None else expires + expected.leeway)


def _principal(claims: dict[str, Any], expires: float | None) -> Principal | None:
    client = next(
        (each for name in ("client_id", "azp", "cid") if (each := _text(claims.get(name)))), ""
    )
    # RFC 9068, section 2.2: `sub` is the user, or a client that acts for itself. Without `sub` the
    # prefix keeps a client from being mistaken for a user of the same name.
    subject = _text(claims.get("sub")) or (f"client {client}" if client else "")
    if not subject:
        return None
    return Principal(
        subject=subject,
        client_id=client,
        scopes=scopes_in(claims),
        claims=claims,
        expires=expires,
    )


def scopes_in(claims: dict[str, Any]) -> frozenset[str]:
    """Return the scopes of a token.

    RFC 8693, section 4.2: `scope`, a text with blanks; some issuers use `scp`, some a list.
    """
    found: list[str] = []
    for name in ("scope", "scp"):
        said = claims.get(name)
        if isinstance(said, str):
            found += said.split(" ")
        elif isinstance(said, list):
            found += [each for each in said if isinstance(each, str)]
    return frozenset(each for each in found[:MAX_TOKEN_SCOPES] if each)


def _is_issued(claims: dict[str, Any], expected: ExpectedClaims) -> bool:
    # RFC 8414, section 2: issuers are compared as texts
    return expected.issuer is None or claims.get("iss") == expected.issuer


def _is_for(claims: dict[str, Any], audience: frozenset[str] | None) -> bool:
    """Return whether the audience is this server.

    2026-07-28, authorization: tokens must have been issued for this very server.
    """
    if audience is None:
        return True
    said = claims.get("aud")
    several = said if isinstance(said, list) else [said]
    return any(isinstance(each, str) and canonical_url(each) in audience for each in several)


def _is_past(value: Any, now: float) -> bool:
    return value is None or (_is_time(value) and value <= now)


def _is_time(value: Any) -> bool:
    """Return whether a value is a NumericDate (RFC 7519, section 2)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
