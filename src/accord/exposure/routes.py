"""A route of a web application, the selection of routes, and the names of their methods.

`rpc_name` and `rpc_hidden` decorate the function of a route. `select` applies patterns and
conditions that include and exclude routes; `name_routes` names methods by path, by method and
path, by operation id, or by a function of the caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import cache, partial
from typing import Any, Literal, TypeAlias, TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import replace

from accord.exposure.openapi import NO_SECURITY, Security
from accord.jsonrpc.methods.router import RESERVED_PREFIX
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.schema.schema import ANYTHING, Schema

Location: TypeAlias = Literal["path", "query", "header", "cookie", "body"]
"""The part of the request for an argument. `body` is a member of the body, or the whole body."""

BodyForm: TypeAlias = Literal["none", "json", "form", "multipart", "text", "binary"]


class RouteParameter(Struct, frozen=True, kw_only=True):
    """One named argument of a route."""

    name: str
    """The name for callers, unique within the route."""
    wire_name: str
    """The name on the wire: the header's name, the query key, the member of the body. Empty if the
    argument is a whole part of the request: the whole body, or an object of all query keys."""
    location: Location
    schema: Schema = ANYTHING
    required: bool = False
    default: Any = UNSET
    """The application's default, if it is documented."""
    description: str = ""
    deprecated: bool = False
    style: str = "form"
    """OpenAPI's style of arrays and objects: form, simple, deepObject, pipeDelimited, …; or `json`,
    if the application expects the value as JSON text."""
    explode: bool = True
    """True if the members of an array or object are separate fields; in headers, separate lines."""
    slashes: bool = False
    """True if the value of a path parameter may contain slashes, as in `{rest:path}`."""
    members: tuple[RouteParameter, ...] = ()
    """The members by `name`, if the option `nested` made this argument an object, else empty."""


class RouteResponse(Struct, frozen=True):
    """A response that the route documents."""

    status: int | None
    """The HTTP status; None for the default response."""
    description: str = ""
    schema: Schema | None = None
    """The schema of a JSON body; None if there is no JSON body."""
    media_type: str = ""


class Route(Struct, frozen=True, kw_only=True):
    """One route of a web application: an HTTP method on a path."""

    method: str
    """The HTTP method in capitals: GET, POST, …"""
    path: str
    """The path from the root of the application, mounts included, with `{name}` for parameters."""
    parameters: tuple[RouteParameter, ...] = ()
    """The parameters: required ones first, otherwise in the order of the application."""
    body: BodyForm = "none"
    body_required: bool = False
    body_media_type: str = ""
    """The documented media type of the body; empty if the form alone defines it."""
    responses: tuple[RouteResponse, ...] = ()
    name: str = ""
    """The name of the route or of its function, if there is one."""
    operation_id: str = ""
    rpc_name: str = ""
    """The explicit name from `rpc_name` or `x-rpc-name`; it overrides the naming strategy."""
    hidden: bool = False
    """True if `rpc_hidden` or `x-rpc-hidden` leaves the route out."""
    tags: tuple[str, ...] = ()
    summary: str = ""
    description: str = ""
    deprecated: bool = False
    security: Security = NO_SECURITY
    """The authentication that the route requires."""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def success(self) -> RouteResponse | None:
        """The documented success response: the lowest 2xx, else the default."""
        good = [it for it in self.responses if it.status is not None and 200 <= it.status < 300]
        if good:
            return min(good, key=lambda it: it.status or 0)
        return next((it for it in self.responses if it.status is None), None)


F = TypeVar("F", bound=Callable[..., Any])

_ATTRIBUTE = "__accord_route__"


class Mark(Struct, frozen=True):
    """The name and visibility of a method, set by decorators of its function."""

    name: str = ""
    hidden: bool = False


NO_MARK = Mark()


