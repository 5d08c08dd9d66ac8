"""Whom tasks are for: how many each works on, how many wait for it, and whether it is left alone.

One that is slow or ill fills its own places and nobody else's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, TypeAlias

from accord.workflows.bridge.breaker import Breaker
from accord.workflows.bridge.caller import Terms
from accord.workflows.bridge.held import Held
from accord.workflows.storage.tasks import Kind

MAX_TARGETS: Final = 1_000
"""How many are remembered that nothing is done for."""

Key: TypeAlias = tuple[Kind, str]


class Target:
    """One agent, server, address or operation."""

    __slots__ = ("breaker", "busy", "key", "terms", "waiting")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.terms = Terms()
        self.busy = 0
        self.waiting: deque[Held] = deque()
        self.breaker = Breaker()

    def room(self, now: float) -> int:
        """How many tasks may begin now."""
        room = self.terms.concurrency - self.busy
        allowed = self.breaker.room(now) if self.terms.breaks else None
        return room if allowed is None else min(room, allowed)

    def spare(self, now: float) -> int:
        """How many more tasks may be taken for it: it has work for a while, or is left alone, where
        this is not above 0."""
        if self.terms.breaks and self.breaker.state(now) != "closed":
            return self.room(now) - len(self.waiting)
        places = self.terms.concurrency
        return places + places // 2 - self.busy - len(self.waiting)

    def is_full(self, now: float) -> bool:
        return self.spare(now) <= 0

    @property
    def is_idle(self) -> bool:
        return not self.busy and not self.waiting


class Targets:
    """All targets of a worker."""

    def __init__(self) -> None:
        self._known: dict[Key, Target] = {}

    def __iter__(self) -> Iterator[Target]:
        return iter(self._known.values())

    def get(self, key: Key) -> Target:
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MAX_TARGETS:
                self._forget()
            found = self._known[key] = Target(key)
        return found

    def full(self, now: float) -> list[str]:
        """The names of those that no more tasks are to be taken for."""
        return [each.key[1] for each in self._known.values() if each.is_full(now)]

    def _forget(self) -> None:
        """Forget those that nothing is done for; who is left alone is remembered, if possible."""
        idle = [each for each in self._known.values() if each.is_idle]
        well = [each for each in idle if each.breaker.is_closed]
        for target in well or idle:
            del self._known[target.key]
