"""On whose behalf a client calls."""

from __future__ import annotations

import time
from typing import Any

from msgspec import Struct


class Principal(Struct, frozen=True, kw_only=True):
    """Somebody whose token was verified."""

    subject: str
    """Unique among those who may call this server."""
    client_id: str = ""
    """The application that acts for them."""
    scopes: frozenset[str] = frozenset()
    claims: dict[str, Any] = {}
    """What else the token says."""
    expires: float | None = None
    """When the token ends, in seconds since 1970; None where nobody says."""

    @property
    def key(self) -> str:
        """What tells principals apart, however often their tokens are renewed: who it is, and
        which application acts for them."""
        return f"{len(self.subject)}:{self.subject}{self.client_id}"

    @property
    def seconds_left(self) -> float | None:
        """For how long the token can still be used; None where it does not end."""
        return None if self.expires is None else self.expires - time.time()

    @property
    def has_expired(self) -> bool:
        return self.expires is not None and self.expires <= time.time()


def owner_of(principal: Principal | None) -> str | None:
    """To whom belongs what a request creates; None where nobody had to say who they are."""
    return None if principal is None else principal.key
