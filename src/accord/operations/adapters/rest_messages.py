"""Messages of REST: heads of requests with a known route, responses, problems, entity tags. Pure.

Queries are percent-decoded once, and strictly: invalid UTF-8 is refused, not replaced.

The entity tag of a GET is the version of the entity and a checksum of the whole response, such as
`"3.5f1c2b8e"`: the version counts changes of content only, and other parts of the response may
change without a new version. For a write, only the version in the tag is compared.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Set
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import quote, unquote_to_bytes
from zlib import crc32

import msgspec
from msgspec import Struct

from accord.operations.adapters.errors import kind_of, members, problem
from accord.operations.arguments import MAX_NAME
from accord.operations.auth.authentication import RequestAuthenticator
from accord.operations.auth.credentials import RequestCredentials
from accord.operations.errors import (
    Allowance,
    InvalidError,
    Kind,
    MalformedRequestError,
    RateLimitedError,
    ServiceError,
    StaleError,
)
from accord.operations.logs import masked
from accord.operations.operation import Verb
from accord.schema.schema import Json
from accord.transports.http.heads import WebRequest
from accord.transports.http.replies import Reply
from accord.transports.http.web_app import Stream

JSON: Final = b"content-type: application/json\r\n"
PROBLEM: Final = b"content-type: application/problem+json\r\n"
SAFETY: Final = b"x-content-type-options: nosniff\r\nreferrer-policy: no-referrer\r\n"
PRIVATE: Final = SAFETY + b"cache-control: no-store\r\n"
EXPOSED: Final = (
    b"access-control-expose-headers: ETag, Location, Retry-After, RateLimit, RateLimit-Policy, "
    b"X-Correlation-Id, Accord-Change-Id\r\n"
)
"""The header fields of a response that pages of other origins may read."""
CHALLENGE: Final = b'www-authenticate: Bearer realm="accord"\r\n'

NO_ROUTE: Final = Kind("not_found", "There is no such thing", 404, -32601)
WRONG_VERB: Final = Kind("method_not_allowed", "This method is not served here", 405, -32601)
TOO_LARGE: Final = Kind("content_too_large", "The request is too large", 413, -32012)
WRONG_TYPE: Final = Kind("unsupported_media_type", "Only JSON is read here", 415, -32600)
WRONG_ORIGIN: Final = Kind("origin_not_allowed", "This web page may not ask", 403, -32600)

encode: Final = msgspec.json.Encoder().encode


WriteBody: TypeAlias = Callable[[Stream], Awaitable[None]]
"""A function that writes a streamed body until it is complete or the client disconnects."""


class RestResponse(Struct, frozen=True):
    """A response, without the header lines that are added to every response."""

    status: int
    headers: bytes = b""
    body: bytes = b""
    pour: WriteBody | None = None
    """The function that writes the body of a streamed response; its `body` is empty."""


def correlation_line(correlation_id: str) -> bytes:
    return b"x-correlation-id: %b\r\n" % correlation_id.encode("ascii")


def allowance_lines(allowance: Allowance | None) -> bytes:
    """Return the header lines of an allowance (draft-ietf-httpapi-ratelimit-headers)."""
    if allowance is None:
        return b""
    return b'ratelimit-policy: "calls";q=%d;w=%d\r\nratelimit: "calls";r=%d;t=%d\r\n' % (
        allowance.limit,
        allowance.window,
        allowance.remaining,
        allowance.reset,
    )


def instance_of(path: str) -> str:
    """Return the `instance` of a problem: the request path, with tokens in it masked."""
    return quote(masked(path), safe="/:@!$&'()*+,;=~")


def error_response(error: Exception, *, path: str, correlation_id: str) -> RestResponse:
    """Return the response to a refused or failed request."""
    document = problem(error, instance=instance_of(path), correlation_id=correlation_id)
    headers = PROBLEM + error_lines(error)
    return RestResponse(kind_of(error).status, headers, encode(document))


def error_lines(error: Exception) -> bytes:
    """Return the header lines of an error, for REST and JSON-RPC."""
    if not isinstance(error, ServiceError):
        return b""
    lines = allowance_lines(error.allowance)
    if error.kind.status == 401:
        return lines + CHALLENGE
    if isinstance(error, RateLimitedError):
        return lines + b"retry-after: %d\r\n" % error.retry_after
    if error.kind.status == 503:
        return lines + b"retry-after: 1\r\n"
    if "required_scope" in error.data:  # RFC 6750, section 3.1
        scope = str(error.data["required_scope"]).encode("ascii")
        lines += b'www-authenticate: Bearer error="insufficient_scope", scope="%b"\r\n' % scope
    return lines


def refusal(
    kind: Kind, detail: str, *, path: str, correlation_id: str, headers: bytes = b""
) -> Reply:
    """Return the reply to a request that is refused before its body is read."""
    document: dict[str, Any] = members(
        kind, detail, instance=instance_of(path), correlation_id=correlation_id
    )
    lines = PROBLEM + PRIVATE + correlation_line(correlation_id) + headers
    return Reply(kind.status, lines, encode(document))


# RFC 9110, section 8.8.3. Numbers without quotes are no tags, yet they can mean one thing only.
_ENTITY_TAG: Final = re.compile(r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"|([0-9]{1,18})')
_LIST: Final = re.compile(rf"[ \t,]*(?:(?:{_ENTITY_TAG.pattern})[ \t]*(?:,[ \t,]*|\Z))+")
_VERSION: Final = re.compile(r"([0-9]{1,18})(?:\.[0-9a-f]{8})?")


def etag_of(version: int, body: bytes) -> str:
    """Return the entity tag of a response: the version of its entity, and a checksum."""
    return f'"{version}.{crc32(body):08x}"'


def expected_version(if_match: str) -> int | None:
    """Return the version in `If-Match`; None for `*`, which accepts every version.

    Raises MalformedRequestError for an invalid header, and StaleError if no tag has a version.
    """
    if if_match.strip(" \t") == "*":
        return None
    versions = []
    for weak, tag, bare in _tags(if_match, "If-Match"):
        found = _VERSION.fullmatch(bare or tag)
        # RFC 9110, section 13.1.1: compared strongly, and a weak tag is never equal so.
        if found is not None and not weak:
            versions.append(int(found[1]))
    if not versions:
        raise StaleError(f"no version has the tag {if_match[:100]}: send the one that you read")
    # Versions only grow: of those that a client has seen, only the last can be there still.
    return max(versions)


def matches_etag(tag: str, if_none_match: str) -> bool:
    """Return True if `If-None-Match` contains this tag: the client has the response.

    Raises MalformedRequestError if the header is invalid.
    """
    if if_none_match.strip(" \t") == "*":
        return True
    # RFC 9110, section 13.1.2: compared weakly
    return any(f'"{each}"' == tag for _, each, _ in _tags(if_none_match, "If-None-Match"))


def _tags(text: str, name: str) -> list[tuple[str, str, str]]:
    if _LIST.fullmatch(text) is None:
        raise MalformedRequestError(f'{name} is no list of entity tags such as "3"')
    return _ENTITY_TAG.findall(text)


def read_query(query: str, *, known: Set[str], lists: Set[str]) -> dict[str, str | list[str]]:
    """Parse a query; names in `lists` may be repeated, other `known` names may not.

    Raises MalformedRequestError for a query that is not UTF-8, and InvalidError for unknown names
    and forbidden repetitions.
    """
    words: dict[str, str | list[str]] = {}
    for pair in query.split("&"):
        if not pair:
            continue
        raw_name, _, raw_value = pair.partition("=")
        name, value = _percent_decoded(raw_name), _percent_decoded(raw_value)
        if name not in known:
            raise _unknown(name, known)
        before = words.get(name)
        if name in lists:
            words[name] = [value] if before is None else [*before, value]
        elif before is not None:
            raise InvalidError(name, "is given twice")
        else:
            words[name] = value
    return words


def _unknown(name: str, known: Set[str]) -> InvalidError:
    valid = ", ".join(sorted(known)) or "none"
    return InvalidError(name[:MAX_NAME], f"there is no such parameter; there are: {valid}")


def _percent_decoded(text: str) -> str:
    if "%" not in text:
        return text.replace("+", " ")
    try:
        return unquote_to_bytes(text.replace("+", " ")).decode()
    except UnicodeDecodeError:
        raise MalformedRequestError("the query is not UTF-8") from None


RequestWords: TypeAlias = dict[str, str | list[str]]


class Conditions(Struct, frozen=True):
    """The conditions and the idempotency key in the head of a request."""

    if_match: str | None = None
    if_none_match: str | None = None
    idempotency_key: str | None = None


class RestHead(Struct, frozen=True):
    """The head of a request whose route was found, before authentication."""

    request: WebRequest
    target: RouteTarget
    route_path: str
    """The path with names instead of values, such as `/api/v1/epics/{id}`."""
    values: tuple[str, ...]
    """The values of the parameters in the path."""
    words: RequestWords | None
    """The parameters in path and query as texts, by name; None if some are invalid.

    Invalid ones are reported only after authentication.
    """
    conditions: Conditions
    is_text: bool
    """True if the body of the request was sent as text, not as JSON."""
    lines: bytes
    """Header lines for the response, such as those of CORS."""


class RouteTarget(Protocol):
    """The handler of one verb at one path."""

    @property
    def takes_body(self) -> bool:
        """True if requests have a body."""

    @property
    def is_private(self) -> bool:
        """True if requests must be authenticated."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Media types of the body besides JSON."""

    @property
    def writes(self) -> bool:
        """True if requests may write, so they are finished even if the client disconnects."""

    def read_words(self, values: tuple[str, ...], query: str) -> RequestWords:
        """Return the parameters in a request's path and query as texts, by name.

        `values` are the texts in the path. Raises ServiceError for invalid ones.
        """

    async def answer(
        self, head: RestHead, credentials: RequestCredentials, body: bytes
    ) -> RestResponse:
        """Return the response. Raises ServiceError for a refusal."""


class Further(Struct, frozen=True):
    """An additional REST route, to a handler that is no operation."""

    verb: Verb
    path: str
    make: Callable[[RequestAuthenticator], RouteTarget]
    described: Json
    """The OpenAPI operation object that describes the route."""
