"""The OpenAPI 3.1 document of a registry, made once as bytes.

Schemas are made from the types with which arguments are decoded and results encoded, so the
document matches what the server does. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from accord.jsonrpc.methods.signature import Parameter
from accord.operations.adapters.errors import members
from accord.operations.adapters.rest_messages import TOO_LARGE, WRONG_TYPE, Further, encode
from accord.operations.adapters.rest_routes import (
    EXPECTED_VERSION,
    PARAMETERS,
    SIGN_IN,
    SIGN_OUT,
    RestRoute,
    takes_list,
)
from accord.operations.arguments import ArgumentSet
from accord.operations.auth.credentials import COOKIE
from accord.operations.auth.users import SignedIn
from accord.operations.errors import KINDS, Kind
from accord.operations.operation import Preview
from accord.operations.registry import IDEMPOTENCY_KEY, Registry
from accord.schema.bundle import Bundle
from accord.schema.schema import Json
from accord.schema.types import accepts, returns

PROBLEM: Final = "application/problem+json"
_STRING: Final = {"type": "string"}

_DETAILS: Final = {
    "malformed_request": "what was sent is not JSON",
    "validation_failed": "title: expected `str` of length >= 1",
    "unauthenticated": "a valid token is required",
    "insufficient_permissions": "create_epic needs a token with the scope 'write'",
    "not_found": "there is no EP-999",
    "conflict": "EP-001 has children",
    "version_mismatch": "EP-001 has the version 4, not 3",
    "rate_limited": "too many calls: try again in 2 s",
    "unavailable": "the database is not available at the moment",
    "internal_error": "The log has more under the correlation id 5bd2ff0e21f8b0a9c8d3e4f5a6b7c8d9",
    "content_too_large": "The body of the request is over the limit of 10,485,760 bytes",
    "unsupported_media_type": "Send the body as JSON in UTF-8, with content-type: application/json",
}
_HEADERS: Final = {
    "X-Correlation-Id": "Names this request in logs and in the audit trail.",
    "ETag": "The version, for If-Match, and a checksum, for If-None-Match.",
    "Location": "Where what was created is found.",
    "Accord-Change-Id": "By which the change can be undone.",
    "RateLimit": "What is left of the calls, and the seconds until all are there again.",
    "RateLimit-Policy": "How many calls there are in how many seconds.",
    "Retry-After": "Seconds after which to try again.",
    "WWW-Authenticate": "How to say who you are.",
}


def problem_parts() -> tuple[dict[str, Json], dict[str, Json], dict[str, Json]]:
    """Return the OpenAPI components for problems: responses, schemas and headers."""
    kinds: list[Kind] = [*KINDS.values(), TOO_LARGE, WRONG_TYPE]
    responses = {str(kind.status): _response(kind) for kind in kinds}
    responses["431"] = {
        "description": "The path, the query and the header fields are too long together",
        "content": {"text/plain": {"schema": _STRING}},
    }
    headers = {name: {"description": about, "schema": _STRING} for name, about in _HEADERS.items()}
    return dict(sorted(responses.items())), {"Problem": _problem()}, headers


def failure(status: int) -> Json:
    """Return a reference to the response component for problems with this HTTP status."""
    return {"$ref": f"#/components/responses/{status}"}


def headers(*names: str) -> Json:
    """Return references to the header components with these names."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def security_schemes() -> Json:
    return {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "A personal access token, or the token of a login session.",
        },
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": COOKIE,
            "description": "A login session; what changes something needs X-CSRF-Token too.",
        },
    }


def session_paths(bundle: Bundle) -> dict[str, dict[str, Json]]:
    """Return the paths for signing in and out."""
    body = bundle.add(accepts(ArgumentSet("SignIn", PARAMETERS).type))
    signed_in = bundle.add(returns(SignedIn))
    sign_in = {
        "operationId": "sign_in",
        "summary": "Sign in",
        "description": "Begin a login session: a token for programs, a cookie for pages.",
        "tags": ["sessions"],
        "security": [],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": body,
                    "example": {"username": "ada", "password": "correct horse battery staple"},
                }
            },
        },
        "responses": {
            "201": {
                "description": "The session has begun.",
                "headers": headers("Location", "X-Correlation-Id"),
                "content": {"application/json": {"schema": signed_in}},
            },
            **{str(each): failure(each) for each in (400, 401, 413, 415, 422, 429, 500, 503)},
        },
    }
    sign_out = {
        "operationId": "sign_out",
        "summary": "Sign out",
        "description": "End the login session that asks.",
        "tags": ["sessions"],
        "responses": {
            "204": {"description": "It has ended.", "headers": headers("X-Correlation-Id")},
            **{str(each): failure(each) for each in (401, 403, 404, 415, 422, 500, 503)},
        },
    }
    return {SIGN_IN: {"post": sign_in}, SIGN_OUT: {"delete": sign_out}}


