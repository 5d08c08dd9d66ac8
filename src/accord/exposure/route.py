"""One route of a web application: what it takes, what it answers, what is said about it.

Values only. Where a route was found and how it is called is for others to know.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct

from accord.exposure.security import NO_SECURITY, Security
from accord.schema.schema import ANYTHING, Schema

Location: TypeAlias = Literal["path", "query", "header", "cookie", "body"]
"""Where in the request an argument goes. `body` is a member of the body, or all of it."""

BodyForm: TypeAlias = Literal["none", "json", "form", "multipart", "text", "binary"]


class RouteParameter(Struct, frozen=True, kw_only=True):
    """One named argument of a route."""

    name: str
    """What callers call it: unique within the route."""
    wire_name: str
    """What the route calls it: the header's name, the query key, the member of the body. Empty
    where the argument is all of its location: the whole body, or an object of query keys."""
    location: Location
    schema: Schema = ANYTHING
    required: bool = False
    default: Any = UNSET
    """What the application takes where nothing is given, if it says so."""
    description: str = ""
    deprecated: bool = False
    style: str = "form"
    """OpenAPI's way to spell arrays and objects: form, simple, deepObject, pipeDelimited, …;
    or `json`, where the application wants the value as JSON text."""
    explode: bool = True
    """Whether the members of an array or object stand apart: in headers, on lines of their own."""
    slashes: bool = False
    """Whether the value of a path parameter may have slashes in it, as in `{rest:path}`."""
    members: tuple[RouteParameter, ...] = ()
    """In the nested form: the argument is an object, and these are its members, by `name`."""


class RouteResponse(Struct, frozen=True):
    """An answer that the route documents."""

    status: int | None
    """None for the default answer."""
    description: str = ""
    schema: Schema | None = None
    """What a JSON body is like; None where there is no JSON body."""
    media_type: str = ""


class Route(Struct, frozen=True, kw_only=True):
    """One HTTP method on one path."""

    method: str
    """In capitals: GET, POST, …"""
    path: str
    """From the root of the application, mounts included, with `{name}` for parameters."""
    parameters: tuple[RouteParameter, ...] = ()
    """Required ones first, else in the order in which the application declares them."""
    body: BodyForm = "none"
    body_required: bool = False
    body_media_type: str = ""
    """What the route says its body is; empty where the form alone says so."""
    responses: tuple[RouteResponse, ...] = ()
    name: str = ""
    """The name of the route or of its function, where there is one."""
    operation_id: str = ""
    rpc_name: str = ""
    """The name that the route was given where it is defined; it always wins."""
    hidden: bool = False
    """Whether the route was left out where it is defined."""
    tags: tuple[str, ...] = ()
    summary: str = ""
    description: str = ""
    deprecated: bool = False
    security: Security = NO_SECURITY
    """What it asks callers to show."""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def success(self) -> RouteResponse | None:
        """The documented answer of a call that works: the lowest 2xx, else the default."""
        good = [it for it in self.responses if it.status is not None and 200 <= it.status < 300]
        if good:
            return min(good, key=lambda it: it.status or 0)
        return next((it for it in self.responses if it.status is None), None)
