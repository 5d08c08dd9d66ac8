"""Links that would close a circle."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from accord.hub.domain.errors import CycleError


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
