"""What tells whose a token is."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, runtime_checkable

from accord.mcp.server.principal import Principal


class UnavailableError(Exception):
    """Nobody can tell at the moment whose a token is, as whoever knows does not answer. The
    client is told to come back (503), and nothing else."""


@runtime_checkable
class Verifier(Protocol):
    """Tells whose a token is."""

    def verify(self, token: str) -> Principal | None | Awaitable[Principal | None]:
        """The principal that `token` was given to, None if it is not valid here; plain, or
        `async def` where that takes its time. Raises UnavailableError when nobody can tell."""
