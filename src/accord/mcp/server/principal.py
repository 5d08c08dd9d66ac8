"""On whose behalf a client calls."""

from __future__ import annotations

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
