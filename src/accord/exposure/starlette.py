"""The routes of a Starlette or FastAPI application: every method on every path, with mounts.

Imported only if the program uses Starlette.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from msgspec import Struct
from starlette.convertors import Convertor, FloatConvertor, IntegerConvertor, UUIDConvertor
from starlette.endpoints import HTTPEndpoint
from starlette.routing import Mount, Route as StarletteRoute, Router

from accord.exposure.openapi import METHODS, Document
from accord.exposure.operation import Operation, read_operation
from accord.exposure.routes import Mark, RouteParameter, mark_of
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.schema.schema import Json, Schema

ENDPOINT = "__accord_endpoint__"
"""The attribute, with the value True, of applications that serve JSON-RPC themselves. The routes of
such an application are left out."""

MOST_MOUNTS = 32
"""Maximum depth of mounts: an application may mount itself."""

_SCHEMAS: tuple[tuple[type[Convertor[Any]], Json], ...] = (
    (IntegerConvertor, {"type": "integer", "minimum": 0}),
    (FloatConvertor, {"type": "number", "minimum": 0}),
    (UUIDConvertor, {"type": "string", "format": "uuid"}),
    (Convertor, {"type": "string"}),
)


class Served(Struct, frozen=True, kw_only=True):
    """A route that an application serves: one HTTP method on one path."""

    method: str
    path: str
    """The path from the root, with `{name}` for parameters."""
    path_parameters: tuple[RouteParameter, ...]
    """All parameters of the path, including those of mounts."""
    name: str
    doc: str
    mark: Mark
    public: bool
    """True if the application's document contains the route, or would if the application had a
    document."""
    operation: Operation | None = None
    """The route's operation in the application's document, if there is one."""
    made_up_id: bool = False
    """True if the operation id was generated from the route's name, path and method."""


class _Level(Struct, frozen=True):
    """The state of the walk at one level of mounts: prefix, parameters and depth."""

    documents: bool
    """True if the OpenAPI documents of applications are read."""
    prefix: str = ""
    parameters: tuple[RouteParameter, ...] = ()
    depth: int = 0


def served_by(app: Any, *, documents: bool) -> list[Served] | None:
    """Return the routes of `app`; None if they cannot be read.

    `app` may be wrapped in middleware. With `documents`, the OpenAPI documents of `app` and of
    mounted applications are read. Raises `RegistrationError` for mounts nested deeper than
    `MOST_MOUNTS`.
    """
    inner = _application(app)
    return None if inner is None else list(_walk(inner, _Level(documents)))


def _application(app: Any) -> Any | None:
    """Return the Starlette application or router inside middleware.

    Return None if there is none, or if an application serves JSON-RPC itself.
    """
    for _ in range(MOST_MOUNTS):
        if getattr(app, ENDPOINT, False) is True:
            return None
        if isinstance(app, Router) or isinstance(getattr(app, "router", None), Router):
            return app
        app = getattr(app, "app", None)
    return None


def _walk(app: Any, level: _Level) -> Iterator[Served]:
    if level.depth > MOST_MOUNTS:
        raise RegistrationError(
            f"applications are mounted in each other more than {MOST_MOUNTS} levels deep, and "
            "that is the limit"
        )
    fastapi = _fastapi()
    operations = _operations(app, fastapi) if fastapi is not None and level.documents else {}
    for route in app.routes if fastapi is None else fastapi.routes_of(app):
        # What FastAPI says of a route inside a router is not the route itself but has it.
        kind = getattr(route, "original_route", route)
        if isinstance(kind, Mount):
            yield from _mounted(route, level)
        elif fastapi is not None and fastapi.is_described(route):
            for method, handler in _handlers(route):
                operation = operations.get((method, route.path_format))
                yield _served(
                    route,
                    level,
                    method,
                    handler,
                    public=operation is not None,
                    operation=operation,
                    made_up_id=fastapi.has_made_up_id(route),
                )
        elif isinstance(kind, StarletteRoute):
            for method, handler in _handlers(route):
                yield _served(route, level, method, handler, public=route.include_in_schema)


def _fastapi() -> ModuleType | None:
    """Return the module `accord.exposure.fastapi`, if the program uses FastAPI."""
    if "fastapi" not in sys.modules:
        return None
    from accord.exposure import fastapi

    return fastapi


def _operations(app: Any, fastapi: ModuleType) -> dict[tuple[str, str], Operation]:
    """Return the operations of the application's document, by method and path."""
    value = fastapi.document_of(app)
    if value is None:
        return {}
    document = Document(value, header_lines=True)
    return {
        (entry.method, entry.path): read_operation(document, entry) for entry in document.entries()
    }


def _mounted(mount: Any, level: _Level) -> Iterator[Served]:
    # Middleware of the mount stands around what was mounted, which only has a private name.
    inner = _application(getattr(mount, "_base_app", mount.app))
    if inner is None or getattr(mount.app, ENDPOINT, False) is True:
        return
    convertors = {key: each for key, each in mount.param_convertors.items() if key != "path"}
    yield from _walk(
        inner,
        _Level(
            level.documents,
            level.prefix + mount.path_format.removesuffix("/{path}"),
            level.parameters + _path_parameters(convertors),
            level.depth + 1,
        ),
    )


def _handlers(route: Any) -> Iterable[tuple[str, Any]]:
    """Yield the methods of a route, each with its handler."""
    endpoint, methods = route.endpoint, route.methods
    if getattr(endpoint, ENDPOINT, False) is True:
        return
    for method in METHODS:
        if isinstance(endpoint, type) and issubclass(endpoint, HTTPEndpoint):
            if hasattr(endpoint, method) and (not methods or method.upper() in methods):
                yield method.upper(), getattr(endpoint, method)
        elif methods and method.upper() in methods:
            yield method.upper(), endpoint


def _served(
    route: Any,
    level: _Level,
    method: str,
    handler: Any,
    *,
    public: bool,
    operation: Operation | None = None,
    made_up_id: bool = False,
) -> Served:
    whole, part = mark_of(route.endpoint), mark_of(handler)
    return Served(
        method=method,
        path=level.prefix + route.path_format,
        path_parameters=level.parameters + _path_parameters(route.param_convertors),
        name=route.name or "",
        doc=_doc(handler) or _doc(route.endpoint),
        mark=Mark(part.name or whole.name, part.hidden or whole.hidden),
        public=public,
        operation=operation,
        made_up_id=made_up_id,
    )


def _path_parameters(convertors: dict[str, Convertor[Any]]) -> tuple[RouteParameter, ...]:
    return tuple(
        RouteParameter(
            name=name,
            wire_name=name,
            location="path",
            schema=Schema(next(it for kind, it in _SCHEMAS if isinstance(convertor, kind))),
            required=True,
            style="simple",
            explode=False,
            slashes=re.fullmatch(convertor.regex, "a/b") is not None,
        )
        for name, convertor in convertors.items()
    )


def _doc(function: Any) -> str:
    """Return the docstring of a function, without the YAML that Starlette allows below `---`."""
    return (inspect.getdoc(function) or "").partition("---")[0].strip()
