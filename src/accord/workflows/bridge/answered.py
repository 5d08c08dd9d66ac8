"""Tasks whose success was told by the bus, and is not known to be recorded: as long as their rows
are still the worker's own, it may be that nobody heard."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final

from msgspec import Struct

from accord.workflows.storage.inbox import Message
from accord.workflows.storage.task_rows import Change

MOST_TASKS: Final = 20_000
MOST_CHARACTERS: Final = 32 * 1_048_576
"""Of what was told; what comes then goes by the database."""
PATIENCE: Final = 60.0
"""Seconds after which what is not recorded is written by the worker itself."""


class Answer(Struct, eq=False):
    """What was told of a task, and how its row is to be then."""

    change: Change
    message: Message
    size: int
    told_at: float
    is_told: bool = False
    """Whether the bus has it for good."""


class Answered:
    """Answers by the id of their task."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._answers: dict[str, Answer] = {}
        self._size = 0

    def __contains__(self, id: str) -> bool:
        return id in self._answers

    @property
    def has_room(self) -> bool:
        return len(self._answers) < MOST_TASKS and self._size < MOST_CHARACTERS

    @property
    def ids(self) -> list[str]:
        """Of those that the bus has."""
        return [id for id, answer in self._answers.items() if answer.is_told]

    def add(self, change: Change, message: Message, size: int) -> None:
        self._answers[change.id] = Answer(change, message, size, self._clock())
        self._size += size

    def told(self, id: str) -> None:
        if id in self._answers:
            self._answers[id].is_told = True

    def take(self, id: str) -> Answer | None:
        found = self._answers.pop(id, None)
        if found is not None:
            self._size -= found.size
        return found

    def late(self, ids: Collection[str]) -> Iterator[Answer]:
        """Those of these that were told too long ago, once; and again after as long."""
        now = self._clock()
        for id in ids:
            answer = self._answers.get(id)
            if answer is not None and answer.told_at < now - PATIENCE:
                answer.told_at = now
                yield answer

    def all(self) -> list[Answer]:
        return list(self._answers.values())