def rpc_name(name: str) -> Callable[[F], F]:
    """Name the method of this route `name`, regardless of the naming strategy.

    A route that is left out by default is included if it has such a name. The function itself is
    not changed. Raises `RegistrationError` for an invalid name.
    """
    check_name(name, "rpc_name")

    def decorate(function: F) -> F:
        setattr(function, _ATTRIBUTE, replace(mark_of(function), name=name))
        return function

    return decorate


def rpc_hidden(function: F) -> F:
    """Mark a route so that it does not become a method.

    The function itself is not changed.
    """
    setattr(function, _ATTRIBUTE, replace(mark_of(function), hidden=True))
    return function


def mark_of(function: Any) -> Mark:
    """Return the mark of `function`, or of the function inside a `functools.partial`."""
    while isinstance(function, partial) and _ATTRIBUTE not in vars(function):
        function = function.func
    found = getattr(function, _ATTRIBUTE, NO_MARK)
    return found if isinstance(found, Mark) else NO_MARK


def check_name(name: Any, place: str) -> str:
    """Return `name` if it is text that is not empty.

    Otherwise raise `RegistrationError` with a message that begins with `place`.
    """
    if not isinstance(name, str) or not name:
        raise RegistrationError(f"{place}: a name is a string that is not empty")
    return name


Naming: TypeAlias = Literal["path", "method", "operation"] | Callable[[Route], str]

_MAX_SHOWN = 5
_SEPARATORS = re.compile(r"[^\w]+")


def name_routes(
    routes: Iterable[Route], *, naming: Naming = "path", prefix: str = ""
) -> dict[str, Route]:
    """Return the routes by method name; each name begins with `prefix`.

    Raises `RegistrationError` if two routes would have one name, if a name is reserved for the
    protocol, or if the naming strategy `naming` finds no name.
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
    """Return the segments of the path, with `_` for characters that names cannot have."""
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
    more = f"; and {len(clashes) - _MAX_SHOWN} more" if len(clashes) > _MAX_SHOWN else ""
    raise RegistrationError(
        f"{'; '.join(clashes[:_MAX_SHOWN])}{more}: give one of them a name of its own with "
        "rpc_name or x-rpc-name, leave it out with rpc_hidden or exclude=…, or choose another "
        "naming"
    )


_TEXT = re.compile(r"(?:(?P<method>[A-Za-z]+)\s+)?(?P<path>/\S*)")
_HIDDEN = ", but for those that are hidden where they are defined"


class Select(Struct, frozen=True, kw_only=True):
    """A condition on routes: every field that is set must match.

    A field with several values matches if one value does. `*` in a tag or a name matches any text;
    in a path, any text within a segment; at the end of a path (`/api/*`), everything below. `**`
    matches any number of segments.
    """

    method: str | tuple[str, ...] = ()
    path: str | tuple[str, ...] = ()
    tag: str | tuple[str, ...] = ()
    name: str | tuple[str, ...] = ()
    """A pattern for the operation id, the route's name, or the explicit name."""

    def matches(self, route: Route) -> bool:
        """Return whether `route` fulfils the condition."""
        return (
            _any(_verb, self.method, (route.method,))
            and _any(_path, self.path, (route.path,))
            and _any(_words, self.tag, route.tags)
            and _any(_words, self.name, _names(route))
        )

    def __str__(self) -> str:
        pairs = ((field, _several(getattr(self, field))) for field in self.__struct_fields__)
        shown = (f"{field} {' or '.join(map(repr, values))}" for field, values in pairs if values)
        return ", ".join(shown)


Condition: TypeAlias = str | Select | Callable[[Route], bool]
Selection: TypeAlias = Condition | Sequence[Condition]


