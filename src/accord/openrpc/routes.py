"""What can be said about an exposed route: what its application declares, and its `About`."""

from __future__ import annotations

from accord.exposure.route import Route, RouteParameter
from accord.jsonrpc.method import Method
from accord.openrpc.description import Description, Param
from accord.openrpc.functions import check_names, read_errors, take_description, with_default
from accord.schema.schema import ANYTHING


def route_of(method: Method) -> Route | None:
    """The route that a method calls; None for a plain function."""
    route = getattr(method.function, "route", None)
    return route if isinstance(route, Route) else None


def describe_route(method: Method, route: Route) -> Description:
    """Raises `RegistrationError` when what the method's `About` says does not fit the route."""
    about, success = method.about, route.success
    check_names(method, [each.name for each in route.parameters])
    return Description(
        name=method.name,
        summary=about.summary or route.summary,
        description=about.description or route.description,
        tags=about.tags or route.tags,
        params=tuple(_param(method, each) for each in route.parameters),
        structure="by-name",
        result=(success and success.schema) or ANYTHING,
        result_description=about.result or (success.description if success else ""),
        errors=read_errors(method),
        links=about.links,
        examples=about.examples,
        deprecated=about.deprecated or route.deprecated,
        external_docs=about.external_docs,
    )


def _param(method: Method, parameter: RouteParameter) -> Param:
    said, schema = take_description(parameter.schema)
    return Param(
        name=parameter.name,
        schema=with_default(schema, parameter.default),
        required=parameter.required,
        description=method.about.params.get(parameter.name, parameter.description or said),
        deprecated=parameter.deprecated or parameter.name in method.about.deprecated_params,
    )
