"""Authenticators, token verifiers, the credentials of requests, and the challenges of refusals.

Credentials follow RFC 6750, section 2, and RFC 9449, section 7.1; `WWW-Authenticate` follows RFC
9110, section 11.6.1. Everything that goes into a challenge is checked here, so that nobody can add
a header, or a second challenge, through the name of a scope. Claims follow RFC 7519 and RFC
9068.
"""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from hashlib import blake2b
from secrets import token_bytes
from typing import Any, Final, Literal, Protocol, TypeAlias, runtime_checkable
from urllib.parse import SplitResult, unquote_plus, urlsplit

from msgspec import Struct

from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.errors import ConnectError
from accord.mcp.server.session import Principal
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import Reply
from accord.transports.urls import WebAddress, is_loopback, parse_web_address

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
_PORTS: Final = {"http": 80, "https": 443}


def trusted_url(url: str) -> WebAddress:
    """Parse the URL of a server to which tokens and keys may be sent.

    Such a URL has the scheme https, or http and a host on the loopback interface (2026-07-28,
    authorization, communication security). Raises ValueError for any other URL.
    """
    try:
        address = parse_web_address(url)
    except ConnectError as error:
        raise ValueError(error.message) from None
    if address.scheme != "https" and not (address.scheme == "http" and is_loopback(address.host)):
        raise ValueError(f"{address} must be https, or http on the loopback interface")
    return address


def resource_url(url: str) -> str:
    """Return the canonical form of `url`, which identifies a protected resource.

    RFC 8707, section 2. Raises ValueError for a text that is not an http or https URL, and for a
    URL with a fragment or a user name.
    """
    parts = _split(url)
    if parts is None or not parts.hostname or parts.fragment or parts.username is not None:
        raise ValueError(f"{url!r} is not the http or https URL of a resource, without fragment")
    return canonical_url(url)


def canonical_url(identifier: str) -> str:
    """Return the canonical URL of a resource, issuer or audience, for comparison.

    Scheme and host are in lower case (2026-07-28, authorization); a path of "/" and the default
    port are removed (RFC 3986, section 6.2.3). A text that is not a URL is returned unchanged.
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


MAX_TOKEN: Final = 16 * 1024
"""The maximum length of a token, in characters."""

Scheme: TypeAlias = Literal["bearer", "dpop"]

# RFC 9110, section 11.2: token68, of which tokens are made
_TOKEN: Final = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_PARTS: Final = re.compile(r"([!#$%&'*+\-.^_`|~0-9A-Za-z]+)(?: +(.*))?")


class PresentedToken(Struct, frozen=True):
    """A token from a request, with its authentication scheme."""

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
    """Return the bearer or DPoP token in a request's headers.

    Return `MalformedCredentials` for a malformed header or a token in the URL, and None for a
    request without such a token.
    """
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
    """Return a `WWW-Authenticate` header line, leaving out empty parameters."""
    listed = ", ".join(f"{name}={_quoted(value)}" for name, value in parameters.items() if value)
    return f"www-authenticate: {scheme}{' ' if listed else ''}{listed}\r\n".encode("ascii")


def scope_of(scopes: Iterable[str]) -> str:
    """Join `scopes` to the value of a challenge's `scope` parameter.

    Invalid scopes, duplicates, and scopes beyond `MAX_CHALLENGE_SCOPES` are left out.
    """
    names = [each for each in dict.fromkeys(scopes) if is_scope(each)]
    return " ".join(names[:MAX_CHALLENGE_SCOPES])


def is_scope(text: str) -> bool:
    return _SCOPE.fullmatch(text) is not None


def _quoted(value: str) -> str:
    """Return `value` as a quoted string (RFC 9110, section 5.6.4)."""
    clean = _UNQUOTABLE.sub("?", value)
    escaped = clean.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class Refusal(Struct, frozen=True):
    """The HTTP answer to a request that fails authentication or authorization."""

    status: int = 401
    headers: bytes = b""
    """Header lines of the answer, such as `www-authenticate`, each with its line end."""
    body: bytes = b""
    """The body of the answer, in JSON."""


class Authenticator(Protocol):
    """An authenticator of HTTP requests, implemented by subclasses.

    Two optional members are used if present. If `repeatable` is true, a request may be
    authenticated twice: before its body is read, and again afterwards. `answer_lines(principal)`
    returns additional header lines for the answers to a principal's requests.
    """

    def page(self, request: WebRequest) -> Reply | None:
        """Return the answer to a request for a public page, such as metadata.

        Return None for all other requests.
        """
        return None

    def refusal(self, request: WebRequest) -> Refusal | None:
        """Return the refusal of a request by its head, before its body is read.

        Return None if the head alone is no reason to refuse the request. Requests with equal heads
        get equal refusals.
        """
        return None

    def authenticate(
        self, request: WebRequest, channel: ChannelInfo | None = None
    ) -> Principal | Refusal | None | Awaitable[Principal | Refusal | None]:
        """Return the principal of a request, None for an anonymous caller, or a refusal.

        `channel` describes the connection of the request; it is None for the handshake of a
        WebSocket connection.
        """

    def forbidden(self, scopes: Sequence[str]) -> bytes:
        """Return the header lines of a 403 for a caller that lacks one of `scopes`."""


class UnavailableError(Exception):
    """Tokens cannot be verified now, because their issuer does not answer.

    The client is asked to retry (503) and gets no further details.
    """


@runtime_checkable
class Verifier(Protocol):
    """A token verifier, which finds the principal that a token belongs to."""

    def verify(self, token: str) -> Principal | None | Awaitable[Principal | None]:
        """Return the principal of `token`; None if this server must not accept the token.

        The method may be plain or `async def`. Raises UnavailableError if the token cannot be
        verified now, for example because its issuer does not answer.
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
    """The required issuer; None if the introspection endpoint vouches for the claims."""
    audience: frozenset[str] | None
    """Accepted audiences in canonical form; None if the introspection endpoint reports only tokens
    for this server."""
    leeway: float
    """Tolerated clock difference in seconds."""
    must_expire: bool = True


def principal_of(claims: dict[str, Any], expected: ExpectedClaims, now: float) -> Principal | None:
    """Return the principal that a token's claims name.

    Return None if the claims do not meet `expected`, or if the token is not valid at `now`.
    """
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

    They are in `scope`, separated by blanks (RFC 8693, section 4.2). Some issuers use `scp`
    instead, or a list.
    """
    found: list[str] = []
    for name in ("scope", "scp"):
        claim = claims.get(name)
        if isinstance(claim, str):
            found += claim.split(" ")
        elif isinstance(claim, list):
            found += [each for each in claim if isinstance(each, str)]
    return frozenset(each for each in found[:MAX_TOKEN_SCOPES] if each)


def _is_issued(claims: dict[str, Any], expected: ExpectedClaims) -> bool:
    # RFC 8414, section 2: issuers are compared as texts
    return expected.issuer is None or claims.get("iss") == expected.issuer


def _is_for(claims: dict[str, Any], audience: frozenset[str] | None) -> bool:
    """Return whether the claim `aud` names one of the accepted audiences.

    2026-07-28, authorization: a token must have been issued for this very server. If `audience` is
    None, a token for any audience is accepted.
    """
    if audience is None:
        return True
    claim = claims.get("aud")
    several = claim if isinstance(claim, list) else [claim]
    return any(isinstance(each, str) and canonical_url(each) in audience for each in several)


def _is_past(value: Any, now: float) -> bool:
    return value is None or (_is_time(value) and value <= now)


def _is_time(value: Any) -> bool:
    """Return whether the value of a claim is a NumericDate (RFC 7519, section 2)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
