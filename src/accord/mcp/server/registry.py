"""Things by name that can be added and removed while they are served.

A registry may be included in others: what is added here is added there as well, under the
name that the other one's rule gives it. Knows nothing about what the things are, but that some
are not for every client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeAlias, TypeVar

from accord.jsonrpc.errors import RegistrationError
from accord.mcp.server.context import Context
from accord.mcp.server.permission import Restricted

Enabled: TypeAlias = Callable[[Context], bool]
"""Decides for each request if its client sees a component. It is called often and must be quick."""


class Component(Restricted, Protocol):
    """An item of a registry."""

    @property
    def enabled(self) -> Enabled | None:
        """A condition per request; None for none."""


T = TypeVar("T", bound=Component)

Place: TypeAlias = Callable[[str, T], tuple[str, T]]
"""Returns the name and the form of a component in a registry that includes this one."""


class Registry(Generic[T]):
    """An observable table of `T`, in the order of addition."""

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self._things: dict[str, T] = {}
        self._numbers: dict[str, int] = {}
        self._last = 0
        self._above: list[tuple[Registry[T], Place[T]]] = []
        self.get = self._things.get
        self.version = 0
        """Grows with every change."""
        self.observers: list[Callable[[], None]] = []
        self._conditional: tuple[T, ...] = ()
        self._conditional_at = 0

    def __len__(self) -> int:
        return len(self._things)

    def __iter__(self) -> Iterator[T]:
        return iter(tuple(self._things.values()))

    def __contains__(self, name: object) -> bool:
        return name in self._things

    def names(self) -> list[str]:
        return list(self._things)

    def numbered(self) -> list[tuple[int, T]]:
        """Return each component with its number.

        Numbers ascend in the order of addition and are never reused.
        """
        return [(self._numbers[name], thing) for name, thing in self._things.items()]

    @property
    def last_number(self) -> int:
        """The highest number so far."""
        return self._last

    @property
    def is_used(self) -> bool:
        """True if the registry has, or ever had, a component."""
        return self._last > 0

    @property
    def conditional(self) -> tuple[T, ...]:
        """Components that not every client sees."""
        if self._conditional_at != self.version:
            self._conditional = tuple(
                each
                for each in self._things.values()
                if each.scopes or each.allow is not None or each.enabled is not None
            )
            self._conditional_at = self.version
        return self._conditional

    def add(self, name: str, thing: T) -> None:
        """Add a component.

        Raises `RegistrationError` if the name is taken, here or where this is included.
        """
        self._check(name, thing)
        self._put(name, thing)

    def remove(self, name: str) -> None:
        """Remove a component.

        Raises `RegistrationError` if there is none of that name.
        """
        thing = self._things.get(name)
        if thing is None:
            raise RegistrationError(f"there is no {self._noun} '{name}'")
        self._drop(name, thing)

    def replace(self, name: str, thing: T) -> None:
        """Put `thing` in the place of the component called `name`, or add it."""
        old = self._things.get(name)
        if old is None:
            self.add(name, thing)
            return
        self._things[name] = thing
        self._changed()
        for registry, place in self._above:
            registry.replace(*place(name, thing))

    def check_room(self, other: Registry[T], place: Place[T]) -> None:
        """Raise `RegistrationError` if `include_in` would fail."""
        if self is other or any(it is self for it in other._ancestors()):
            raise RegistrationError("a server cannot be mounted in itself, nor in one inside it")
        for name, thing in self._things.items():
            other._check(*place(name, thing))

    def include_in(self, other: Registry[T], place: Place[T]) -> None:
        """Mirror this registry in `other` from now on, as `place` says."""
        self._above.append((other, place))
        for name, thing in self._things.items():
            other._put(*place(name, thing))

    def _ancestors(self) -> Iterator[Registry[T]]:
        for registry, _ in self._above:
            yield registry
            yield from registry._ancestors()

    def _check(self, name: str, thing: T) -> None:
        if name in self._things:
            raise RegistrationError(f"there is a {self._noun} '{name}' already")
        for registry, place in self._above:
            registry._check(*place(name, thing))

    def _put(self, name: str, thing: T) -> None:
        self._things[name] = thing
        self._last += 1
        self._numbers[name] = self._last
        self._changed()
        for registry, place in self._above:
            registry._put(*place(name, thing))

    def _drop(self, name: str, thing: T) -> None:
        del self._things[name], self._numbers[name]
        self._changed()
        for registry, place in self._above:
            registry._drop(*place(name, thing))

    def _changed(self) -> None:
        self.version += 1
        for observer in self.observers:
            observer()
