"""The head of a REST request: parsed query, conditions, and its target.

Queries are percent-decoded once, and strictly: invalid UTF-8 is refused, not replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Protocol, TypeAlias
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from accord.operations.adapters.responses import RestResponse
from accord.operations.arguments import MAX_NAME
from accord.operations.auth.authentication import RequestAuthenticator
from accord.operations.auth.credentials import Credentials
from accord.operations.errors import InvalidError, MalformedError
from accord.operations.operation import Verb
from accord.schema.schema import Json
from accord.transports.http.heads import WebRequest


def read_query(query: str, *, known: Set[str], lists: Set[str]) -> dict[str, str | list[str]]:
    """Parse a query; names in `lists` may be repeated, other `known` names may not.

    Raises MalformedError, and InvalidError for unknown names.
    """
    words: dict[str, str | list[str]] = {}
    for pair in query.split("&"):
        if not pair:
            continue
        raw_name, _, raw_value = pair.partition("=")
        name, value = _decoded(raw_name), _decoded(raw_value)
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


def _decoded(text: str) -> str:
    if "%" not in text:
        return text.replace("+", " ")
    try:
        return unquote_to_bytes(text.replace("+", " ")).decode()
    except UnicodeDecodeError:
        raise MalformedError("the query is not UTF-8") from None


RequestWords: TypeAlias = dict[str, str | list[str]]


class Conditions(Struct, frozen=True):
    """The conditions and the idempotency key in the head of a request."""

    if_match: str | None = None
    if_none_match: str | None = None
    idempotency_key: str | None = None


class RestHead(Struct, frozen=True):
    """The head of a request with a known route, before authentication."""

    request: WebRequest
    target: RouteTarget
    route_path: str
    """The path with names instead of values, such as `/api/v1/epics/{id}`."""
    values: tuple[str, ...]
    """The values of the names in the path."""
    words: RequestWords | None
    """The values in path and query; None if some are invalid.

    The error is reported after authentication only.
    """
    conditions: Conditions
    is_text: bool
    """True if the body is text instead of JSON."""
    lines: bytes
    """Header lines of the response, such as those for pages of other origins."""


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
        """True if a request is finished even after its client has disconnected."""

    def read_words(self, values: tuple[str, ...], query: str) -> RequestWords:
        """Return the values in a path and a query. Raises ServiceError."""

    async def answer(self, head: RestHead, credentials: Credentials, body: bytes) -> RestResponse:
        """Return the response. Raises ServiceError for a refusal."""


class Further(Struct, frozen=True):
    """A route that is no operation."""

    verb: Verb
    path: str
    make: Callable[[RequestAuthenticator], RouteTarget]
    described: Json
    """The operation object of the route in the OpenAPI document."""
