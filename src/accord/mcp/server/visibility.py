"""Which components a client sees: those whose scopes its principal has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from accord.mcp.server.principal import Principal
from accord.mcp.server.registry import Registry


class Scoped(Protocol):
    @property
    def scopes(self) -> frozenset[str]: ...


S = TypeVar("S", bound=Scoped)


class View(Generic[S]):
    """The part of a registry that one client sees."""

    def __init__(self, registry: Registry[S], principal: Principal | None) -> None:
        self._registry = registry
        self._has = principal.scopes if principal is not None else frozenset[str]()
        scopes = frozenset[str]().union(*(each.scopes for each in registry))
        self.key = scopes & self._has
        """Equal for clients that see the same."""

    def components(self) -> Iterable[S]:
        return [each for each in self._registry if each.scopes <= self._has]