def select(
    routes: Iterable[Route], *, include: Selection = (), exclude: Selection = ()
) -> list[Route]:
    """Return the `routes` that match any condition of `include`, and none of `exclude`.

    An empty `include` includes all. Hidden routes are never included. Raises `RegistrationError`
    for a pattern that matches no route.
    """
    every = list(routes)
    visible = [route for route in every if not route.hidden]
    wanted = [_test(each, every, visible, "include") for each in _conditions(include)]
    unwanted = [_test(each, every, every, "exclude") for each in _conditions(exclude)]
    return [
        route
        for route in visible
        if (not wanted or any(test(route) for test in wanted))
        and not any(test(route) for test in unwanted)
    ]


def _conditions(selection: Selection) -> Sequence[Condition]:
    if isinstance(selection, str | Select) or callable(selection):
        return (selection,)
    return selection


def _test(
    condition: Condition, every: list[Route], routes: list[Route], purpose: str
) -> Callable[[Route], bool]:
    """Return the condition as a function of a route.

    Raises `RegistrationError` for a pattern that matches none of `routes`.
    """
    if not isinstance(condition, str | Select):
        return condition
    chosen = _parsed(condition, purpose) if isinstance(condition, str) else condition
    if chosen == Select():
        raise RegistrationError(f"{purpose}: a Select without any condition would match all routes")
    if not any(chosen.matches(route) for route in routes):
        hidden = any(chosen.matches(route) for route in every)
        hint = _HIDDEN if hidden else _hint(chosen, routes)
        raise RegistrationError(f"{purpose}: no route matches {chosen}{hint}")
    return chosen.matches


def _parsed(text: str, purpose: str) -> Select:
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise RegistrationError(
            f"{purpose}: {text!r} is no pattern: write a path, as in '/users/*', a method and a "
            "path, as in 'GET /users/*', or Select(tag=…) or Select(name=…)"
        )
    return Select(method=(found["method"] or "").upper() or (), path=found["path"])


def _hint(chosen: Select, routes: list[Route]) -> str:
    """Return the end of an error message about a pattern that matches no route.

    It lists values of the routes (paths, names, …), those most similar to the pattern first.
    """
    if chosen.path and chosen.method:
        pattern = f"{_several(chosen.method)[0]} {_several(chosen.path)[0]}"
        known = sorted(map(str, routes))
    elif chosen.path:
        pattern = _several(chosen.path)[0]
        known = sorted({route.path for route in routes})
    elif chosen.name:
        pattern = _several(chosen.name)[0]
        known = sorted({name for route in routes for name in _names(route) if name})
    elif chosen.tag:
        pattern = _several(chosen.tag)[0]
        known = sorted({tag for route in routes for tag in route.tags})
    else:
        pattern = _several(chosen.method)[0]
        known = sorted({route.method for route in routes})
    if not known:
        return "; there are no routes" if not routes else "; no route has one"
    near = get_close_matches(pattern, known, n=_MAX_SHOWN, cutoff=0.4) or known[:_MAX_SHOWN]
    return f"; there are {', '.join(near)}{'' if len(near) == len(known) else ', …'}"


def _names(route: Route) -> tuple[str, ...]:
    return (route.rpc_name, route.operation_id, route.name)


def _several(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _any(
    compiled: Callable[[str], re.Pattern[str]],
    patterns: str | tuple[str, ...],
    values: Iterable[str],
) -> bool:
    """Return whether a value matches a pattern; True if there are no patterns."""
    if not patterns:
        return True
    return any(
        compiled(pattern).fullmatch(value)
        for pattern in _several(patterns)
        for value in values
        if value
    )


@cache
def _verb(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern), re.IGNORECASE)


@cache
def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)


@cache
def _path(pattern: str) -> re.Pattern[str]:
    below = pattern.endswith("/*")
    segments = (pattern[:-2] if below else pattern).split("/")[1:]
    expression = "".join(map(_segment, segments))
    return re.compile(f"{expression}/.*" if below else expression, re.DOTALL)


def _segment(segment: str) -> str:
    if segment == "**":
        return "(?:/.*)?"
    return "/" + "[^/]*".join(map(re.escape, re.split(r"\*+", segment)))
