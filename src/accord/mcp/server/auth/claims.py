"""What the claims of a token must say, and whose it is by them (RFC 7519, RFC 9068). Pure."""

from __future__ import annotations

import math
from typing import Any, Final

from msgspec import Struct

from accord.mcp.server.auth.places import canonical
from accord.mcp.server.principal import Principal

MAX_SCOPES: Final = 1_000


class Expected(Struct, frozen=True, kw_only=True):
    """Requirements on the claims of a token for this server."""

    issuer: str | None
    """None if the endpoint that reports the claims vouches for them."""
    audience: frozenset[str] | None
    """Accepted audiences in canonical form; None if only tokens for this server are reported."""
    leeway: float
    """Tolerated clock difference in seconds."""
    must_expire: bool = True


def principal_of(claims: dict[str, Any], expected: Expected, now: float) -> Principal | None:
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
    # RFC 9068, section 2.2: `sub` is who it is, or the client where it acts for itself. One that
    # is named by its client alone must not be mistaken for a user of that name.
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
    return frozenset(each for each in found[:MAX_SCOPES] if each)


def _is_issued(claims: dict[str, Any], expected: Expected) -> bool:
    # RFC 8414, section 2: issuers are the same when their texts are
    return expected.issuer is None or claims.get("iss") == expected.issuer


def _is_for(claims: dict[str, Any], audience: frozenset[str] | None) -> bool:
    """Return whether the audience is this server.

    2026-07-28, authorization: tokens must have been issued for this very server.
    """
    if audience is None:
        return True
    said = claims.get("aud")
    several = said if isinstance(said, list) else [said]
    return any(isinstance(each, str) and canonical(each) in audience for each in several)


def _is_past(value: Any, now: float) -> bool:
    return value is None or (_is_time(value) and value <= now)


def _is_time(value: Any) -> bool:
    """Return whether a value is a NumericDate (RFC 7519, section 2)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
