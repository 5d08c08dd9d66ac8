"""Descriptions of methods: from a function and its docstring, or from an exposed route."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from accord.exposure.in_process import Exposed
from accord.exposure.openapi import NO_SECURITY, Security
from accord.exposure.request_body import described
from accord.exposure.response import error_name
from accord.exposure.routes import Route, RouteParameter, RouteResponse
from accord.jsonrpc.methods.method import ErrorAbout, Example, ExternalDocs, Link, Method, Tag
from accord.jsonrpc.methods.signature import Kind, Parameter
from accord.jsonrpc.protocol.catalogue import CATALOGUE
from accord.jsonrpc.protocol.errors import RegistrationError
from accord.jsonrpc.protocol.messages import encode
from accord.schema.schema import ANYTHING, Schema
from accord.schema.types import accepts, returns

ParamStructure: TypeAlias = Literal["by-name", "by-position", "either"]


class Param(Struct, frozen=True, kw_only=True):
    """One parameter as callers see it."""

    name: str
    schema: Schema
    required: bool = False
    description: str = ""
    deprecated: bool = False
    place: str = ""
    """The part of the HTTP request that has the value: path, query, header, cookie or body."""
    wire_name: str = ""
    """The parameter's name in the HTTP request, if it differs."""
    variadic: bool = False
    """True if any number of values may be given: by further positions, or under other names."""


class HttpRoute(Struct, frozen=True, kw_only=True):
    """The route of a web application that a method calls."""

    method: str
    path: str
    security: Security = NO_SECURITY


class Description(Struct, frozen=True, kw_only=True):
    """One method as callers see it."""

    name: str
    summary: str = ""
    description: str = ""
    tags: tuple[str | Tag, ...] = ()
    params: tuple[Param, ...] = ()
    structure: ParamStructure = "either"
    result: Schema
    result_description: str = ""
    errors: tuple[ErrorAbout, ...] = ()
    links: tuple[Link, ...] = ()
    examples: tuple[Example, ...] = ()
    deprecated: bool = False
    external_docs: ExternalDocs | None = None
    route: HttpRoute | None = None


MAX_CACHED_ANNOTATIONS: Final = 1024
"""Maximum number of annotations whose schemas are cached."""

_VARIADIC: Final[dict[Kind, str]] = {
    "var_positional": "Any number of further values, by position.",
    "var_keyword": "Any number of further values, by other names.",
}


def describe_function(method: Method) -> Description:
    """Return the description of a plain function.

    Raises `RegistrationError` if the method's `About`, its texts, errors and examples, does not fit
    the function.
    """
    about = method.about
    summary, description = split_doc(method.doc)
    structure, parameters = choose_structure(method.parameters)
    check_names(method, [each.name for each in method.parameters])
    return Description(
        name=method.name,
        summary=about.summary or summary,
        description=about.description or description,
        tags=about.tags,
        params=tuple(_param(method, each) for each in parameters),
        structure=structure,
        result=_memoized(returns, method.returns),
        result_description=about.result,
        errors=read_errors(method),
        links=about.links,
        examples=about.examples,
        deprecated=about.deprecated,
        external_docs=about.external_docs,
    )


def split_doc(doc: str) -> tuple[str, str]:
    """Return the first line of a docstring, and the rest."""
    first, _, rest = doc.strip().partition("\n")
    return first.strip(), rest.strip()


def choose_structure(
    parameters: tuple[Parameter, ...],
) -> tuple[ParamStructure, list[Parameter]]:
    """Return how params are passed, and the parameters that can be passed so.

    Params are passed by name, by position, or either: the `paramStructure` of OpenRPC, which has
    one per method. If a signature has positional-only and keyword-only parameters, the structure by
    which more parameters can be passed is chosen; the other parameters are left out, as all of them
    are optional. Required parameters come first.
    """
    by_position = [it for it in parameters if it.by_position or it.kind == "var_positional"]
    by_name = [it for it in parameters if it.by_name or it.kind == "var_keyword"]
    if len(by_position) == len(by_name) == len(parameters):
        return "either", list(parameters)
    if (_required(by_position), len(by_position)) >= (_required(by_name), len(by_name)):
        return "by-position", by_position
    return "by-name", sorted(by_name, key=lambda it: not it.required)


def check_names(method: Method, names: Iterable[str]) -> None:
    """Raise `RegistrationError` if the method's `About` describes a param not in `names`."""
    known = set(names)
    for name in (*method.about.params, *method.about.deprecated_params):
        if name not in known:
            raise RegistrationError(
                f"method '{method.name}': its description speaks of the parameter '{name}', "
                "which it has not"
            )


def read_errors(method: Method) -> tuple[ErrorAbout, ...]:
    """Return the errors in the method's `About`.

    Raises `RegistrationError` for a code or a name that is not in Accord's error catalogue.
    """
    return tuple(_error(method, each) for each in method.about.errors)


