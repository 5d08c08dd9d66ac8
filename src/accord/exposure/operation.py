"""One operation of an OpenAPI document, read: what it takes and what it answers.

Its parameters still have the names of the wire, and may share them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct

from accord.exposure.declared_body import NO_BODY, Body, is_json, read_body
from accord.exposure.marks import NO_MARK, Mark, check_name
from accord.exposure.openapi import (
    Document,
    Entry,
    expect_array,
    expect_object,
    expect_text,
    shown,
    wrong,
)
from accord.exposure.route import Location, RouteParameter, RouteResponse
from accord.exposure.security import NO_SECURITY, Security, read_security
from accord.schema.schema import ANYTHING, Schema

NOT_ARGUMENTS = frozenset(
    {
        "accept",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that no argument is made of. OpenAPI 3.1, section 4.8.12.1: definitions of Accept,
Content-Type and Authorization shall be ignored; the others belong to the connection."""

_STYLES: dict[Location, tuple[str, ...]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
"""OpenAPI 3.1, section 4.8.12.3; the first of each is the default."""

_RANGE = re.compile(r"[1-5]XX", re.IGNORECASE)


class Operation(Struct, frozen=True, kw_only=True):
    """What an operation says."""

    method: str
    path: str
    parameters: tuple[RouteParameter, ...] = ()
    """All but the body, with the names of the wire."""
    body: Body = NO_BODY
    responses: tuple[RouteResponse, ...] = ()
    operation_id: str = ""
    mark: Mark = NO_MARK
    security: Security = NO_SECURITY
    tags: tuple[str, ...] = ()
    summary: str = ""
    description: str = ""
    deprecated: bool = False


def read_operation(document: Document, entry: Entry) -> Operation:
    """What `entry` of the document says. Raises `RegistrationError` where it makes no sense."""
    said, place = entry.operation, entry.place
    tags = expect_array(said.get("tags", []), f"{place}.tags")
    return Operation(
        method=entry.method,
        path=entry.path,
        parameters=_parameters(document, entry),
        body=(
            read_body(document, said["requestBody"], f"{place}.requestBody")
            if "requestBody" in said
            else NO_BODY
        ),
        responses=_responses(document, said.get("responses", {}), f"{place}.responses"),
        operation_id=expect_text(said.get("operationId", ""), f"{place}.operationId"),
        mark=_mark(said, place),
        security=read_security(document, said, place),
        tags=tuple(expect_text(tag, f"{place}.tags") for tag in tags),
        summary=expect_text(said.get("summary", ""), f"{place}.summary"),
        description=expect_text(said.get("description", ""), f"{place}.description"),
        deprecated=said.get("deprecated") is True,
    )


def _mark(said: Mapping[str, Any], place: str) -> Mark:
    name = said.get("x-rpc-name", "")
    if "x-rpc-name" in said:
        check_name(name, f"{place}.x-rpc-name")
    return Mark(name=name, hidden=said.get("x-rpc-hidden") is True)


def _parameters(document: Document, entry: Entry) -> tuple[RouteParameter, ...]:
    """Those of the path, then those of the operation, which may stand in for the former."""
    own = expect_array(entry.operation.get("parameters", []), f"{entry.place}.parameters")
    found: dict[tuple[str, str], RouteParameter] = {}
    for number, value in enumerate([*entry.shared, *own]):
        parameter = _parameter(document, value, f"{entry.place}.parameters[{number}]")
        if parameter.location == "path" and f"{{{parameter.wire_name}}}" not in entry.path:
            raise wrong(entry.place, f"its path has no parameter {shown(parameter.wire_name)}")
        if parameter.location != "header" or parameter.wire_name.lower() not in NOT_ARGUMENTS:
            found[parameter.location, parameter.wire_name] = parameter
    return tuple(found.values())


def _parameter(document: Document, value: Any, place: str) -> RouteParameter:
    said = document.resolve(value, place)
    name = expect_text(said.get("name"), f"{place}.name")
    location: Any = said.get("in")
    if not isinstance(location, str) or location not in _STYLES:
        raise wrong(place, f"'in' is one of {', '.join(_STYLES)}, not {shown(location)}")
    schema, style = _schema(document, said, place)
    style = style or _style(said, location, place)
    return RouteParameter(
        name=name,
        wire_name=name,
        location=location,
        schema=schema,
        required=location == "path" or said.get("required") is True,
        default=_default(said),
        description=expect_text(said.get("description", ""), f"{place}.description"),
        deprecated=said.get("deprecated") is True,
        style=style,
        explode=said.get("explode", _is_apart(document, location, style)) is True,
    )


def _schema(document: Document, said: Mapping[str, Any], place: str) -> tuple[Schema, str]:
    """The schema, and the style `json` where the value goes as JSON text."""
    if "schema" in said:
        return document.schema(said["schema"], f"{place}.schema"), ""
    for media_type, value in expect_object(said.get("content", {}), f"{place}.content").items():
        here = f"{place}.content.{media_type}"
        schema = expect_object(value, here).get("schema", {})
        return document.schema(schema, here), "json" if is_json(media_type) else ""
    return ANYTHING, ""


def _style(said: Mapping[str, Any], location: Location, place: str) -> str:
    allowed = _STYLES[location]
    style = expect_text(said.get("style", allowed[0]), f"{place}.style")
    if style not in allowed:
        raise wrong(place, f"style {shown(style)} is not for the {location}: {', '.join(allowed)}")
    return style


def _is_apart(document: Document, location: Location, style: str) -> bool:
    return style == "form" or (location == "header" and document.header_lines)


def _default(said: Mapping[str, Any]) -> Any:
    schema = said.get("schema")
    return schema.get("default", UNSET) if isinstance(schema, Mapping) else UNSET


def _responses(document: Document, value: Any, place: str) -> tuple[RouteResponse, ...]:
    responses = expect_object(value, place)
    return tuple(
        _response(document, code, said, f"{place}.{code}")
        for code, said in responses.items()
        if not code.startswith("x-")
    )


def _response(document: Document, code: str, value: Any, place: str) -> RouteResponse:
    said = document.resolve(value, place)
    content = expect_object(said.get("content", {}), f"{place}.content")
    media_type = min(content, key=lambda each: not is_json(each), default="")
    schema = None
    if media_type and is_json(media_type):
        inside = expect_object(content[media_type], f"{place}.content.{media_type}")
        schema = document.schema(inside.get("schema", {}), f"{place}.content.{media_type}.schema")
    description = expect_text(said.get("description", ""), f"{place}.description")
    return RouteResponse(_status(code, place), description, schema, media_type)


def _status(code: str, place: str) -> int | None:
    """The status, the first of a range of them such as `2XX`, or None for all others."""
    if code == "default":
        return None
    if _RANGE.fullmatch(code):
        return int(code[0]) * 100
    if not (code.isascii() and code.isdigit() and len(code) == 3):
        raise wrong(place, "a response is for a status, a range such as 2XX, or 'default'")
    return int(code)
