"""FastAPI's view of its routes: the OpenAPI document, and the tree of routes.

Imported only if the program uses FastAPI.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import APIRouter, FastAPI, routing
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from fastapi.utils import generate_unique_id


def is_described(route: Any) -> bool:
    """Return whether the route is of the kind that FastAPI includes in its document."""
    return isinstance(getattr(route, "original_route", route), APIRoute)


def routes_of(app: Any) -> Iterable[Any]:
    """Return all routes of `app`, with the settings of the routers that contain them."""
    # Since FastAPI 0.137 included routers stay what they are, and the routes are a tree.
    contexts = getattr(routing, "iter_route_contexts", iter)
    return list(contexts(app.routes))


def document_of(app: Any) -> Mapping[str, Any] | None:
    """Return the OpenAPI document of an application or a router; None for anything else.

    The document is always generated from the current routes. FastAPI caches its first document, and
    serves it even after routes were added; this function neither reads nor changes that cache.
    """
    if isinstance(app, FastAPI):
        kept, app.openapi_schema = app.openapi_schema, None
        try:
            return app.openapi()
        finally:
            app.openapi_schema = kept
    if isinstance(app, APIRouter):
        return get_openapi(title="", version="", routes=app.routes)
    return None


def has_made_up_id(route: Any) -> bool:
    """Return whether the operation id was generated from the route's name, path and method."""
    generator = route.generate_unique_id_function
    return route.operation_id is None and getattr(generator, "value", generator) is (
        generate_unique_id
    )
