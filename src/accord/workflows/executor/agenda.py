"""What an executor is to decide on next: what arrived for its runs, and what is due in them.

It looks when it is woken, and once a second at everything. In between it looks only at what is
newer than what it saw a second ago: queues leave dead rows behind, and reading past those of
minutes would cost more than the work. What commits late, or was left, is found within the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Final

from accord.store.store import Store
from accord.workflows.storage.inbox import MOST_MESSAGES, Received, read_due, read_messages

LOOK_SECONDS: Final = 1.0
"""How often it looks at everything."""


class Agenda:
    """Used by one task."""

    def __init__(self, store: Store, now: Callable[[], float]) -> None:
        self._store = store
        self._now = now
        self._next_due: float | None = None
        self._looked = 0.0
        self._newest = 0
        self._marks = (0, 0)
        self.forget()

    @property
    def pause(self) -> float:
        """For how many seconds there is nothing to do, as far as is known."""
        if self._next_due is None:
            return LOOK_SECONDS
        return min(max(self._next_due - self._now(), 0.0), LOOK_SECONDS)

    def forget(self) -> None:
        """There are other shards, of which nothing is known: look at everything."""
        self._looked = -LOOK_SECONDS
        self._marks = (0, 0)

    def note(self, due: float | None) -> None:
        """Something is due at a time, and nobody will tell."""
        if due is not None:
            self._next_due = due if self._next_due is None else min(due, self._next_due)

    def is_due(self, now: float) -> bool:
        """Whether it is time to look, woken or not."""
        is_time = monotonic() - self._looked >= LOOK_SECONDS
        return is_time or (self._next_due is not None and self._next_due <= now)

    async def read(self, shards: Iterable[int], now: float) -> dict[str, list[Received]]:
        """The runs to decide on, with what arrived for them. Raises StoreError."""
        is_time = monotonic() - self._looked >= LOOK_SECONDS
        after = 0 if is_time else self._marks[0]
        messages = await read_messages(self._store, self._store.engine, shards, after, now)
        if messages:
            self._newest = max(self._newest, messages[-1].id)
        found = _by_run(messages)
        if is_time or (self._next_due is not None and self._next_due <= now):
            for run_id in await self._due(shards, now):
                found.setdefault(run_id, [])
        if is_time:
            self._looked = monotonic()
            self._marks = (self._marks[1], self._newest)
        return found

    async def _due(self, shards: Iterable[int], now: float) -> list[str]:
        soon = await read_due(self._store, self._store.engine, shards, now + LOOK_SECONDS)
        due = [run_id for run_id, at in soon.items() if at <= now]
        # As many as are read at once: there may be more.
        following = now if len(due) >= MOST_MESSAGES else None
        self._next_due = min((at for at in soon.values() if at > now), default=following)
        return due


def _by_run(messages: Sequence[Received]) -> dict[str, list[Received]]:
    """Messages by run; one that made trouble before goes alone, so that it cannot do so for
    others."""
    found: dict[str, list[Received]] = {}
    for message in messages:
        found.setdefault(message.run_id, []).append(message)
    return {
        run_id: each[:1] if any(message.tries for message in each) else each
        for run_id, each in found.items()
    }
