"""Finds the routes of Starlette, FastAPI and OpenAPI documents, and names their parameters."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from accord.exposure.openapi import Document, check_size
from accord.exposure.operation import NO_BODY, WHOLE, Body, Operation, read_operation
from accord.exposure.routes import Location, Route, RouteParameter
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.schema.schema import Json, Schema

if TYPE_CHECKING:
    from accord.exposure.starlette import Served


_QUERY = RouteParameter(
    name="query",
    wire_name="",
    location="query",
    schema=Schema(
        {
            "type": "object",
            "additionalProperties": {
                "type": ["string", "number", "boolean", "array"],
                "items": {"type": ["string", "number", "boolean"]},
            },
        }
    ),
    description="What goes into the query string, by name; an array gives a name several values.",
)
_BODY = Body(
    form="json",
    whole=RouteParameter(
        name=WHOLE, wire_name="", location="body", description="The body, as JSON."
    ),
)
_METHODS_WITH_BODY = ("POST", "PUT", "PATCH")


def undescribed(method: str, path: str, doc: str) -> Operation:
    """Return an operation for a route that only its docstring, `doc`, describes."""
    summary, _, description = doc.partition("\n")
    return Operation(
        method=method,
        path=path,
        parameters=(_QUERY,),
        body=_BODY if method in _METHODS_WITH_BODY else NO_BODY,
        summary=summary.strip(),
        description=description.strip(),
    )


_GROUPS: dict[Location, str] = {
    "path": "path",
    "query": "query",
    "header": "headers",
    "cookie": "cookies",
}
"""For each part of the request, the name of its object parameter. Such parameters exist with the
option `nested`, see `nested_parameters`."""

_RANKS: tuple[Location, ...] = ("path", "query", "header", "cookie", "body")
"""The parts of a request by precedence: if several parameters have one name, the parameter whose
location comes first keeps the name."""


def flat_parameters(declared: Iterable[RouteParameter], body: Body) -> tuple[RouteParameter, ...]:
    """Return one parameter per value, with unique names; required ones first."""
    every = [*declared, *body.flat]
    names = _unique(every)
    named = [replace(each, name=name) for each, name in zip(every, names, strict=True)]
    return _required_first(named)


def nested_parameters(declared: Iterable[RouteParameter], body: Body) -> tuple[RouteParameter, ...]:
    """Return one object parameter for each part of the request.

    The members of the object have the names of the HTTP request.
    """
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
    """Return the wire name of a parameter as an identifier, which may not be unique."""
    wire_name = parameter.wire_name or parameter.name
    if parameter.location == "header":
        wire_name = wire_name.lower()
    name = "".join(each if f"_{each}".isidentifier() else "_" for each in wire_name)
    name = name.rstrip("_") or "value"
    if not name.isidentifier():
        return f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def _unique(parameters: list[RouteParameter]) -> list[str]:
    chosen = [plain_name(each) for each in parameters]
    ranked = sorted(range(len(parameters)), key=lambda n: _RANKS.index(parameters[n].location))
    owners: dict[str, int] = {}
    for number in ranked:
        owners.setdefault(chosen[number], number)
    names = dict.fromkeys(owners)
    for number in ranked:
        if owners[chosen[number]] != number:
            chosen[number] = _next_free(chosen[number], parameters[number], names)
            owners[chosen[number]] = number
            names[chosen[number]] = None
    return chosen


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


_PATH_PARAMETER = re.compile(r"\{([^{}/]+)\}")


def find_routes(
    app: Any, *, openapi: Mapping[str, Any] | None = None, nested: bool = False
) -> list[Route]:
    """Return the routes of `app` that can be called, in the order of the application.

    `app` is an application of Starlette or FastAPI, or any ASGI application if its OpenAPI document
    is given as `openapi`. By default a route has one parameter per value; with `nested` it has up
    to five, `path`, `query`, `headers`, `cookies` and `body`, each an object. Routes with
    `rpc_hidden` are included, with `hidden` set. Raises `RegistrationError` for an invalid
    document, and for an application whose routes cannot be read.
    """
    served = _served_by(app, documents=openapi is None)
    if openapi is not None:
        found = _documented(openapi, served or [])
    elif served is not None:
        found = _described(served)
    else:
        raise RegistrationError(
            f"the routes of {type(app).__module__}.{type(app).__qualname__} cannot be known: it "
            "is no application of Starlette or FastAPI; give its OpenAPI document as openapi=…"
        )
    routes: dict[tuple[str, str], Route] = {}
    for operation, origin in found:
        route = _route(operation, origin, nested=nested)
        if route.body != "multipart" or route.rpc_name:
            # Of two with the same method and path, the first is the one that is reached.
            routes.setdefault((route.method, route.path), route)
    return list(routes.values())


def _served_by(app: Any, *, documents: bool) -> list[Served] | None:
    if "starlette" not in sys.modules:
        return None
    from accord.exposure.starlette import served_by

    return served_by(app, documents=documents)


def _documented(
    openapi: Mapping[str, Any], served: list[Served]
) -> Iterator[tuple[Operation, Served | None]]:
    """Yield the operations of an OpenAPI document, each with its route in the application.

    The route is None if the application has none for the operation.
    """
    check_size(openapi)
    document = Document(openapi)
    known = {(each.method, each.path): each for each in reversed(served)}
    for entry in document.entries():
        yield read_operation(document, entry), known.get((entry.method, entry.path))


def _described(served: list[Served]) -> Iterator[tuple[Operation, Served | None]]:
    """Yield the operations of routes that are public or have a name from `rpc_name`.

    A route that no document describes gets an operation from its docstring.
    """
    for each in served:
        if each.operation is not None:
            yield each.operation, each
        elif each.public or each.mark.name:
            yield undescribed(each.method, each.path, each.doc), each


def _route(operation: Operation, served: Served | None, *, nested: bool) -> Route:
    path = operation.path if served is None else served.path
    declared = _with_path(operation.parameters, path, served)
    made_up = served is not None and served.made_up_id
    return Route(
        method=operation.method,
        path=path,
        parameters=(nested_parameters if nested else flat_parameters)(declared, operation.body),
        body=operation.body.form,
        body_required=operation.body.required,
        body_media_type=operation.body.media_type,
        responses=operation.responses,
        name="" if served is None else served.name,
        operation_id="" if made_up else operation.operation_id,
        rpc_name=operation.mark.name or ("" if served is None else served.mark.name),
        hidden=operation.mark.hidden or (served is not None and served.mark.hidden),
        tags=operation.tags,
        summary=operation.summary,
        description=operation.description,
        deprecated=operation.deprecated,
        security=operation.security,
    )


def _with_path(
    parameters: tuple[RouteParameter, ...], path: str, served: Served | None
) -> list[RouteParameter]:
    """Return the parameters of an operation, with one for each name in its path.

    The operation does not declare the names that a mount adds to the path.
    """
    known = {} if served is None else {each.wire_name: each for each in served.path_parameters}
    declared = {each.wire_name: each for each in parameters if each.location == "path"}
    found = []
    for name in dict.fromkeys(_PATH_PARAMETER.findall(path)):
        convertor = known.get(name, _string(name))
        found.append(replace(declared.get(name, convertor), slashes=convertor.slashes))
    return found + [each for each in parameters if each.location != "path"]


def _string(name: str) -> RouteParameter:
    return RouteParameter(
        name=name,
        wire_name=name,
        location="path",
        schema=Schema({"type": "string"}),
        required=True,
        style="simple",
        explode=False,
    )
