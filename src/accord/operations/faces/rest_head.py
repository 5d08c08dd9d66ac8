"""The head of a request over REST, as it was judged, and what answers it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from msgspec import Struct

from accord.operations.accounts.authentication import RequestAuthenticator
from accord.operations.accounts.credentials import Credentials
from accord.operations.faces.answers import Answer
from accord.operations.operation import Verb
from accord.schema.schema import Json
from accord.transports.http.request import WebRequest

Words: TypeAlias = dict[str, str | list[str]]


class Conditions(Struct, frozen=True):
    """What the head of a request asks for beside its arguments."""

    if_match: str | None = None
    if_none_match: str | None = None
    idempotency_key: str | None = None


class RestHead(Struct, frozen=True):
    """The head of a request that was let in so far."""

    request: WebRequest
    target: Target
    route_path: str
    """The path with names instead of values."""
    values: tuple[str, ...]
    """What stands in its path for names."""
    words: Words | None
    """What path and query say; None where something is wrong with them, which is told once it is
    clear who asks."""
    conditions: Conditions
    is_text: bool
    """Whether the body is a text, and no JSON."""
    lines: bytes
    """Header lines of the answer, for pages of other origins."""


class Target(Protocol):
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

    def read_words(self, values: tuple[str, ...], query: str) -> Words:
        """What a path, in which `values` stand, and a query say. Raises ServiceError."""

    async def answer(self, head: RestHead, credentials: Credentials, body: bytes) -> Answer:
        """Raises ServiceError for what is refused."""


class Further(Struct, frozen=True):
    """A target that is no operation."""

    verb: Verb
    path: str
    make: Callable[[RequestAuthenticator], Target]
    described: Json
    """Its operation object in the OpenAPI document."""