def _response(kind: Kind) -> Json:
    example: dict[str, Any] = members(
        kind,
        _DETAILS[kind.code],
        instance="/api/v1/epics/EP-001",
        correlation_id="5bd2ff0e21f8b0a9c8d3e4f5a6b7c8d9",
    )
    names = ["X-Correlation-Id"]
    if kind.code == "validation_failed":
        example["errors"] = [{"pointer": "/title", "detail": "expected `str` of length >= 1"}]
    if kind.status in (429, 503):
        names.append("Retry-After")
    if kind.status in (401, 403):
        names.append("WWW-Authenticate")
    return {
        "description": kind.title,
        "headers": headers(*names),
        "content": {
            PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}
        },
    }


def _problem() -> Json:
    error = {
        "type": "object",
        "required": ["pointer", "detail"],
        "properties": {
            "pointer": {"type": "string", "description": "Where it is: a JSON pointer."},
            "detail": _STRING,
        },
    }
    return {
        "title": "Problem",
        "description": "What went wrong (RFC 9457); further members depend on the code.",
        "type": "object",
        "required": [
            *("type", "title", "status", "detail", "instance", "code", "correlation_id"),
        ],
        "properties": {
            "type": {"type": "string", "format": "uri"},
            "title": _STRING,
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": _STRING,
            "instance": {"type": "string", "format": "uri-reference"},
            "code": {"type": "string", "description": "What programs look at."},
            "correlation_id": _STRING,
            "errors": {"type": "array", "items": error},
        },
    }


_ALWAYS: Final = (401, 403, 422, 429, 431, 500, 503)
_DONE: Final = {200: "Done.", 201: "It was created.", 202: "It has begun.", 204: "It is gone."}
_JSON: Final = "application/json"


def describe(route: RestRoute, bundle: Bundle, tag: str) -> Json:
    """Return the OpenAPI operation object that describes a route.

    Schemas that several routes share are added to `bundle`.
    """
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
    """Return the operation's name as id; its second and later routes add a number."""
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
    """Return the OpenAPI request body of a route whose body is one parameter's value."""
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
    """Return the schema of a query parameter without null, which is never in a query."""
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
    """Return the HTTP statuses of a route's problems that not every route can have."""
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


OPENAPI: Final = "3.1.0"
SCHEMAS: Final = "#/components/schemas/"

_ABOUT: Final = """\
Every operation is also a method of JSON-RPC and, for most of them, a tool over MCP.

Lists are pages: `next_cursor` gives what comes next. Writes take `dry_run`, which only says what \
would change, and the header `Idempotency-Key`, with which a second call does nothing. Updates \
take `If-Match` with the `ETag` of what was read. Errors are problems (RFC 9457)."""


def openapi_document(
    registry: Registry,
    *,
    title: str,
    version: str,
    root: str,
    description: str = _ABOUT,
    further: Sequence[Further] = (),
) -> bytes:
    """Return the document of the operations below `root`."""
    bundle = Bundle(SCHEMAS, "2020-12", taken=("Problem",))
    responses, schemas, headers = problem_parts()
    paths: dict[str, dict[str, Json]] = {}
    tags: dict[str, None] = {}
    for route in _routes(registry, root):
        tag = route.operation.tag or "other"
        tags[tag] = None
        item = paths.setdefault(route.rest.path, {})
        item[route.rest.verb.lower()] = describe(route, bundle, tag)
    for each in further:
        paths.setdefault(each.path, {})[each.verb.lower()] = each.described
    tags["sessions"] = None
    for path, item in session_paths(bundle).items():
        paths.setdefault(path, {}).update(item)
    document: dict[str, Any] = {
        "openapi": OPENAPI,
        "info": {"title": title, "version": version, "description": description},
        "servers": [{"url": root or "/"}],
        "security": [{"token": []}, {"session": []}],
        "tags": [{"name": name} for name in sorted(tags)],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted({**bundle.definitions, **schemas}.items())),
            "responses": responses,
            "headers": headers,
            "securitySchemes": security_schemes(),
        },
    }
    return encode(document)


def _routes(registry: Registry, root: str) -> Iterable[RestRoute]:
    """Yield the routes of all operations, one for each verb and path."""
    for operation in registry:
        for rest in operation.rest:
            yield RestRoute(operation, rest, root)
