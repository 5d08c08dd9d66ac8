"""The frame of every page: navigation, pending counts, the active prompt.

Counts are cached for some seconds, because every page shows them, and dropped by every write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, Final, TypeAlias

from msgspec import Struct

from accord.operations.context import Caller
from accord.operations.errors import ServiceError

CACHE_SECONDS: Final = 15.0
MAX_CACHED_USERS: Final = 1_000
"""For how many people."""

Ask: TypeAlias = Callable[..., Awaitable[Any]]
"""Asks for an operation by its name, as somebody."""


class NavigationEntry(Struct, frozen=True):
    """One place to go to."""

    name: str
    path: str
    key: str = ""
    """The letter that follows `g`."""
    waits: str = ""
    """What counts as waiting there; see `Waiting`."""
    admin: bool = False
    words: str = ""
    """Other words by which people look for it."""


class NavigationGroup(Struct, frozen=True):
    title: str
    entries: tuple[NavigationEntry, ...]


NAVIGATION: Final = (
    NavigationGroup(
        "",
        (
            NavigationEntry("Home", "/", "h", "approvals"),
            NavigationEntry("Requirements", "/requirements", "r"),
            NavigationEntry("Traceability", "/traceability", "t"),
            NavigationEntry("Search", "/search", "s"),
            NavigationEntry("Changes", "/changes", "c", words="what changed history undo who"),
        ),
    ),
    NavigationGroup(
        "Workflows",
        (
            NavigationEntry("Runs", "/runs", "u", "runs"),
            NavigationEntry("Definitions", "/workflows", "d"),
            NavigationEntry("Agents", "/agents", "a", admin=True),
            NavigationEntry("Dead letters", "/dead-letters", "x", "dead_letters", admin=True),
        ),
    ),
    NavigationGroup(
        "Assistants",
        (
            NavigationEntry("Prompts", "/prompts", "p"),
            NavigationEntry("Tokens", "/tokens", "k"),
            NavigationEntry("Proposals", "/proposals", "o", "proposals"),
        ),
    ),
    NavigationGroup(
        "System",
        (
            NavigationEntry("API explorer", "/explorer", "e"),
            NavigationEntry("Audit log", "/audit", "l", admin=True),
            NavigationEntry("Users", "/users", "m", admin=True),
            NavigationEntry("Types and labels", "/settings", "y", admin=True),
        ),
    ),
)


class PendingCounts(Struct, frozen=True):
    """What waits for somebody, and the prompt that assistants are given."""

    approvals: int = 0
    runs: int = 0
    proposals: int = 0
    dead_letters: int = 0
    prompt: Any = None


class PendingCountCache:
    """What waits for whom, for as long as that is worth remembering."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, PendingCounts]] = {}

    def forget(self) -> None:
        self._kept.clear()

    async def get(self, caller: Caller, ask: Ask) -> PendingCounts:
        kept = self._kept.get(caller.user_id)
        if kept is not None and kept[0] > monotonic():
            return kept[1]
        found = await _count_pending(caller, ask)
        if len(self._kept) >= MAX_CACHED_USERS:
            self._kept.clear()
        self._kept[caller.user_id] = (monotonic() + CACHE_SECONDS, found)
        return found


async def _count_pending(caller: Caller, ask: Ask) -> PendingCounts:
    async def total(operation: str, **arguments: Any) -> int:
        try:
            count: int = (await ask(operation, limit=1, **arguments)).total
        except ServiceError:
            return 0
        return count

    async def prompt() -> Any:
        # A list, as the audit trail would have a refusal for each page while no prompt is active.
        try:
            found = (await ask("list_prompts", active=True, limit=1, detail="concise")).items
        except ServiceError:
            return None
        return found[0] if found else None

    async def dead_letters() -> int:
        return await total("list_dead_letters", replayed=False) if caller.is_administrator else 0

    approvals, runs, proposals, letters, active = await asyncio.gather(
        total("list_approvals"),
        total("list_runs", state="running"),
        total("list_proposals", state="open"),
        dead_letters(),
        prompt(),
    )
    return PendingCounts(approvals, runs, proposals, letters, active)
