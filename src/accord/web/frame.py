"""What stands around every page: where one can go, what waits there, the prompt that is active.

Counts are kept for some seconds and forgotten with every write: they are on every page, and nobody
wants to pay for them again and again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, Final, TypeAlias

from msgspec import Struct

from accord.operations.caller import Caller
from accord.operations.errors import ServiceError

KEPT_SECONDS: Final = 15.0
MAX_KEPT: Final = 1_000
"""For how many people."""

Ask: TypeAlias = Callable[..., Awaitable[Any]]
"""Asks for an operation by its name, as somebody."""


class Entry(Struct, frozen=True):
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


class Group(Struct, frozen=True):
    title: str
    entries: tuple[Entry, ...]


RAIL: Final = (
    Group(
        "",
        (
            Entry("Home", "/", "h", "approvals"),
            Entry("Requirements", "/requirements", "r"),
            Entry("Traceability", "/traceability", "t"),
            Entry("Search", "/search", "s"),
            Entry("Changes", "/changes", "c", words="what changed history undo who"),
        ),
    ),
    Group(
        "Workflows",
        (
            Entry("Runs", "/runs", "u", "runs"),
            Entry("Definitions", "/workflows", "d"),
            Entry("Agents", "/agents", "a", admin=True),
            Entry("Dead letters", "/dead-letters", "x", "dead_letters", admin=True),
        ),
    ),
    Group(
        "Assistants",
        (
            Entry("Prompts", "/prompts", "p"),
            Entry("Tokens", "/tokens", "k"),
            Entry("Proposals", "/proposals", "o", "proposals"),
        ),
    ),
    Group(
        "System",
        (
            Entry("API explorer", "/explorer", "e"),
            Entry("Audit log", "/audit", "l", admin=True),
            Entry("Users", "/users", "m", admin=True),
            Entry("Types and labels", "/settings", "y", admin=True),
        ),
    ),
)


class Waiting(Struct, frozen=True):
    """What waits for somebody, and the prompt that assistants are given."""

    approvals: int = 0
    runs: int = 0
    proposals: int = 0
    dead_letters: int = 0
    prompt: Any = None


class Frames:
    """What waits for whom, for as long as that is worth remembering."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, Waiting]] = {}

    def forget(self) -> None:
        self._kept.clear()

    async def waiting(self, caller: Caller, ask: Ask) -> Waiting:
        kept = self._kept.get(caller.user_id)
        if kept is not None and kept[0] > monotonic():
            return kept[1]
        found = await _waiting(caller, ask)
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[caller.user_id] = (monotonic() + KEPT_SECONDS, found)
        return found


async def _waiting(caller: Caller, ask: Ask) -> Waiting:
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
    return Waiting(approvals, runs, proposals, letters, active)
