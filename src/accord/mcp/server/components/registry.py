"""Registries of components, and the part of them that a client sees.

Components can be added and removed while they are served. A registry may be included in another
registry, which then has the same components under prefixed names:

    included registry    registry that includes it, with the prefix "weather"
    forecast             weather_forecast
    config://app         config://weather/app

Lists and calls both use `is_permitted`, so that exactly the listed components can be called. Only
components with a condition are checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from inspect import isawaitable, iscoroutinefunction
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from accord.jsonrpc.protocol.errors import RegistrationError
from accord.mcp.server.context import Context
from accord.mcp.server.session import Incoming, Principal

Allow: TypeAlias = Callable[[Principal | None], object]
"""A function that returns a true value if a principal may use a component. It is called often and
must be quick. The principal is None for an anonymous caller."""


class RestrictedComponent(Protocol):
    """A component with access rules."""

    @property
    def scopes(self) -> frozenset[str]:
        """The scopes that a principal needs to use the component."""

    @property
    def allow(self) -> Allow | None:
        """An additional condition for principals; None if there is no such condition."""


def check_allow(allow: Allow | None) -> Allow | None:
    """Return `allow`, or raise RegistrationError if it is an async function.

    The coroutine that such a function returns would always count as true.
    """
    if iscoroutinefunction(allow):
        raise RegistrationError("`allow` is a plain function of the principal, not an async one")
    return allow


def is_permitted(component: RestrictedComponent, principal: Principal | None) -> bool:
    """Return whether a principal may use a component."""
    if component.scopes and (principal is None or not component.scopes <= principal.scopes):
        return False
    if component.allow is None:
        return True
    allowed = component.allow(principal)
    return bool(allowed) and not isawaitable(allowed)


_PREFIX: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://)?")
"""The scheme of a URI (RFC 3986, section 3.1), with the slashes before an authority."""


class Namespace(Struct, frozen=True):
    """A mapping of names and URIs to prefixed ones; an empty prefix changes nothing."""

    prefix: str = ""

    def __post_init__(self) -> None:
        if self.prefix and not _PREFIX.fullmatch(self.prefix):
            raise RegistrationError(
                f"the prefix {self.prefix!r} is not made of 1 to 64 letters, digits and _ - ."
            )

    def name(self, name: str) -> str:
        """Return a name with the prefix."""
        return f"{self.prefix}_{name}" if self.prefix else name

    def uri(self, uri: str) -> str:
        """Return a URI or URI template with the prefix after its scheme.

        Raises RegistrationError for a URI without a scheme.
        """
        if not self.prefix:
            return uri
        found = _SCHEME.match(uri)
        if found is None:
            raise RegistrationError(f"resource '{uri}' has no scheme to put a prefix after")
        return f"{found[0]}{self.prefix}/{uri[found.end() :]}"

    def inner_uri(self, uri: str) -> str:
        """Return a URI without the prefix; unchanged if it does not have the prefix."""
        found = _SCHEME.match(uri)
        start = f"{self.prefix}/"
        if not self.prefix or found is None or not uri.startswith(start, found.end()):
            return uri
        return found[0] + uri[found.end() + len(start) :]


Enabled: TypeAlias = Callable[[Context], bool]
"""A function that decides by the context of a request if its client sees a component. It is called
often and must be quick."""


class Component(RestrictedComponent, Protocol):
    """A component in a registry: a tool, resource or prompt."""

    @property
    def enabled(self) -> Enabled | None:
        """A condition that is checked for each request; None if there is no such condition."""


T = TypeVar("T", bound=Component)

Inclusion: TypeAlias = Callable[[str, T], tuple[str, T]]
"""A function that is called when one registry includes another. It takes the name and the component
in the included registry, and returns the name and the component for the including registry."""


class ComponentRegistry(Generic[T]):
    """An observable table of components by name, in the order of addition."""

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self._things: dict[str, T] = {}
        self._numbers: dict[str, int] = {}
        self._last = 0
        self._above: list[tuple[ComponentRegistry[T], Inclusion[T]]] = []
        self.get = self._things.get
        self.version = 0
        """The version of the registry, which grows with every change."""
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
        """The highest number of any component so far."""
        return self._last

    @property
    def is_used(self) -> bool:
        """True if a component has ever been added to the registry."""
        return self._last > 0

    @property
    def conditional(self) -> tuple[T, ...]:
        """Components with scopes or conditions, which not every client sees."""
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

        Raises `RegistrationError` if the name is taken in this registry or one that includes it.
        """
        self.check_free(name, thing)
        self.put(name, thing)

    def remove(self, name: str) -> None:
        """Remove a component.

        Raises `RegistrationError` if there is no component of that name.
        """
        thing = self._things.get(name)
        if thing is None:
            raise RegistrationError(f"there is no {self._noun} '{name}'")
        self.drop(name, thing)

    def replace(self, name: str, thing: T) -> None:
        """Replace the component called `name` by the component `thing`.

        If there is no component of that name, add `thing`.
        """
        old = self._things.get(name)
        if old is None:
            self.add(name, thing)
            return
        self._things[name] = thing
        self._changed()
        for registry, place in self._above:
            registry.replace(*place(name, thing))

    def check_room(self, other: ComponentRegistry[T], place: Inclusion[T]) -> None:
        """Raise `RegistrationError` if `other` cannot include this registry.

        That is so if a name is taken in `other`, or if this registry includes `other`.
        """
        if self is other or any(it is self for it in other.ancestors()):
            raise RegistrationError("a server cannot be mounted in itself, nor in one inside it")
        for name, thing in self._things.items():
            other.check_free(*place(name, thing))

    def include_in(self, other: ComponentRegistry[T], place: Inclusion[T]) -> None:
        """Add all components of this registry, now and later, to `other`.

        `place` returns the name and the component that `other` gets for one of this registry.
        """
        self._above.append((other, place))
        for name, thing in self._things.items():
            other.put(*place(name, thing))

    def ancestors(self) -> Iterator[ComponentRegistry[T]]:
        """Yield the registries that include this one, directly or not."""
        for registry, _ in self._above:
            yield registry
            yield from registry.ancestors()

    def check_free(self, name: str, thing: T) -> None:
        """Raise `RegistrationError` if the name of a new component is taken.

        It may be taken in this registry, or in one that includes it.
        """
        if name in self._things:
            raise RegistrationError(f"there is a {self._noun} '{name}' already")
        for registry, place in self._above:
            registry.check_free(*place(name, thing))

    def put(self, name: str, thing: T) -> None:
        """Add a component under a free name to this registry and those that include it."""
        self._things[name] = thing
        self._last += 1
        self._numbers[name] = self._last
        self._changed()
        for registry, place in self._above:
            registry.put(*place(name, thing))

    def drop(self, name: str, thing: T) -> None:
        """Remove a component from this registry and those that include it."""
        del self._things[name], self._numbers[name]
        self._changed()
        for registry, place in self._above:
            registry.drop(*place(name, thing))

    def _changed(self) -> None:
        self.version += 1
        for observer in self.observers:
            observer()


class View(Generic[T]):
    """The part of a registry that the client of one request sees."""

    __slots__ = ("_hidden", "_registry", "key")

    def __init__(
        self, registry: ComponentRegistry[T], incoming: Incoming, context: Context | None
    ) -> None:
        self._registry = registry
        hidden = [each for each in registry.conditional if not is_visible(each, incoming, context)]
        self._hidden = hidden
        self.key: Any = tuple(map(id, hidden))
        """A key that is equal for clients that see the same components, until the registry
        changes."""

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
