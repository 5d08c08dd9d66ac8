"""What can be said about an exposed route: what its application declares, and its `About`."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from accord.exposure.in_process import Exposed
from accord.exposure.request_body import described
from accord.exposure.response import error_name
from accord.exposure.routes import Route, RouteParameter, RouteResponse
from accord.jsonrpc.about import ErrorAbout
from accord.jsonrpc.catalogue import CATALOGUE
from accord.jsonrpc.method import Method
from accord.openrpc.description import Description, HttpRoute, Param
from accord.openrpc.functions import check_names, read_errors, take_apart, with_default
from accord.schema.schema import ANYTHING, Schema

_BOILERPLATE: Final = "Successful Response"
_NOTHING: Final = Schema({"type": "null"})
_TEXT: Final = Schema({"type": "string"})
_FILE: Final = Schema(
    {
        "type": "object",
        "properties": {
            "mediaType": {"type": "string"},
            "data": {"type": "string", "contentEncoding": "base64"},
            "filename": {"type": "string"},
        },
        "required": ["mediaType", "data"],
    }
)


def route_of(method: Method) -> Route | None:
    """The route that a method calls; None for a plain function."""
    return method.function.route if isinstance(method.function, Exposed) else None


def describe_route(method: Method, route: Route) -> Description:
    """Raises `RegistrationError` when what the method's `About` says does not fit the route."""
    about, success = method.about, route.success
    check_names(method, [each.name for each in route.parameters])
    return Description(
        name=method.name,
        summary=about.summary or route.summary,
        description=about.description or route.description,
        tags=about.tags or route.tags,
        params=tuple(_param(method, described(route, each)) for each in route.parameters),
        structure="by-name",
        result=ANYTHING if success is None else _result(success),
        result_description=about.result or _said(success),
        errors=read_errors(method) + tuple(_errors(route)),
        links=about.links,
        examples=about.examples,
        deprecated=about.deprecated or route.deprecated,
        external_docs=about.external_docs,
        route=HttpRoute(method=route.method, path=route.path, security=route.security),
    )


def _result(response: RouteResponse) -> Schema:
    """What a call gives where the route answers so, as `accord.exposure.response` makes it."""
    if response.schema is not None:
        return response.schema
    if response.status in (204, 205):
        return _NOTHING
    if response.media_type.startswith("text/"):
        return _TEXT
    is_json = response.media_type.endswith(("/json", "+json"))
    return ANYTHING if is_json or not response.media_type else _FILE


def _said(response: RouteResponse | None) -> str:
    """What the response's description says, unless it is what FastAPI says of every one."""
    if response is None or response.description == _BOILERPLATE:
        return ""
    return response.description


def _errors(route: Route) -> Iterator[ErrorAbout]:
    """The errors that the route documents. Statuses that have one code share an error."""
    by_name: dict[str, dict[int, str]] = {}
    for response in route.responses:
        if response.status is not None and response.status >= 300 and response.status != 304:
            said = _said(response) or _phrase(response.status)
            by_name.setdefault(error_name(response.status), {})[response.status] = said
    for name, statuses in by_name.items():
        message = " or ".join(dict.fromkeys(statuses.values()))
        yield ErrorAbout(CATALOGUE.named(name).code, message, {"status": min(statuses)})


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"HTTP status {status}"


def _param(method: Method, parameter: RouteParameter) -> Param:
    said = take_apart(parameter.schema)
    return Param(
        name=parameter.name,
        schema=with_default(said.schema, parameter.default),
        required=parameter.required,
        description=method.about.params.get(
            parameter.name, parameter.description or said.description
        ),
        deprecated=parameter.deprecated or parameter.name in method.about.deprecated_params,
        place=parameter.location,
        wire_name="" if parameter.wire_name == parameter.name else parameter.wire_name,
    )