def with_default(schema: Schema, default: Any) -> Schema:
    """Return `schema` with the default value, if JSON can express it."""
    if default is UNSET:
        return schema
    try:
        value = msgspec.json.decode(encode(default))
    except Exception:  # noqa: BLE001 - whatever a foreign object's encoder raises
        return schema
    members = schema.value if isinstance(schema.value, dict) else {}
    if value is None and isinstance(members.get("type"), str) and members["type"] != "null":
        return schema  # `size: int = None`: no caller can send that None
    return replace(schema, value={**members, "default": value})


def _memoized(describe: Callable[[Any], Schema], annotation: Any) -> Schema:
    """Return `describe(annotation)`, cached because most methods have the same types."""
    try:
        hash(annotation)
    except TypeError:
        return describe(annotation)
    return _remember(describe, annotation)


@lru_cache(maxsize=MAX_CACHED_ANNOTATIONS)
def _remember(describe: Callable[[Any], Schema], annotation: Any) -> Schema:
    return describe(annotation)


def _required(parameters: list[Parameter]) -> int:
    return sum(it.required for it in parameters)


def _param(method: Method, parameter: Parameter) -> Param:
    said = split_notes(_memoized(accepts, parameter.annotation))
    variadic = _VARIADIC.get(parameter.kind, "")
    return Param(
        name=parameter.name,
        schema=with_default(said.schema, parameter.default),
        required=parameter.required,
        description=method.about.params.get(parameter.name, said.description or variadic),
        deprecated=said.deprecated or parameter.name in method.about.deprecated_params,
        variadic=bool(variadic),
    )


class ParamNotes(Struct, frozen=True):
    """The description and deprecation of a parameter, separated from its schema."""

    description: str
    deprecated: bool
    schema: Schema
    """The schema without description and deprecation."""


def split_notes(schema: Schema) -> ParamNotes:
    """Separate a parameter's schema from its description and deprecation.

    OpenRPC has these members beside the schema.
    """
    if not isinstance(schema.value, dict):
        return ParamNotes("", False, schema)
    rest = {key: it for key, it in schema.value.items() if key not in ("description", "deprecated")}
    return ParamNotes(
        str(schema.value.get("description", "")),
        schema.value.get("deprecated") is True,
        replace(schema, value=rest),
    )


def _error(method: Method, error: int | str | ErrorAbout) -> ErrorAbout:
    if isinstance(error, ErrorAbout):
        return error
    try:
        entry = CATALOGUE.named(error) if isinstance(error, str) else CATALOGUE.get(error)
    except KeyError as unknown:
        raise RegistrationError(f"method '{method.name}': {unknown.args[0]}") from None
    if entry is None:
        raise RegistrationError(
            f"method '{method.name}': the catalogue has no error {error}; "
            "describe it with ErrorAbout"
        )
    return ErrorAbout(entry.code, entry.message)


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
    """Return the route that a method calls; None for a plain function."""
    return method.function.route if isinstance(method.function, Exposed) else None


def describe_route(method: Method, route: Route) -> Description:
    """Return the description of a method that calls a route.

    Raises `RegistrationError` if its `About` does not fit the route.
    """
    about, success = method.about, route.success
    check_names(method, [each.name for each in route.parameters])
    return Description(
        name=method.name,
        summary=about.summary or route.summary,
        description=about.description or route.description,
        tags=about.tags or route.tags,
        params=tuple(_route_param(method, described(route, each)) for each in route.parameters),
        structure="by-name",
        result=ANYTHING if success is None else _result(success),
        result_description=about.result or _description_of(success),
        errors=read_errors(method) + tuple(_errors(route)),
        links=about.links,
        examples=about.examples,
        deprecated=about.deprecated or route.deprecated,
        external_docs=about.external_docs,
        route=HttpRoute(method=route.method, path=route.path, security=route.security),
    )


def _result(response: RouteResponse) -> Schema:
    """Return the schema of a call's result, derived from a response of the route."""
    if response.schema is not None:
        return response.schema
    if response.status in (204, 205):
        return _NOTHING
    if response.media_type.startswith("text/"):
        return _TEXT
    is_json = response.media_type.endswith(("/json", "+json"))
    return ANYTHING if is_json or not response.media_type else _FILE


def _description_of(response: RouteResponse | None) -> str:
    """Return the description of the response, unless it is FastAPI's default."""
    if response is None or response.description == _BOILERPLATE:
        return ""
    return response.description


def _errors(route: Route) -> Iterator[ErrorAbout]:
    """Yield the errors that the route documents.

    HTTP statuses that map to the same error code share one error.
    """
    by_name: dict[str, dict[int, str]] = {}
    for response in route.responses:
        if response.status is not None and response.status >= 300 and response.status != 304:
            said = _description_of(response) or _phrase(response.status)
            by_name.setdefault(error_name(response.status), {})[response.status] = said
    for name, statuses in by_name.items():
        message = " or ".join(dict.fromkeys(statuses.values()))
        yield ErrorAbout(CATALOGUE.named(name).code, message, {"status": min(statuses)})


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"HTTP status {status}"


def _route_param(method: Method, parameter: RouteParameter) -> Param:
    said = split_notes(parameter.schema)
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
