"""Authenticators, the credentials that requests carry, and the challenges of refusals.

Credentials follow RFC 6750, section 2, and RFC 9449, section 7.1; `WWW-Authenticate` follows RFC
9110, section 11.6.1. Everything that goes into a challenge is checked here, so that nobody can add
a header, or a second challenge, through the name of a scope.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterable, Sequence
from typing import Final, Literal, Protocol, TypeAlias
from urllib.parse import unquote_plus

from msgspec import Struct

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.mcp.server.session import Principal
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import Reply

MAX_TOKEN: Final = 16 * 1024
"""The limit of a token, in characters."""

Scheme: TypeAlias = Literal["bearer", "dpop"]

# RFC 9110, section 11.2: token68, of which tokens are made
_TOKEN: Final = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_PARTS: Final = re.compile(r"([!#$%&'*+\-.^_`|~0-9A-Za-z]+)(?: +(.*))?")


class PresentedToken(Struct, frozen=True):
    """A token and its scheme."""

    scheme: Scheme
    token: str

    def __repr__(self) -> str:
        return f"Credentials({self.scheme!r}, …)"


class MalformedCredentials(Struct, frozen=True):
    """Credentials that violate the rules for presenting a token."""

    why: str
    in_url: bool = False
    """True if the token is in the URL, which is forbidden."""


def credentials_in(request: WebRequest) -> PresentedToken | MalformedCredentials | None:
    """Return the credentials of a request; None for unknown or missing ones."""
    # 2026-07-28, authorization: tokens must not be in the query, where logs would keep them.
    if request.query and _names_token(request.query):
        why = "a token belongs into the header Authorization, not into the URL"
        return MalformedCredentials(why, in_url=True)
    header = request.fields.get("authorization")
    if not header:
        return None
    parts = _PARTS.fullmatch(header)
    scheme = "" if parts is None else parts[1].lower()
    if scheme not in ("bearer", "dpop"):
        # Other schemes are allowed, several values in one header are not.
        return (
            MalformedCredentials("the header Authorization is malformed") if parts is None else None
        )
    assert parts is not None
    token = parts[2] or ""
    if not token:
        return None  # a scheme without a token presents nothing
    if len(token) > MAX_TOKEN:
        return MalformedCredentials(f"a token has at most {MAX_TOKEN:,} characters")
    if not is_token(token):
        return MalformedCredentials("the header Authorization has one scheme and one token")
    return PresentedToken("bearer" if scheme == "bearer" else "dpop", token)


def is_token(text: str) -> bool:
    """Return whether a text has the syntax of a token."""
    return _TOKEN.fullmatch(text) is not None


def _names_token(query: str) -> bool:
    names = (pair.partition("=")[0] for pair in re.split("[&;]", query))
    return any(unquote_plus(name) == "access_token" for name in names)


# RFC 6749, section 3.3: the syntax of a scope
_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
_UNQUOTABLE: Final = re.compile(r"[^\t\x20-\x7e]")
MAX_CHALLENGE_SCOPES: Final = 100


def challenge(scheme: str, **parameters: str) -> bytes:
    """Return the header line of one challenge, without empty parameters."""
    said = ", ".join(f"{name}={_quoted(value)}" for name, value in parameters.items() if value)
    return f"www-authenticate: {scheme}{' ' if said else ''}{said}\r\n".encode("ascii")


def scope_of(scopes: Iterable[str]) -> str:
    """Return the value of the parameter `scope`, without invalid scopes."""
    names = [each for each in dict.fromkeys(scopes) if is_scope(each)]
    return " ".join(names[:MAX_CHALLENGE_SCOPES])


def is_scope(text: str) -> bool:
    return _SCOPE.fullmatch(text) is not None


def _quoted(value: str) -> str:
    """Return a quoted string (RFC 9110, section 5.6.4)."""
    clean = _UNQUOTABLE.sub("?", value)
    escaped = clean.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class Refusal(Struct, frozen=True):
    """The answer to a request with invalid or missing credentials."""

    status: int = 401
    headers: bytes = b""
    """Header lines, each with its line end, such as `www-authenticate`."""
    body: bytes = b""
    """JSON."""


class Authenticator(Protocol):
    """The authentication of requests, implemented by subclasses.

    Two more members are used if present: `repeatable`, true if a request may be authenticated
    twice, once before its body is read; and `answer_lines(principal)`, which returns further header
    lines for the answers to a principal.
    """

    def page(self, request: WebRequest) -> Reply | None:
        """Return a public page such as metadata; None for other requests."""
        return None

    def refusal(self, request: WebRequest) -> Refusal | None:
        """Refuse a request by its head alone, before its body is read.

        Equal heads are refused alike. None if more data is needed to decide.
        """
        return None

    def authenticate(
        self, request: WebRequest, channel: ChannelInfo | None = None
    ) -> Principal | Refusal | None | Awaitable[Principal | Refusal | None]:
        """Return the principal of a request, or a refusal.

        None means an anonymous caller. `channel` describes the connection, if one exists already.
        """

    def forbidden(self, scopes: Sequence[str]) -> bytes:
        """Return the header lines of a 403 for a caller that lacks one of `scopes`."""
