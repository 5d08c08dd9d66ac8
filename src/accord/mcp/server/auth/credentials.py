"""The credentials that a request carries (RFC 6750, section 2; RFC 9449, section 7.1). Pure."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias
from urllib.parse import unquote_plus

from msgspec import Struct

from accord.transports.web.app import WebRequest

MAX_TOKEN: Final = 16 * 1024
"""The longest token that is looked at, in characters."""

Scheme: TypeAlias = Literal["bearer", "dpop"]

# RFC 9110, section 11.2: token68, of which tokens are made
_TOKEN: Final = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_PARTS: Final = re.compile(r"([!#$%&'*+\-.^_`|~0-9A-Za-z]+)(?: +(.*))?")


class Credentials(Struct, frozen=True):
    """A token, and how it was presented."""

    scheme: Scheme
    token: str

    def __repr__(self) -> str:
        return f"Credentials({self.scheme!r}, …)"


class Malformed(Struct, frozen=True):
    """A request that presents a token in a way that none may be presented in."""

    why: str
    in_url: bool = False
    """Whether the token is in the URL, where none belongs."""


def credentials_in(request: WebRequest) -> Credentials | Malformed | None:
    """What a request presents; None where it presents nothing that is known here."""
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
    """Whether a text can be presented as a token at all."""
    return _TOKEN.fullmatch(text) is not None


def _names_token(query: str) -> bool:
    names = (pair.partition("=")[0] for pair in re.split("[&;]", query))
    return any(unquote_plus(name) == "access_token" for name in names)
