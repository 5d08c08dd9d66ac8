"""How methods are named after routes: by path, by method and path, by operation, or your way.

A name that the route was given where it is defined always wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from accord.exposure.marks import check_name
from accord.exposure.route import Route
from accord.jsonrpc.errors import RegistrationError
from accord.jsonrpc.router import RESERVED_PREFIX

Naming: TypeAlias = Literal["path", "method", "operation"] | Callable[[Route], str]

_MOST_SHOWN = 5
_SEPARATORS = re.compile(r"[^\w]+")


def name_routes(
    routes: Iterable[Route], *, naming: Naming = "path", prefix: str = ""
) -> dict[str, Route]:
    """The routes by the names of their methods, `prefix` before each.

    Raises `RegistrationError` where two routes would have one name, where a name is kept for
    the protocol, and where the strategy finds none.
    """
    named: dict[str, list[Route]] = {}
    for route in routes:
        name = prefix + _name(route, naming)
        if name.startswith(RESERVED_PREFIX):
            raise RegistrationError(
                f"{route} would be method '{name}': names that begin with '{RESERVED_PREFIX}' "
                "are kept for the protocol"
            )
        named.setdefault(name, []).append(route)
    _check_collisions(named)
    return {name: same[0] for name, same in named.items()}


def _name(route: Route, naming: Naming) -> str:
    if route.rpc_name:
        return route.rpc_name
    if callable(naming):
        return check_name(naming(route), f"the naming of {route}")
    match naming:
        case "path":
            return ".".join([*_segments(route), route.method.lower()])
        case "method":
            return "_".join([route.method.lower(), *_segments(route)])
        case "operation":
            return _operation(route)
    raise RegistrationError(
        f"naming is 'path', 'method', 'operation' or a function, not {naming!r}"
    )


def _segments(route: Route) -> list[str]:
    """The segments of the path, parameters by their names, with `_` for what is no letter."""
    segments = (_SEPARATORS.sub("_", each).strip("_") for each in route.path.split("/"))
    return [each for each in segments if each]


def _operation(route: Route) -> str:
    name = route.operation_id or route.name
    if not name:
        raise RegistrationError(
            f"{route} has neither an operation id nor a name: give it one, or choose another naming"
        )
    return name


def _check_collisions(named: dict[str, list[Route]]) -> None:
    clashes = [
        f"method '{name}' would be {' and '.join(map(str, same))}"
        for name, same in named.items()
        if len(same) > 1
    ]
    if not clashes:
        return
    more = f"; and {len(clashes) - _MOST_SHOWN} more" if len(clashes) > _MOST_SHOWN else ""
    raise RegistrationError(
        f"{'; '.join(clashes[:_MOST_SHOWN])}{more}: give one of them a name of its own with "
        "rpc_name or x-rpc-name, leave it out with rpc_hidden or exclude=…, or choose another "
        "naming"
    )
