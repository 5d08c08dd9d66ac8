"""Things by name that can be added and removed while they are served."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from accord.jsonrpc.errors import RegistrationError

T = TypeVar("T")


class Registry(Generic[T]):
    """A table of `T`, in the order of addition, that tells when it changes."""

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self._things: dict[str, T] = {}
        self.get = self._things.get
        self.version = 0
        """Grows with every change."""
        self.observers: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return len(self._things)

    def __iter__(self) -> Iterator[T]:
        return iter(tuple(self._things.values()))

    def names(self) -> list[str]:
        return list(self._things)

    def add(self, name: str, thing: T) -> None:
        """Raises `RegistrationError` if the name is taken."""
        if name in self._things:
            raise RegistrationError(f"there is a {self._noun} '{name}' already")
        self._things[name] = thing
        self._changed()

    def remove(self, name: str) -> None:
        """Raises `RegistrationError` if there is no such thing."""
        if name not in self._things:
            raise RegistrationError(f"there is no {self._noun} '{name}'")
        del self._things[name]
        self._changed()

    def _changed(self) -> None:
        self.version += 1
        for observer in self.observers:
            observer()
