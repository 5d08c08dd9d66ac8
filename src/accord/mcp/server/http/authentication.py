"""Who a request comes from: the place where authorization is put in."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol

from msgspec import Struct

from accord.mcp.server.principal import Principal
from accord.transports.web.app import WebRequest


class Refusal(Struct, frozen=True):
    """Why nobody is let in with these credentials."""

    status: int = 401
    headers: bytes = b""
    """Header lines, each with its line end, such as `www-authenticate`."""
    body: bytes = b""
    """JSON."""


class Authenticator(Protocol):
    """Tells who sends a request."""

    def authenticate(
        self, request: WebRequest
    ) -> Principal | Refusal | None | Awaitable[Principal | Refusal | None]:
        """On whose behalf a request is made; None for nobody in particular."""

    def forbidden(self, scopes: Sequence[str]) -> bytes:
        """Header lines of a 403 for somebody who lacks one of `scopes`."""


def owner_of(principal: Principal | None) -> tuple[str, str] | None:
    """What tells principals apart, however often their tokens are renewed."""
    return None if principal is None else (principal.subject, principal.client_id)
