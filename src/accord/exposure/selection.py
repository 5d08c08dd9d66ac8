"""Which routes are exposed: patterns and conditions that include and exclude them.

A pattern that matches nothing is an error: it is a slip of the pen, and would expose nothing,
or worse, what was to be kept back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import cache
from typing import TypeAlias

from msgspec import Struct

from accord.exposure.route import Route
from accord.jsonrpc.errors import RegistrationError

_TEXT = re.compile(r"(?:(?P<method>[A-Za-z]+)\s+)?(?P<path>/\S*)")
_MOST_SHOWN = 5
_HIDDEN = ", but for those that are hidden where they are defined"


class Select(Struct, frozen=True, kw_only=True):
    """A condition on routes: all that is given must hold; of several values, one must.

    `*` in a tag or a name stands for anything; in a path, for anything within a segment, for
    all that is below at its end (`/api/*`), and as `**` for any number of segments.
    """

    method: str | tuple[str, ...] = ()
    path: str | tuple[str, ...] = ()
    tag: str | tuple[str, ...] = ()
    name: str | tuple[str, ...] = ()
    """The operation id, the route's name, or the name given where it is defined."""

    def matches(self, route: Route) -> bool:
        """Whether `route` is one of those meant."""
        return (
            _any(_verb, self.method, (route.method,))
            and _any(_path, self.path, (route.path,))
            and _any(_words, self.tag, route.tags)
            and _any(_words, self.name, _names(route))
        )

    def __str__(self) -> str:
        given = ((field, _several(getattr(self, field))) for field in self.__struct_fields__)
        shown = (f"{field} {' or '.join(map(repr, values))}" for field, values in given if values)
        return ", ".join(shown)


Condition: TypeAlias = str | Select | Callable[[Route], bool]
Selection: TypeAlias = Condition | Sequence[Condition]


def select(
    routes: Iterable[Route], *, include: Selection = (), exclude: Selection = ()
) -> list[Route]:
    """Those of `routes` that some condition of `include` matches, and none of `exclude`.

    All are included where `include` is empty. Routes that are hidden where they are defined
    are never included. Raises `RegistrationError` for a pattern that matches no route.
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
    """The condition as a function.

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
    """What there is instead, nearest first."""
    if chosen.path and chosen.method:
        given = f"{_several(chosen.method)[0]} {_several(chosen.path)[0]}"
        there = sorted(map(str, routes))
    elif chosen.path:
        given = _several(chosen.path)[0]
        there = sorted({route.path for route in routes})
    elif chosen.name:
        given = _several(chosen.name)[0]
        there = sorted({name for route in routes for name in _names(route) if name})
    elif chosen.tag:
        given = _several(chosen.tag)[0]
        there = sorted({tag for route in routes for tag in route.tags})
    else:
        given = _several(chosen.method)[0]
        there = sorted({route.method for route in routes})
    if not there:
        return "; there are no routes" if not routes else "; no route has one"
    near = get_close_matches(given, there, n=_MOST_SHOWN, cutoff=0.4) or there[:_MOST_SHOWN]
    return f"; there are {', '.join(near)}{'' if len(near) == len(there) else ', …'}"


def _names(route: Route) -> tuple[str, ...]:
    return (route.rpc_name, route.operation_id, route.name)


def _several(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _any(
    compiled: Callable[[str], re.Pattern[str]],
    patterns: str | tuple[str, ...],
    values: Iterable[str],
) -> bool:
    """Whether one of the values matches one of the patterns, or there is no pattern."""
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
