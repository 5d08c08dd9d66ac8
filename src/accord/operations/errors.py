"""What an operation can refuse, and what that is called on each face.

    ServiceError
    ├── MalformedError          what was sent cannot be read
    ├── InvalidError            a field has a value that it cannot have
    ├── UnauthenticatedError    nobody in particular calls
    ├── ForbiddenError          who calls may not do this
    ├── NotFoundError           there is no such thing
    ├── ConflictError           it cannot be done as things are: a rule, a duplicate, children
    │   └── StaleError          somebody else changed it first
    ├── RateLimitedError        too many calls
    └── UnavailableError        not now; the same call may succeed later

`KINDS` is the one table from a kind of error to an HTTP status and a JSON-RPC code.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar, Final

from msgspec import Struct

if TYPE_CHECKING:
    from accord.operations.outcome import Allowance


class Kind(Struct, frozen=True):
    """What one kind of error is on the wire."""

    code: str
    """Its name, which programs look at."""
    title: str
    status: int
    """Of HTTP."""
    rpc: int
    """The code of JSON-RPC."""


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
    """What is wrong with one field."""

    pointer: str
    """Where it is: a JSON pointer into the arguments, such as `/title`."""
    detail: str


class ServiceError(Exception):
    """An operation that was refused. The message is for whoever called, and says what to do."""

    kind: ClassVar[Kind] = KINDS["conflict"]

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.data = data
        """Further members of the answer, such as `children` or `current`."""
        self.errors: tuple[FieldError, ...] = ()
        self.allowance: Allowance | None = None
        """What the caller has left, where that was counted."""


class MalformedError(ServiceError):
    """What was sent cannot be read."""

    kind = KINDS["malformed_request"]


class InvalidError(ServiceError):
    """A field has a value that it cannot have."""

    kind = KINDS["validation_failed"]

    def __init__(self, field: str, detail: str, **data: Any) -> None:
        super().__init__(f"{field}: {detail}" if field else detail, **data)
        self.errors = (FieldError(f"/{field}" if field else "", detail),)
        """Inside of a field the way is separated by slashes: `items/0/title`."""


class UnauthenticatedError(ServiceError):
    """Nobody in particular calls. Always the same words, whatever is wrong with a token."""

    kind = KINDS["unauthenticated"]

    def __init__(self) -> None:
        super().__init__("a valid token is required")


class ForbiddenError(ServiceError):
    """Who calls may not do this."""

    kind = KINDS["insufficient_permissions"]


class NotFoundError(ServiceError):
    """There is no such thing."""

    kind = KINDS["not_found"]


class ConflictError(ServiceError):
    """It cannot be done as things are."""


class StaleError(ConflictError):
    """Somebody else changed it first; `data` has the difference."""

    kind = KINDS["version_mismatch"]


class RateLimitedError(ServiceError):
    """Too many calls."""

    kind = KINDS["rate_limited"]

    def __init__(self, retry_after: float, allowance: Allowance | None = None) -> None:
        seconds = max(1, ceil(retry_after))
        super().__init__(f"too many calls: try again in {seconds} s", retry_after=seconds)
        self.retry_after = seconds
        self.allowance = allowance


class UnavailableError(ServiceError):
    """Not now; the same call may succeed later."""

    kind = KINDS["unavailable"]
