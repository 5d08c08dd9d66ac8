"""What the parts of an OpenAPI document share: problems, headers, security, sessions. Pure."""

from __future__ import annotations

from typing import Any, Final

from accord.operations.accounts.credentials import COOKIE
from accord.operations.accounts.entities import SignedIn
from accord.operations.arguments import Part
from accord.operations.errors import KINDS, Kind
from accord.operations.faces.answers import TOO_LARGE, WRONG_TYPE
from accord.operations.faces.mapping import members
from accord.operations.faces.sessions import PARAMETERS, SIGN_IN, SIGN_OUT
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
    """The responses, schemas and headers of problems."""
    kinds: list[Kind] = [*KINDS.values(), TOO_LARGE, WRONG_TYPE]
    responses = {str(kind.status): _response(kind) for kind in kinds}
    responses["431"] = {
        "description": "The path, the query and the header fields are too long together",
        "content": {"text/plain": {"schema": _STRING}},
    }
    headers = {name: {"description": about, "schema": _STRING} for name, about in _HEADERS.items()}
    return dict(sorted(responses.items())), {"Problem": _problem()}, headers


def failure(status: int) -> Json:
    """A reference to the response of a problem."""
    return {"$ref": f"#/components/responses/{status}"}


def headers(*names: str) -> Json:
    """References to headers."""
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
    """Signing in and out."""
    body = bundle.add(accepts(Part("SignIn", PARAMETERS).type))
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
