"""What a worker has taken, within limits: so many tasks, and so many bytes of inputs."""

from __future__ import annotations

from typing import Final

from accord.workflows.bridge.held import Held

MOST_BYTES: Final = 64 * 1024 * 1024
"""Of inputs; the last tasks that are taken may go over it."""


class Holding:
    """Tasks by id."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[str, Held] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, held: Held) -> bool:
        return self._held.get(held.task.id) is held

    def get(self, id: str) -> Held | None:
        return self._held.get(id)

    def all(self) -> list[Held]:
        return list(self._held.values())

    @property
    def room(self) -> int:
        """How many more may be taken."""
        return 0 if self._bytes >= MOST_BYTES else self._most - len(self._held)

    def add(self, held: Held) -> None:
        self._held[held.task.id] = held
        self._bytes += held.size

    def remove(self, held: Held) -> None:
        if held in self:
            del self._held[held.task.id]
            self._bytes -= held.size
