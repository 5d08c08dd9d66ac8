"""What an application says about wrong values, in the words of the router. Pure.

FastAPI answers 422 with a list under `detail`: where (`loc`), what (`msg`) and which kind
(`type`). Each entry becomes the problem that the router would report for a parameter of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from accord.exposure.route import Route, RouteParameter
from accord.exposure.spelling import UnspellableError, plain
from accord.jsonrpc.params_errors import MAX_PROBLEMS, Problem, json_kind

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_SHOULD_BE: Final = "Input should be "
_PARSING: Final = re.compile(", (?:unable to parse|got a number)")
"""What follows is about the value that the application saw, which may be text where the caller
sent a number."""


def read_problems(
    route: Route, body: Any, arguments: Mapping[str, Any] = _NOTHING
) -> list[Problem]:
    """The problems that a body lists; none where it lists none in this way.

    `arguments` are those of the call. What came is told by them: the application has seen a text
    where a number was put into a path, a query or a header.
    """
    listed = body.get("detail") if isinstance(body, dict) else None
    if not isinstance(listed, list) or not listed or not all(map(_is_rejection, listed)):
        return []
    return [_problem(route, entry, arguments) for entry in listed[:MAX_PROBLEMS]]


def _is_rejection(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("loc"), list)
        and isinstance(entry.get("msg"), str)
    )


def _problem(route: Route, entry: dict[str, Any], arguments: Mapping[str, Any]) -> Problem:
    parameter, path, inside = _place(route, entry["loc"])
    kind, message = entry.get("type"), entry["msg"]
    members = {"type": kind} if isinstance(kind, str) else {}
    if inside[:1] == [0] and _is_single(arguments.get(parameter)):
        # The route takes a list, and was sent a list of the one value that the caller gave.
        path, inside = parameter + _path(inside[1:]), inside[1:]
    came = _came(arguments, parameter, inside)
    if kind == "missing":
        return Problem(parameter, path, "a value", came or "nothing", members=members)
    got = came or (json_kind(entry["input"]) if "input" in entry else "another value")
    if message.startswith(_SHOULD_BE):
        expected = _PARSING.split(message.removeprefix(_SHOULD_BE), maxsplit=1)[0]
        return Problem(parameter, path, expected, got, members=members)
    return Problem(parameter, path, message, got, message, members)


def _is_single(value: Any) -> bool:
    try:
        value = plain(value)
    except UnspellableError:
        return False
    return value is not None and not isinstance(value, list | dict)


def _came(arguments: Mapping[str, Any], parameter: str, steps: Iterable[Any]) -> str:
    """Return what kind of value the caller gave there; empty where that cannot be told."""
    if parameter not in arguments:
        return ""
    try:
        value = plain(arguments[parameter])
    except UnspellableError:
        return ""
    for step in steps:
        is_item = isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value)
        if not is_item and not (isinstance(value, dict) and step in value):
            return ""
        value = value[step]
    return json_kind(value)


def _place(route: Route, steps: list[Any]) -> tuple[str, str, list[Any]]:
    """The caller's name for what `loc` points at, the path into it, and that path's steps."""
    location, inside = steps[:1], steps[1:]
    for parameter in route.parameters:
        if [parameter.location] != location:
            continue
        if not parameter.wire_name:
            return parameter.name, parameter.name + _path(inside), inside
        if inside and _is_called(parameter, inside[0]):
            return parameter.name, parameter.name + _path(inside[1:]), inside[1:]
    names = [str(step) for step in steps] or ["params"]
    return names[-1], ".".join(names), []


def _is_called(parameter: RouteParameter, name: Any) -> bool:
    if parameter.location == "header":
        return parameter.wire_name.lower() == str(name).lower()
    return bool(parameter.wire_name == name)


def _path(steps: Iterable[Any]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
