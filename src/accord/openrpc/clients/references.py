"""Which declarations a type refers to, and an order in which each comes after those it needs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

from accord.openrpc.clients.model import Array, Map, Reference, Tuple, Type, Union


def references(type: Type) -> Iterator[str]:
    """The keys of all declarations that a type refers to."""
    match type:
        case Reference(key):
            yield key
        case Array(item):
            yield from references(item)
        case Map(value):
            yield from references(value)
        case Tuple(items, _, rest):
            for item in (*items, *([] if rest is None else [rest])):
                yield from references(item)
        case Union(members):
            for member in members:
                yield from references(member)


def order(types: Mapping[str, Type]) -> tuple[list[str], list[str]]:
    """The keys of `types` in two parts: those that must be known before they are made, as they
    lead back to themselves; and all others, each after those that it refers to."""
    sorter = _Sorter(types)
    recursive: list[str] = []
    for key in types:
        sorter.sort()
        if key not in sorter.known:
            recursive.append(sorter.circle(key))
            sorter.assume(recursive[-1])
    sorter.sort()
    return recursive, sorter.ordered


class _Sorter:
    def __init__(self, types: Mapping[str, Type]) -> None:
        self.known: set[str] = set()
        self.ordered: list[str] = []
        self._needs: dict[str, dict[str, None]] = {
            key: dict.fromkeys(each for each in references(type) if each in types)
            for key, type in types.items()
        }
        self._needed_by: dict[str, list[str]] = {key: [] for key in types}
        for key, needed in self._needs.items():
            for each in needed:
                self._needed_by[each].append(key)
        self._ready = deque(key for key, needed in self._needs.items() if not needed)

    def sort(self) -> None:
        """Put in order what needs only what is known."""
        while self._ready:
            key = self._ready.popleft()
            self.ordered.append(key)
            self.assume(key)

    def assume(self, key: str) -> None:
        """Take a key for known."""
        self.known.add(key)
        for each in self._needed_by[key]:
            self._needs[each].pop(key, None)
            if not self._needs[each] and each not in self.known:
                self._ready.append(each)

    def circle(self, key: str) -> str:
        """A key that leads back to itself, found from one that cannot be put in order."""
        seen: set[str] = set()
        while key not in seen:
            seen.add(key)
            key = next(each for each in self._needs[key] if each not in self.known)
        return key
