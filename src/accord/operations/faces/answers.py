"""Answers of the REST face: what every one says in its head, and problems. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias
from urllib.parse import quote

import msgspec
from msgspec import Struct

from accord.operations.errors import (
    Kind,
    RateLimitedError,
    ServiceError,
)
from accord.operations.faces.mapping import kind_of, members, problem
from accord.operations.limiter import Allowance
from accord.operations.logs.redaction import masked
from accord.transports.http.replies import Reply
from accord.transports.web.app import Stream

JSON: Final = b"content-type: application/json\r\n"
PROBLEM: Final = b"content-type: application/problem+json\r\n"
SAFETY: Final = b"x-content-type-options: nosniff\r\nreferrer-policy: no-referrer\r\n"
PRIVATE: Final = SAFETY + b"cache-control: no-store\r\n"
EXPOSED: Final = (
    b"access-control-expose-headers: ETag, Location, Retry-After, RateLimit, RateLimit-Policy, "
    b"X-Correlation-Id, Accord-Change-Id\r\n"
)
"""The fields of an answer that pages of other origins may read."""
CHALLENGE: Final = b'www-authenticate: Bearer realm="accord"\r\n'

NO_ROUTE: Final = Kind("not_found", "There is no such thing", 404, -32601)
WRONG_VERB: Final = Kind("method_not_allowed", "This method is not served here", 405, -32601)
TOO_LARGE: Final = Kind("content_too_large", "The request is too large", 413, -32012)
WRONG_TYPE: Final = Kind("unsupported_media_type", "Only JSON is read here", 415, -32600)
WRONG_ORIGIN: Final = Kind("origin_not_allowed", "This web page may not ask", 403, -32600)

encode: Final = msgspec.json.Encoder().encode


Pour: TypeAlias = Callable[[Stream], Awaitable[None]]
"""Writes the pieces of an answer, as long as there are some and anybody reads them."""


class Answer(Struct, frozen=True):
    """One answer, but for the header lines that every one has."""

    status: int
    headers: bytes = b""
    body: bytes = b""
    pour: Pour | None = None
    """Instead of a body: it comes in pieces, over time."""


def correlation_line(correlation_id: str) -> bytes:
    return b"x-correlation-id: %b\r\n" % correlation_id.encode("ascii")


def allowance_lines(allowance: Allowance | None) -> bytes:
    """What a caller has left (draft-ietf-httpapi-ratelimit-headers)."""
    if allowance is None:
        return b""
    return b'ratelimit-policy: "calls";q=%d;w=%d\r\nratelimit: "calls";r=%d;t=%d\r\n' % (
        allowance.limit,
        allowance.window,
        allowance.remaining,
        allowance.reset,
    )


def instance_of(path: str) -> str:
    """A path as problems name it."""
    return quote(masked(path), safe="/:@!$&'()*+,;=~")


def error_answer(error: Exception, *, path: str, correlation_id: str) -> Answer:
    """The answer to a request that was refused, or that failed."""
    told = problem(error, instance=instance_of(path), correlation_id=correlation_id)
    headers = PROBLEM + error_lines(error)
    return Answer(kind_of(error).status, headers, encode(told))


def error_lines(error: Exception) -> bytes:
    """The header lines that go with an error, over REST and JSON-RPC."""
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
    """The answer to a request that is refused by its head alone."""
    told: dict[str, Any] = members(
        kind, detail, instance=instance_of(path), correlation_id=correlation_id
    )
    lines = PROBLEM + PRIVATE + correlation_line(correlation_id) + headers
    return Reply(kind.status, lines, encode(told))
