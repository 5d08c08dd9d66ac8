"""Which scopes to ask for. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

OFFLINE_ACCESS: Final = "offline_access"


def union(*sets: Iterable[str]) -> tuple[str, ...]:
    """All scopes once, in the order in which they come."""
    return tuple(dict.fromkeys(scope for scopes in sets for scope in scopes))


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
