"""Which scopes to ask for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

OFFLINE_ACCESS: Final = "offline_access"


MAX_SCOPES: Final = 100
MAX_SCOPE: Final = 200
"""Maximum length of one scope; scopes are part of a URL."""

_SCOPE = re.compile(rf"[\x21\x23-\x5b\x5d-\x7e]{{1,{MAX_SCOPE}}}")
"""The syntax of a scope (RFC 6749, section 3.3), of bounded length."""


def union(*sets: Iterable[str]) -> tuple[str, ...]:
    """Return all valid scopes once, in order, up to `MAX_SCOPES`."""
    scopes = dict.fromkeys(scope for each in sets for scope in each if _SCOPE.fullmatch(scope))
    return tuple(scopes)[:MAX_SCOPES]


def wanted(
    *,
    challenged: tuple[str, ...],
    supported: tuple[str, ...],
    before: tuple[str, ...],
    configured: tuple[str, ...],
) -> tuple[str, ...]:
    """Return the scopes to request (2026-07-28, scope selection).

    They are those of the challenge, or else of the resource; those requested before; and those that
    the application configured.
    """
    return union(before, challenged or (() if before else supported), configured)


def for_refreshing(scopes: tuple[str, ...], authority: Iterable[str] | None) -> tuple[str, ...]:
    """Return the scopes with `offline_access`, if the server supports it.

    The server then issues refresh tokens (2026-07-28, refresh tokens). An empty list stays empty:
    it stands for the default scopes of the server.
    """
    if scopes and authority is not None and OFFLINE_ACCESS in authority:
        return union(scopes, (OFFLINE_ACCESS,))
    return scopes
