"""On whose behalf a client calls."""

from __future__ import annotations

import time
from typing import Any

from msgspec import Struct


class Principal(Struct, frozen=True, kw_only=True):
    """An authenticated caller."""

    subject: str
    """Unique among the callers of this server."""
    client_id: str = ""
    """The application that acts for the subject."""
    scopes: frozenset[str] = frozenset()
    claims: dict[str, Any] = {}
    """The other claims of the token."""
    expires: float | None = None
    """Expiry of the token in seconds since 1970; None for unknown."""

    @property
    def key(self) -> str:
        """A stable key of the subject and its application, across renewed tokens."""
        return f"{len(self.subject)}:{self.subject}{self.client_id}"

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the token expires; None if it does not."""
        return None if self.expires is None else self.expires - time.time()

    @property
    def has_expired(self) -> bool:
        return self.expires is not None and self.expires <= time.time()


def owner_of(principal: Principal | None) -> str | None:
    """Return the owner of anything a request creates; None for an anonymous one."""
    return None if principal is None else principal.key
