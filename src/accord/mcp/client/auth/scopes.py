"""Which scopes to ask for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

OFFLINE_ACCESS: Final = "offline_access"


MAX_SCOPES: Final = 100
MAX_SCOPE: Final = 200
"""How long one may be; they are part of a URL."""

_SCOPE = re.compile(rf"[\x21\x23-\x5b\x5d-\x7e]{{1,{MAX_SCOPE}}}")
"""RFC 6749, section 3.3."""


def union(*sets: Iterable[str]) -> tuple[str, ...]:
    """All scopes once, in the order in which they come; what is none is left out, and so are
    those that are too many."""
    scopes = dict.fromkeys(scope for each in sets for scope in each if _SCOPE.fullmatch(scope))
    return tuple(scopes)[:MAX_SCOPES]


def wanted(
    *,
    challenged: tuple[str, ...],
    supported: tuple[str, ...],
    before: tuple[str, ...],
    configured: tuple[str, ...],
) -> tuple[str, ...]:
    """2026-07-28, scope selection: what the challenge says, else what the resource knows, along
    with what was asked for before; and what the application wants in any case."""
    return union(before, challenged or (() if before else supported), configured)


def for_refreshing(scopes: tuple[str, ...], authority: Iterable[str] | None) -> tuple[str, ...]:
    """The same with what makes the authorization server give refresh tokens, where it says that
    it has that (2026-07-28, refresh tokens).

    Not in place of no scopes at all, which stand for those that the server gives by default.
    """
    if scopes and authority is not None and OFFLINE_ACCESS in authority:
        return union(scopes, (OFFLINE_ACCESS,))
    return scopes
