"""Paths and who answers there: a tree of segments, made once. Pure.

A segment that is spelled out goes before one that stands for anything: `/prompts/active` is found
before `/prompts/{id}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from msgspec import Struct

from accord.jsonrpc.errors import RegistrationError

T = TypeVar("T")


class Found(Struct, Generic[T], frozen=True):
    """A path at which something is."""

    by_verb: Mapping[str, T]
    """Who answers which verb."""
    values: tuple[str, ...]
    """What stands in the path for its names."""
    path: str
    """As it was added, such as `/epics/{id}`."""


class _Node(Generic[T]):
    __slots__ = ("any", "by_verb", "named", "path")

    def __init__(self) -> None:
        self.named: dict[str, _Node[T]] = {}
        self.any: _Node[T] | None = None
        self.by_verb: dict[str, T] = {}
        self.path = ""


class Routes(Generic[T]):
    """All paths of an application."""

    def __init__(self) -> None:
        self._root: _Node[T] = _Node()

    def add(self, verb: str, path: str, target: T) -> None:
        """Have `target` answer `verb` at `path`, such as `/epics/{id}`.

        Raises RegistrationError where another one does.
        """
        node = self._root
        for segment in _segments(path):
            if parameter_name(segment) is None:
                node = node.named.setdefault(segment, _Node())
            else:
                node.any = node.any or _Node()
                node = node.any
        if verb in node.by_verb:
            raise RegistrationError(f"there are two routes {verb} {path}")
        node.by_verb[verb] = target
        node.path = path

    def find(self, place: str) -> Found[T] | None:
        """What is at a path without a slash at its beginning."""
        return _find(self._root, place.split("/") if place else [], 0, ())


def parameter_name(segment: str) -> str | None:
    """The name in `{name}`; None for a segment that is spelled out."""
    return segment[1:-1] if segment.startswith("{") and segment.endswith("}") else None


def path_names(path: str) -> tuple[str, ...]:
    """The names of the values in a path."""
    return tuple(name for each in _segments(path) if (name := parameter_name(each)) is not None)


def _segments(path: str) -> list[str]:
    return [segment for segment in path.split("/") if segment]


def _find(
    node: _Node[T], segments: list[str], depth: int, values: tuple[str, ...]
) -> Found[T] | None:
    if depth == len(segments):
        return Found(node.by_verb, values, node.path) if node.by_verb else None
    segment = segments[depth]
    named = node.named.get(segment)
    if named is not None:
        found = _find(named, segments, depth + 1, values)
        if found is not None:
            return found
    if node.any is None or not segment:
        return None
    return _find(node.any, segments, depth + 1, (*values, segment))
