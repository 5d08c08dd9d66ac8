"""Refusals of operations, with their names and codes on each interface, and rate limits.

    ServiceError
    ├── MalformedRequestError   the request cannot be parsed
    ├── InvalidError            a field has an invalid value
    ├── UnauthenticatedError    no valid credentials
    ├── ForbiddenError          the caller lacks permission
    ├── NotFoundError           the thing does not exist
    ├── ConflictError           the state prevents it: a rule, a name in use, existing children
    │   └── StaleError          the entity changed after the caller read it
    ├── RateLimitedError        too many calls
    └── ServiceUnavailableError temporary; the same call may succeed later

`KINDS` is the one table from a kind of error to an HTTP status and a JSON-RPC code.
"""

from __future__ import annotations

from math import ceil
from typing import Any, ClassVar, Final, Protocol

from msgspec import Struct


class Allowance(Struct, frozen=True):
    """The rate limit of a caller and the calls left, for response headers."""

    limit: int
    remaining: int
    reset: int
    """Seconds until the bucket is full again."""
    window: int
    """Seconds that an empty bucket takes to fill."""


class Limiter(Protocol):
    """Token buckets, one for each key; calls take from them, time fills them."""

    async def take(self, keys: tuple[str, ...], cost: int) -> Allowance:
        """Take `cost` from the bucket of each key; return the lowest allowance.

        Raises RateLimitedError, and takes nothing, if one of the buckets has less.
        """


class Kind(Struct, frozen=True):
    """A kind of error, with its name, its title and its code on each interface."""

    code: str
    """The name of the kind, for programs."""
    title: str
    status: int
    """The HTTP status."""
    rpc: int
    """The JSON-RPC error code."""


KINDS: Final = {
    kind.code: kind
    for kind in (
        Kind("malformed_request", "The request cannot be read", 400, -32600),
        Kind("validation_failed", "The input is not valid", 422, -32602),
        Kind("unauthenticated", "Sign in, or send a valid token", 401, -32051),
        Kind("insufficient_permissions", "You may not do this", 403, -32055),
        Kind("not_found", "There is no such thing", 404, -32001),
        Kind("conflict", "It cannot be done as things are", 409, -32000),
        Kind("version_mismatch", "Somebody else changed it first", 412, -32028),
        Kind("rate_limited", "Too many calls", 429, -32010),
        Kind("unavailable", "Not now", 503, -32000),
        Kind("internal_error", "Something went wrong on our side", 500, -32603),
    )
}


class FieldError(Struct, frozen=True):
    """An error of one field."""

    pointer: str
    """A JSON pointer into the arguments, such as `/title`."""
    detail: str


class ServiceError(Exception):
    """A refusal of an operation.

    The message is for the caller, and says what to do next.
    """

    kind: ClassVar[Kind] = KINDS["conflict"]

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.data = data
        """Further members of the error response, such as `children` or `current`."""
        self.errors: tuple[FieldError, ...] = ()
        self.allowance: Allowance | None = None
        """The remaining rate limit of the caller, if it was counted."""


class MalformedRequestError(ServiceError):
    """The request cannot be parsed."""

    kind = KINDS["malformed_request"]


class InvalidError(ServiceError):
    """A field has an invalid value."""

    kind = KINDS["validation_failed"]

    def __init__(self, field: str, detail: str, **data: Any) -> None:
        super().__init__(f"{field}: {detail}" if field else detail, **data)
        self.errors = (FieldError(f"/{field}" if field else "", detail),)
        """The error of the field; a nested field is named with slashes: `items/0/title`."""


class UnauthenticatedError(ServiceError):
    """The credentials are missing or invalid.

    Always the same message, whatever is wrong with a token.
    """

    kind = KINDS["unauthenticated"]

    def __init__(self) -> None:
        super().__init__("a valid token is required")


class ForbiddenError(ServiceError):
    """The caller lacks permission."""

    kind = KINDS["insufficient_permissions"]


class NotFoundError(ServiceError):
    """The thing does not exist."""

    kind = KINDS["not_found"]


class ConflictError(ServiceError):
    """The current state prevents the operation."""


class StaleError(ConflictError):
    """The entity changed after the caller read it.

    `data` may contain the current version, or how it differs from the one that the caller read.
    """

    kind = KINDS["version_mismatch"]


class RateLimitedError(ServiceError):
    """The caller has exceeded a rate limit."""

    kind = KINDS["rate_limited"]

    def __init__(self, retry_after: float, allowance: Allowance | None = None) -> None:
        seconds = max(1, ceil(retry_after))
        super().__init__(f"too many calls: try again in {seconds} s", retry_after=seconds)
        self.retry_after = seconds
        self.allowance = allowance


class ServiceUnavailableError(ServiceError):
    """A temporary failure; the same call may succeed later."""

    kind = KINDS["unavailable"]
