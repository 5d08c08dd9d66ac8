"""The credentials that a request carries (RFC 6750, section 2; RFC 9449, section 7.1). Pure."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias
from urllib.parse import unquote_plus

from msgspec import Struct

from accord.transports.web.app import WebRequest

MAX_TOKEN: Final = 16 * 1024
"""The limit of a token, in characters."""

Scheme: TypeAlias = Literal["bearer", "dpop"]

# RFC 9110, section 11.2: token68, of which tokens are made
_TOKEN: Final = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_PARTS: Final = re.compile(r"([!#$%&'*+\-.^_`|~0-9A-Za-z]+)(?: +(.*))?")


class Credentials(Struct, frozen=True):
    """A token and its scheme."""

    scheme: Scheme
    token: str

    def __repr__(self) -> str:
        return f"Credentials({self.scheme!r}, …)"


class Malformed(Struct, frozen=True):
    """Credentials that violate the rules for presenting a token."""

    why: str
    in_url: bool = False
    """True if the token is in the URL, which is forbidden."""


def credentials_in(request: WebRequest) -> Credentials | Malformed | None:
    """Return the credentials of a request; None for unknown or missing ones."""
    # 2026-07-28, authorization: tokens must not be in the query, where logs would keep them.
    if request.query and _names_token(request.query):
        why = "a token belongs into the header Authorization, not into the URL"
        return Malformed(why, in_url=True)
    header = request.fields.get("authorization")
    if not header:
        return None
    parts = _PARTS.fullmatch(header)
    scheme = "" if parts is None else parts[1].lower()
    if scheme not in ("bearer", "dpop"):
        # A scheme of others is no mistake, several headers in one are.
        return Malformed("the header Authorization is malformed") if parts is None else None
    assert parts is not None
    token = parts[2] or ""
    if not token:
        return None  # a scheme without a token presents nothing
    if len(token) > MAX_TOKEN:
        return Malformed(f"a token has at most {MAX_TOKEN:,} characters")
    if not is_token(token):
        return Malformed("the header Authorization has one scheme and one token")
    return Credentials("bearer" if scheme == "bearer" else "dpop", token)


def is_token(text: str) -> bool:
    """Return whether a text has the syntax of a token."""
    return _TOKEN.fullmatch(text) is not None


def _names_token(query: str) -> bool:
    names = (pair.partition("=")[0] for pair in re.split("[&;]", query))
    return any(unquote_plus(name) == "access_token" for name in names)
