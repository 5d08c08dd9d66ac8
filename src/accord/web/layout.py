"""The frame of every page: navigation, counts of pending work, active prompt.

The active prompt is the prompt that assistants get when they connect.

Every page shows the counts, so they are cached for some seconds. Every write clears the cache.
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
"""The most users whose counts are cached."""

Ask: TypeAlias = Callable[..., Awaitable[Any]]
"""A function `ask(operation, **arguments)` that runs an operation as the current caller."""


class NavigationEntry(Struct, frozen=True):
    """A link of the navigation."""

    name: str
    path: str
    key: str = ""
    """The letter to press after `g`, as a keyboard shortcut for the page."""
    waits: str = ""
    """The field of `PendingCounts` with the count to show beside the link; "" for no count."""
    admin: bool = False
    words: str = ""
    """Other words that find the page in the command palette."""


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
    """The counts of pending objects for one user, and the active prompt.

    Counted are the approvals, runs, proposals and dead letters that wait for the user.
    """

    approvals: int = 0
    runs: int = 0
    proposals: int = 0
    dead_letters: int = 0
    prompt: Any = None


class PendingCountCache:
    """A cache of pending counts, by user."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, PendingCounts]] = {}

    def forget(self) -> None:
        self._kept.clear()

    async def get(self, caller: Caller, ask: Ask) -> PendingCounts:
        cached = self._kept.get(caller.user_id)
        if cached is not None and cached[0] > monotonic():
            return cached[1]
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
        # A list: without an active prompt, `get` would put a refusal per page into the audit trail.
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
