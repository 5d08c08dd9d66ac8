"""What a route's function says about its method: the decorators `rpc_name` and `rpc_hidden`.

    @app.get("/users/{id}")
    @rpc_name("users.get")
    async def read_user(id: int) -> User: ...

Whoever has no function to decorate, but an OpenAPI document, writes `x-rpc-name` and
`x-rpc-hidden` into the operation; FastAPI does so by `openapi_extra`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from accord.jsonrpc.errors import RegistrationError

F = TypeVar("F", bound=Callable[..., Any])

_ATTRIBUTE = "__accord_route__"


class Mark(Struct, frozen=True):
    """What was said about the method of a route where the route is defined."""

    name: str = ""
    hidden: bool = False


NO_MARK = Mark()


def rpc_name(name: str) -> Callable[[F], F]:
    """Call the method of this route `name`, whatever the naming strategy says.

    It also brings in a route that is left out by default. The function itself is left as it
    is. Raises `RegistrationError` for a name that no method can have.
    """
    check_name(name, "rpc_name")

    def decorate(function: F) -> F:
        setattr(function, _ATTRIBUTE, replace(mark_of(function), name=name))
        return function

    return decorate


def rpc_hidden(function: F) -> F:
    """Leave this route out. The function itself is left as it is."""
    setattr(function, _ATTRIBUTE, replace(mark_of(function), hidden=True))
    return function


def mark_of(function: Any) -> Mark:
    """What was said about `function`, or about the one that a `functools.partial` calls."""
    while isinstance(function, partial) and _ATTRIBUTE not in vars(function):
        function = function.func
    found = getattr(function, _ATTRIBUTE, NO_MARK)
    return found if isinstance(found, Mark) else NO_MARK


def check_name(name: Any, place: str) -> str:
    """`name`, if it is one. Raises `RegistrationError` that begins with `place`."""
    if not isinstance(name, str) or not name:
        raise RegistrationError(f"{place}: a name is a string that is not empty")
    return name
