"""What is affected when something changes: along links and down the hierarchy, with the ways there.

A link affects the end that leans on the other: whoever depends on something, refines it, verifies
it; of `blocks` it is the target, of symmetric types both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

AFFECTS_TARGET: Final = frozenset({"blocks"})
"""Types with a target that depends on the source; for all others it is the reverse."""
AFFECTS_BOTH: Final = frozenset({"duplicates"})
"""Types, besides the symmetric ones, that affect both ends."""


class Link(Struct, frozen=True):
    """A link, reduced to the fields that impact analysis needs."""

    source: str
    target: str
    type: str
    inverse: str
    is_symmetric: bool = False


class Step(Struct, frozen=True):
    """One step from an item to an item that it affects."""

    start: str
    end: str
    label: str
    """The relation of the end to the start: `is_depended_on_by`, `has`."""


def steps(link: Link) -> Iterator[Step]:
    """Yield the impact steps that a link allows."""
    is_both = link.is_symmetric or link.type in AFFECTS_BOTH
    if is_both or link.type in AFFECTS_TARGET:
        yield Step(link.source, link.target, link.type)
    if is_both or link.type not in AFFECTS_TARGET:
        yield Step(link.target, link.source, link.inverse)


class Reach:
    """A breadth-first traversal from one item; each item has one shortest path."""

    def __init__(self, start: str, limit: int) -> None:
        self.start = start
        self.came_by: dict[str, Step] = {}
        """By id: the step that reached an item, in the order of the traversal."""
        self.distances: dict[str, int] = {start: 0}
        self.front: tuple[str, ...] = (start,)
        """The items reached last; the next step begins there."""
        self.is_cut = False
        """True if more than `limit` items could be reached."""
        self._limit = limit

    def advance(self, found: Iterable[Step]) -> None:
        """Follow the steps that begin at the frontier."""
        distance = self.distances[self.front[0]] + 1
        reached: list[str] = []
        for step in found:
            if step.end in self.distances:
                continue
            if len(self.came_by) >= self._limit:
                self.is_cut = True
                break
            self.came_by[step.end] = step
            self.distances[step.end] = distance
            reached.append(step.end)
        self.front = tuple(reached)

    def path(self, end: str) -> list[Step]:
        """Return the steps from the start to an item that was reached."""
        path: list[Step] = []
        while end != self.start:
            path.append(self.came_by[end])
            end = path[-1].start
        return path[::-1]

    def tree(self) -> Iterator[tuple[int, Step]]:
        """Yield all steps with their depth, each below its predecessor."""
        following: dict[str, list[Step]] = {}
        for step in self.came_by.values():
            following.setdefault(step.start, []).append(step)
        waiting = [(1, step) for step in reversed(following.get(self.start, []))]
        while waiting:
            depth, step = waiting.pop()
            yield depth, step
            waiting += [(depth + 1, each) for each in reversed(following.get(step.end, []))]
