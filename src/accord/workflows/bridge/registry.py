"""Agents by name, as they are registered, kept for some seconds: calling one costs no query."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from accord.store.store import Store, UnavailableError
from accord.workflows.storage.agents import ONE_NAMED, WAKE, AgentRow, agent_of

KEPT_SECONDS: Final = 5.0
"""How long an agent is called as it was, should the news of a change be lost."""
MAX_KEPT: Final = 1_000


class Agents:
    """The agents of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[str, tuple[float, AgentRow | None]] = {}
        self._stop: Callable[[], None] | None = None

    async def start(self) -> None:
        """Hear of changes at once."""
        self._stop = await self._store.listen(WAKE, self.expire)

    async def close(self) -> None:
        if self._stop is not None:
            self._stop()
            self._stop = None

    def expire(self) -> None:
        """Ask anew for every agent. What is known stays, for as long as nobody answers."""
        self._kept = {name: (0.0, found) for name, (_, found) in self._kept.items()}

    async def get(self, name: str) -> AgentRow | None:
        """The agent of this name; None where there is none. While the database is away it is as
        it was. Raises StoreError where nothing is known."""
        kept = self._kept.get(name)
        now = time.monotonic()
        if kept is not None and kept[0] > now:
            return kept[1]
        try:
            rows = await self._store.fetch(ONE_NAMED, name)
        except UnavailableError:
            if kept is None:
                raise
            return kept[1]
        found = agent_of(rows[0]) if rows else None
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[name] = (now + KEPT_SECONDS, found)
        return found
