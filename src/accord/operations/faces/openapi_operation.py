"""One route as OpenAPI writes it down (OpenAPI 3.1.0, Operation Object). Pure."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET

from accord.jsonrpc.parameters import Parameter
from accord.operations.faces.openapi_parts import failure, headers
from accord.operations.faces.rest_route import EXPECTED_VERSION, RestRoute, takes_list
from accord.operations.outcome import Preview
from accord.operations.registry import IDEMPOTENCY_KEY
from accord.schema.bundle import Bundle
from accord.schema.schema import Json
from accord.schema.types import accepts, returns

_ALWAYS: Final = (401, 403, 422, 429, 431, 500, 503)
_DONE: Final = {200: "Done.", 201: "It was created.", 202: "It has begun.", 204: "It is gone."}
_JSON: Final = "application/json"


def describe(route: RestRoute, bundle: Bundle, tag: str) -> Json:
    """The operation object of a route; schemas that others may share go into `bundle`."""
    operation = route.operation
    described: dict[str, Any] = {
        "operationId": _operation_id(route),
        "summary": operation.title,
        "description": operation.description,
        "tags": [tag],
    }
    parameters = [*_parameters(route, bundle), *_header_parameters(route)]
    if parameters:
        described["parameters"] = parameters
    if route.takes_body:
        described["requestBody"] = _body(route, bundle)
    described["responses"] = _responses(route, bundle)
    return described


def _parameters(route: RestRoute, bundle: Bundle) -> list[Json]:
    by_name = {each.name: each for each in route.operation.parameters}
    in_path = [_parameter(by_name[name], "path", bundle) for name in route.names]
    in_query = [_parameter(each, "query", bundle) for each in route.query]
    shorter = {name: alias for alias, name in route.rest.aliases}
    for described in in_query:
        described["name"] = shorter.get(described["name"], described["name"])
    return in_path + in_query


def _operation_id(route: RestRoute) -> str:
    """Unique, also where an operation is found at several places."""
    place = route.operation.rest.index(route.rest)
    return route.operation.name if place == 0 else f"{route.operation.name}_{place + 1}"


def _parameter(parameter: Parameter, place: str, bundle: Bundle) -> Json:
    schema = _schema(parameter, bundle, in_words=True)
    about = schema.pop("description", "") if isinstance(schema, dict) else ""
    described: dict[str, Any] = {
        "name": parameter.name,
        "in": place,
        "required": place == "path" or parameter.required,
        "schema": schema,
    }
    if about:
        described["description"] = about
    if takes_list(parameter.annotation):
        described |= {"style": "form", "explode": True}
    return described


def _header_parameters(route: RestRoute) -> list[Json]:
    named = {each.name for each in route.operation.parameters}
    found = []
    if IDEMPOTENCY_KEY in named:
        about = "A second call with the same key does nothing, and is answered as the first was."
        schema: Json = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"}
        found.append(_header("Idempotency-Key", about, schema))
    if EXPECTED_VERSION in named:
        about = "The ETag of what was read: refuse if it was changed since."
        found.append(_header("If-Match", about, {"type": "string", "examples": ['"3"', "*"]}))
    elif not route.operation.writes and _has_version(route):
        about = "The ETag of what was read: answer 304 if it is the same still."
        found.append(_header("If-None-Match", about, {"type": "string"}))
    return found


def _header(name: str, about: str, schema: Json) -> Json:
    return {"name": name, "in": "header", "required": False, "description": about, "schema": schema}


def _body(route: RestRoute, bundle: Bundle) -> Json:
    if route.rest.whole:
        return _whole(route, bundle)
    properties = {each.name: _schema(each, bundle) for each in route.body}
    required = [each.name for each in route.body if each.required and each.name != EXPECTED_VERSION]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    if required:
        schema["required"] = required
    return {"required": bool(required), "content": {_JSON: {"schema": schema}}}


def _whole(route: RestRoute, bundle: Bundle) -> Json:
    """A body that is one parameter."""
    [whole] = [each for each in route.body if each.name == route.rest.whole]
    content: dict[str, Any] = {_JSON: {"schema": _schema(whole, bundle)}}
    content |= {each: {"schema": {"type": "string"}} for each in route.rest.texts}
    return {"required": True, "content": content}


def _schema(parameter: Parameter, bundle: Bundle, *, in_words: bool = False) -> Json:
    schema = bundle.add(accepts(parameter.annotation))
    if in_words:
        schema = _without_null(schema)
    default = parameter.default
    if default is UNSET or default is None or not isinstance(schema, dict):
        return schema
    return {**schema, "default": msgspec.to_builtins(default)}


def _without_null(schema: Json) -> Json:
    """What can be said in a query, where nothing is said by leaving it out."""
    if not isinstance(schema, dict) or "anyOf" not in schema:
        return schema
    choices = [each for each in schema["anyOf"] if each != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**choices[0], **rest} if len(choices) == 1 else {**rest, "anyOf": choices}


def _responses(route: RestRoute, bundle: Bundle) -> Json:
    operation, status = route.operation, route.rest.status
    done: dict[str, Any] = {
        "description": _DONE.get(status, "Done."),
        "headers": headers("X-Correlation-Id", *_answer_headers(route)),
    }
    if status != 204:
        done["content"] = {_JSON: {"schema": _result(route, bundle)}}
    found: dict[str, Json] = {str(status): done}
    if operation.writes and status != 200:
        found["200"] = {
            "description": "What would change: the answer to a `dry_run`.",
            "headers": headers("X-Correlation-Id"),
            "content": {_JSON: {"schema": bundle.add(returns(Preview))}},
        }
    for each in sorted({*_ALWAYS, *_particular(route)}):
        found[str(each)] = failure(each)
    if not operation.writes and _has_version(route):
        found["304"] = {"description": "It is the same still."}
    return dict(sorted(found.items()))


def _result(route: RestRoute, bundle: Bundle) -> Json:
    schema = bundle.add(returns(route.operation.returns))
    if not route.operation.writes or route.rest.status != 200:
        return schema
    return {"anyOf": [schema, bundle.add(returns(Preview))]}


def _answer_headers(route: RestRoute) -> list[str]:
    names = []
    if _has_version(route):
        names.append("ETag")
    if route.rest.location:
        names.append("Location")
    if route.operation.writes:
        names.append("Accord-Change-Id")
    return names


def _particular(route: RestRoute) -> set[int]:
    """The problems that not every operation has."""
    found = {400, 404}
    if route.takes_body:
        found |= {413, 415}
    if route.operation.writes:
        found.add(409)
    if any(each.name == EXPECTED_VERSION for each in route.operation.parameters) or _has_version(
        route
    ):
        found.add(412)
    return found


def _has_version(route: RestRoute) -> bool:
    return "version" in getattr(route.operation.returns, "__struct_fields__", ())
