"""Traceability: allowed parents and links, cycles, suspect links, and impact analysis.

A link becomes suspect when the content of one of its ends changes after the link was made or
confirmed; other fields (assignee, status) do not count. A change of an item affects the items that
depend on it, refine it or verify it, the target of `blocks`, both ends of symmetric links, and the
items below.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from accord.hub.domain.kinds import KINDS, CycleError, HierarchyError, Kind

CHILDREN: Final[Mapping[Kind, tuple[Kind, ...]]] = {
    kind: tuple(each.kind for each in KINDS.values() if each.parent == kind) for kind in KINDS
}
"""By kind: the kinds of its children."""

LINKABLE: Final[tuple[Kind, ...]] = tuple(kind for kind in KINDS if kind != "prompt")
"""The kinds that can have relationships."""


def check_parent(child: Kind, parent: Kind | None) -> None:
    """Raise HierarchyError if a `child` does not belong under a `parent`."""
    expected = KINDS[child].parent
    if parent == expected:
        return
    title = KINDS[child].title
    if expected is None:
        raise HierarchyError(f"{title} stands under nothing", ())
    given = f", not under {KINDS[parent].title}" if parent is not None else ""
    raise HierarchyError(f"{title} belongs under {KINDS[expected].title}{given}", (expected,))


def check_criteria(requirement_parent: str, criteria_parent: str) -> None:
    """Raise HierarchyError if a requirement and its criteria have different stories."""
    if requirement_parent != criteria_parent:
        raise HierarchyError("the acceptance criteria belong to another user story", ())


def check_linkable(kind: Kind) -> None:
    """Raise HierarchyError for a kind that cannot have relationships."""
    if kind not in LINKABLE:
        names = ", ".join(KINDS[each].title for each in LINKABLE)
        raise HierarchyError(f"{KINDS[kind].title} has no relationships; these have: {names}", ())


def shortest_path(edges: Iterable[tuple[str, str]], start: str, goal: str) -> list[str] | None:
    """Return a shortest path along `edges` from `start` to `goal`, or None."""
    following: dict[str, list[str]] = {}
    for source, target in edges:
        following.setdefault(source, []).append(target)
    came_from: dict[str, str] = {start: start}
    waiting = deque([start])
    while waiting:
        place = waiting.popleft()
        if place == goal:
            return _back(came_from, goal)
        for after in following.get(place, ()):
            if after not in came_from:
                came_from[after] = place
                waiting.append(after)
    return None


def check_acyclic(type: str, edges: Iterable[tuple[str, str]], source: str, target: str) -> None:
    """Raise CycleError if a link from `source` to `target` closes a cycle.

    The path in the error goes once around the cycle, from `source` to `source`.
    """
    path = shortest_path(edges, target, source)
    if path is not None:
        raise CycleError(type, [source, *path])


def _back(came_from: dict[str, str], goal: str) -> list[str]:
    path = [goal]
    while came_from[path[-1]] != path[-1]:
        path.append(came_from[path[-1]])
    return path[::-1]


CONTENT_FIELDS: Final = frozenset({"title", "description", "type"})
"""The fields with content; a change of them makes links suspect."""


def changes_content(fields: Iterable[str]) -> bool:
    """Return whether a change of these fields makes links of the item suspect."""
    return not CONTENT_FIELDS.isdisjoint(fields)


def changed_ends(remembered: tuple[int, int], said: tuple[int, int]) -> tuple[bool, bool]:
    """Return, for source and target, whether the end changed its content.

    `remembered` are the versions that the link remembers, `said` the versions of the last content
    changes.
    """
    return remembered[0] < said[0], remembered[1] < said[1]


AFFECTS_TARGET: Final = frozenset({"blocks"})
"""Types with a target that depends on the source; for all others it is the reverse."""
AFFECTS_BOTH: Final = frozenset({"duplicates"})
"""Types, besides the symmetric ones, that affect both ends."""


class ImpactLink(Struct, frozen=True):
    """A link, reduced to the fields that impact analysis needs."""

    source: str
    target: str
    type: str
    inverse: str
    is_symmetric: bool = False


class ImpactStep(Struct, frozen=True):
    """One step from an item to an item that it affects."""

    start: str
    end: str
    label: str
    """The relation of the end to the start: `is_depended_on_by`, `has`."""


def impact_steps(link: ImpactLink) -> Iterator[ImpactStep]:
    """Yield the impact steps that a link allows."""
    is_both = link.is_symmetric or link.type in AFFECTS_BOTH
    if is_both or link.type in AFFECTS_TARGET:
        yield ImpactStep(link.source, link.target, link.type)
    if is_both or link.type not in AFFECTS_TARGET:
        yield ImpactStep(link.target, link.source, link.inverse)


class ImpactSearch:
    """A breadth-first traversal from one item; each item has one shortest path."""

    def __init__(self, start: str, limit: int) -> None:
        self.start = start
        self.came_by: dict[str, ImpactStep] = {}
        """By id: the step that reached an item, in the order of the traversal."""
        self.distances: dict[str, int] = {start: 0}
        self.front: tuple[str, ...] = (start,)
        """The items reached last; the next step begins there."""
        self.is_cut = False
        """True if more than `limit` items could be reached."""
        self._limit = limit

    def advance(self, found: Iterable[ImpactStep]) -> None:
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

    def path(self, end: str) -> list[ImpactStep]:
        """Return the steps from the start to an item that was reached."""
        path: list[ImpactStep] = []
        while end != self.start:
            path.append(self.came_by[end])
            end = path[-1].start
        return path[::-1]

    def tree(self) -> Iterator[tuple[int, ImpactStep]]:
        """Yield all steps with their depth, each below its predecessor."""
        following: dict[str, list[ImpactStep]] = {}
        for step in self.came_by.values():
            following.setdefault(step.start, []).append(step)
        waiting = [(1, step) for step in reversed(following.get(self.start, []))]
        while waiting:
            depth, step = waiting.pop()
            yield depth, step
            waiting += [(depth + 1, each) for each in reversed(following.get(step.end, []))]
