"""What tells whose a token is."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, runtime_checkable

from accord.mcp.server.principal import Principal


class UnavailableError(Exception):
    """Tokens cannot be verified now, because their issuer does not answer.

    The client is asked to retry (503) and gets no further details.
    """


@runtime_checkable
class Verifier(Protocol):
    """A token verifier."""

    def verify(self, token: str) -> Principal | None | Awaitable[Principal | None]:
        """Return the principal of `token`; None if the token is invalid here.

        A plain or an `async def` method. Raises UnavailableError if the token cannot be verified
        now.
        """
