"""The names that callers use for what a route takes: flat, one per value, or nested.

Names are deterministic: they depend on what the route declares and on nothing else.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable
from itertools import count

from msgspec.structs import replace

from accord.exposure.declared_body import Body
from accord.exposure.route import Location, RouteParameter
from accord.schema.schema import Json, Schema

_GROUPS: dict[Location, str] = {
    "path": "path",
    "query": "query",
    "header": "headers",
    "cookie": "cookies",
}
"""What the objects of the nested form are called."""

_RANKS: tuple[Location, ...] = ("path", "query", "header", "cookie", "body")
"""Who keeps a name that several would have."""


def flat(declared: Iterable[RouteParameter], body: Body) -> tuple[RouteParameter, ...]:
    """A parameter for each value, under a name that no other has; required ones first."""
    every = [*declared, *body.flat]
    names = _unique(every)
    named = [replace(each, name=name) for each, name in zip(every, names, strict=True)]
    return _required_first(named)


def nested(declared: Iterable[RouteParameter], body: Body) -> tuple[RouteParameter, ...]:
    """One parameter for each part of the request, an object with the names of the wire."""
    groups: dict[Location, list[RouteParameter]] = {location: [] for location in _GROUPS}
    found = []
    for each in declared:
        if each.wire_name:
            groups[each.location].append(replace(each, name=each.wire_name))
        else:
            found.append(each)
    found += [_group(location, members) for location, members in groups.items() if members]
    if body.whole is not None:
        found.append(body.whole)
    return _required_first(found)


def plain_name(parameter: RouteParameter) -> str:
    """What a parameter is called where nothing else is: its name on the wire, as an identifier."""
    wire_name = parameter.wire_name or parameter.name
    if parameter.location == "header":
        wire_name = wire_name.lower()
    name = "".join(each if f"_{each}".isidentifier() else "_" for each in wire_name)
    name = name.rstrip("_") or "value"
    if not name.isidentifier():
        return f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def _unique(parameters: list[RouteParameter]) -> list[str]:
    wanted = [plain_name(each) for each in parameters]
    ranked = sorted(range(len(parameters)), key=lambda n: _RANKS.index(parameters[n].location))
    owners: dict[str, int] = {}
    for number in ranked:
        owners.setdefault(wanted[number], number)
    names = dict.fromkeys(owners)
    for number in ranked:
        if owners[wanted[number]] != number:
            wanted[number] = _next_free(wanted[number], parameters[number], names)
            owners[wanted[number]] = number
            names[wanted[number]] = None
    return wanted


def _next_free(name: str, parameter: RouteParameter, taken: Iterable[str]) -> str:
    suffixed = f"{name.rstrip('_')}_{parameter.location}"
    if suffixed not in taken:
        return suffixed
    return next(each for n in count(2) if (each := f"{suffixed}_{n}") not in taken)


def _group(location: Location, members: list[RouteParameter]) -> RouteParameter:
    required = [each.name for each in members if each.required]
    definitions: dict[str, Json] = {}
    for each in members:
        definitions.update(each.schema.definitions)
    value: Json = {
        "type": "object",
        "properties": {each.name: each.schema.value for each in members},
        "additionalProperties": False,
    }
    if required:
        value["required"] = required
    return RouteParameter(
        name=_GROUPS[location],
        wire_name="",
        location=location,
        schema=Schema(value, definitions),
        required=bool(required),
        members=tuple(members),
    )


def _required_first(parameters: Iterable[RouteParameter]) -> tuple[RouteParameter, ...]:
    return tuple(sorted(parameters, key=lambda each: not each.required))
