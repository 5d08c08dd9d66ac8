"""The decorator `method`: says of a function how it is to be served, without a router.

class Users:
    @method("get")
    def find(self, name: str) -> User: ...

router.register(Users(), prefix="users.")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeVar, overload

from msgspec import UNSET, Struct, UnsetType

from accord.jsonrpc.about import About

F = TypeVar("F", bound=Callable[..., Any])

_ATTRIBUTE = "__accord_method__"


class Mark(Struct, frozen=True):
    """How a function is to be served."""

    name: str | None = None
    thread: bool = False
    deadline: float | None | UnsetType = UNSET
    about: About | None = None


@overload
def method(function: F, /) -> F: ...


@overload
def method(
    name: str | None = None,
    *,
    thread: bool = False,
    deadline: float | None | UnsetType = UNSET,
    about: About | None = None,
) -> Callable[[F], F]: ...


def method(
    name: Any = None,
    *,
    thread: bool = False,
    deadline: float | None | UnsetType = UNSET,
    about: About | None = None,
) -> Any:
    """Mark a function, a method of a class or a static method as one to be served.

    Used bare or with the options of `Router.add`, which hold once the function is
    registered. The function itself is left as it is.
    """
    if callable(name):
        return _put_mark(name, Mark())

    def decorate(function: F) -> F:
        return _put_mark(function, Mark(name, thread, deadline, about))

    return decorate


def mark_of(function: Any) -> Mark | None:
    """The mark of a function, a bound method or what wraps one in a class."""
    found = getattr(getattr(function, "__func__", function), _ATTRIBUTE, None)
    return found if isinstance(found, Mark) else None


def marked_in(thing: object) -> Iterator[tuple[str, Any]]:
    """The marked functions of an object, a class or a module, ready to be called, with their
    names. Looks at classes and never evaluates a property."""
    if isinstance(thing, ModuleType):
        found = vars(thing)
    else:
        classes = (thing if isinstance(thing, type) else type(thing)).__mro__
        found = {name: it for cls in reversed(classes) for name, it in vars(cls).items()}
    for name, it in found.items():
        if mark_of(it) is not None:
            yield name, getattr(thing, name)


def _put_mark(function: F, mark: Mark) -> F:
    setattr(getattr(function, "__func__", function), _ATTRIBUTE, mark)
    return function
