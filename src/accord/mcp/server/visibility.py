"""Which components a client sees: those that its principal may use, and that are enabled.

What is the same for everybody costs nothing: only components with a condition are looked at.
"""

from __future__ import annotations

from typing import Any, Generic

from accord.mcp.server.context import Context
from accord.mcp.server.incoming import Incoming
from accord.mcp.server.permission import is_permitted
from accord.mcp.server.registry import Component, Registry, T


class View(Generic[T]):
    """The part of a registry that the client of one request sees."""

    __slots__ = ("_hidden", "_registry", "key")

    def __init__(self, registry: Registry[T], incoming: Incoming, context: Context | None) -> None:
        self._registry = registry
        hidden = [each for each in registry.conditional if not is_visible(each, incoming, context)]
        self._hidden = hidden
        self.key: Any = tuple(map(id, hidden))
        """Equal for clients that see the same, until the registry changes."""

    def numbered(self) -> list[tuple[int, T]]:
        """Return the visible components with their numbers."""
        every = self._registry.numbered()
        if not self._hidden:
            return every
        hidden = set(self.key)
        return [(number, each) for number, each in every if id(each) not in hidden]


def is_visible(component: Component, incoming: Incoming, context: Context | None) -> bool:
    """Return whether the client of a request sees a component."""
    if not is_permitted(component, incoming.link.principal):
        return False
    return component.enabled is None or context is None or component.enabled(context)
