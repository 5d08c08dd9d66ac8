"""The routes of a web application: those of Starlette and FastAPI, or of an OpenAPI document."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from accord.exposure.openapi import Document, check_size
from accord.exposure.operation import Operation, read_operation
from accord.exposure.parameters import flat, nested as nest
from accord.exposure.route import Route, RouteParameter
from accord.exposure.undescribed import undescribed
from accord.jsonrpc.errors import RegistrationError
from accord.schema.schema import Schema

if TYPE_CHECKING:
    from accord.exposure.served import Served

_PATH_PARAMETER = re.compile(r"\{([^{}/]+)\}")


def find_routes(
    app: Any, *, openapi: Mapping[str, Any] | None = None, nested: bool = False
) -> list[Route]:
    """The routes of `app` that can be called, in the order in which it has them.

    `app` is of Starlette or FastAPI, or any ASGI application if its OpenAPI document is given
    as `openapi`. With `nested` the parameters of a route are not one per value but `path`,
    `query`, `headers`, `cookies` and `body`, each an object. Routes that are hidden where
    they are defined are there too, and say so. Raises `RegistrationError` for a document
    that makes no sense, and for an application whose routes cannot be known.
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
    from accord.exposure.served import served_by

    return served_by(app, documents=documents)


def _documented(
    openapi: Mapping[str, Any], served: list[Served]
) -> Iterator[tuple[Operation, Served | None]]:
    """The operations of a given document, with what the application knows of them."""
    check_size(openapi)
    document = Document(openapi)
    known = {(each.method, each.path): each for each in reversed(served)}
    for entry in document.entries():
        yield read_operation(document, entry), known.get((entry.method, entry.path))


def _described(served: list[Served]) -> Iterator[tuple[Operation, Served | None]]:
    """What an application serves in public, and what was given a name on purpose."""
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
        parameters=(nest if nested else flat)(declared, operation.body),
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
    """The parameters with all that the path has: mounts may have some of their own."""
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
