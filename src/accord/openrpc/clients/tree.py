"""Where methods stand in a client: by the dots in their names, or all in one place.

How an identifier looks, and which ones are taken, is told by the language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from accord.openrpc.clients.model import Method
from accord.openrpc.clients.names import Scope

DEEPEST: Final = 8
"""How many dots of a name are places; what follows is one name."""


class Place(Struct, frozen=True):
    """Methods, and further places, each by its identifier."""

    path: tuple[str, ...]
    """The names that lead here, as the document has them."""
    places: dict[str, Place]
    methods: dict[str, Method]


class _Growing:
    def __init__(self) -> None:
        self.places: dict[str, _Growing] = {}
        self.methods: dict[str, Method] = {}


def grow(
    methods: Iterable[Method],
    *,
    flat: bool,
    identifier: Callable[[str], str],
    taken: Iterable[str],
) -> Place:
    """The place of all methods. At its top the identifiers in `taken` are not free: there an
    underscore follows."""
    root = _Growing()
    for method in methods:
        *path, last = [method.name] if flat else _parts(method.name)
        at = root
        for part in path:
            at = at.places.setdefault(part, _Growing())
        at.methods[last if last not in at.methods else method.name] = method
    return _place(root, (), identifier, frozenset(taken))


def _parts(name: str) -> list[str]:
    parts = [part for part in name.split(".", DEEPEST) if part]
    return parts or [name]


def _place(
    growing: _Growing,
    path: tuple[str, ...],
    identifier: Callable[[str], str],
    taken: frozenset[str],
) -> Place:
    """Places are named first: theirs are the names that methods have in common."""
    scope = Scope(taken)

    def claim(name: str) -> str:
        found = identifier(name)
        return scope.claim(f"{found}_" if found in taken else found)

    places = {
        claim(name): _place(below, (*path, name), identifier, frozenset())
        for name, below in growing.places.items()
    }
    methods = {claim(name): method for name, method in growing.methods.items()}
    return Place(path, places, methods)
