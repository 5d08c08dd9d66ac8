"""What FastAPI knows about its routes: the document that it makes, and the tree of its routes.

Imported only where FastAPI is in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import APIRouter, FastAPI, routing
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from fastapi.utils import generate_unique_id


def is_described(route: Any) -> bool:
    """Whether the route is of the kind that FastAPI describes in its document."""
    return isinstance(getattr(route, "original_route", route), APIRoute)


def routes_of(app: Any) -> Iterable[Any]:
    """Every route with what the routers around it add to it: prefixes above all."""
    # Since FastAPI 0.137 included routers stay what they are, and the routes are a tree.
    contexts = getattr(routing, "iter_route_contexts", iter)
    return list(contexts(app.routes))


def document_of(app: Any) -> Mapping[str, Any] | None:
    """The OpenAPI document of an application or a router; None for anything else.

    An application keeps its document once it is made. It is made anew here, and the
    application is left as it was: reading it must not freeze it.
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
    """Whether the route's operation id only repeats its name, its path and its method."""
    generator = route.generate_unique_id_function
    return route.operation_id is None and getattr(generator, "value", generator) is (
        generate_unique_id
    )
