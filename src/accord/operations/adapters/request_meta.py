"""The head of a REST request: parsed query, conditions, correlation id, and its target.

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
    """The words of a query; those of `lists` may be given several times, others of `known` once.

    Raises MalformedError, and InvalidError for names that are not known.
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
    """What the head of a request asks for beside its arguments."""

    if_match: str | None = None
    if_none_match: str | None = None
    idempotency_key: str | None = None


class RestHead(Struct, frozen=True):
    """The head of a request that was let in so far."""

    request: WebRequest
    target: RouteTarget
    route_path: str
    """The path with names instead of values."""
    values: tuple[str, ...]
    """What stands in its path for names."""
    words: RequestWords | None
    """What path and query say; None where something is wrong with them, which is told once it is
    clear who asks."""
    conditions: Conditions
    is_text: bool
    """Whether the body is a text, and no JSON."""
    lines: bytes
    """Header lines of the answer, for pages of other origins."""


class RouteTarget(Protocol):
    """Answers one verb at one path."""

    @property
    def takes_body(self) -> bool:
        """Whether requests have a body."""

    @property
    def is_private(self) -> bool:
        """Whether only somebody with credentials may ask."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Media types beside JSON that it may have."""

    @property
    def writes(self) -> bool:
        """Whether it is to be finished even if nobody waits for the answer any more."""

    def read_words(self, values: tuple[str, ...], query: str) -> RequestWords:
        """What a path, in which `values` stand, and a query say. Raises ServiceError."""

    async def answer(self, head: RestHead, credentials: Credentials, body: bytes) -> RestResponse:
        """Raises ServiceError for what is refused."""


class Further(Struct, frozen=True):
    """A target that is no operation."""

    verb: Verb
    path: str
    make: Callable[[RequestAuthenticator], RouteTarget]
    described: Json
    """Its operation object in the OpenAPI document."""
