"""The OpenAPI 3.1 document of a registry, made once as bytes.

Schemas come from the very types that arguments are read into and results are written from, so
that the document cannot promise anything else. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from accord.operations.faces.answers import encode
from accord.operations.faces.openapi_operation import describe
from accord.operations.faces.openapi_parts import problem_parts, security_schemes, session_paths
from accord.operations.faces.rest_head import Further
from accord.operations.faces.rest_route import RestRoute
from accord.operations.registry import Registry
from accord.schema.bundle import Bundle
from accord.schema.schema import Json

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
    """The document of the operations that are served below `root`."""
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
    """One for each verb and path."""
    for operation in registry:
        for rest in operation.rest:
            yield RestRoute(operation, rest, root)
