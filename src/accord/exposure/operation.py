"""One operation of an OpenAPI document: parameters, body and responses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct

from accord.exposure.openapi import (
    MOST_REFERENCES,
    NO_SECURITY,
    Document,
    Entry,
    Security,
    expect_array,
    expect_object,
    expect_text,
    read_security,
    shown,
    wrong,
)
from accord.exposure.routes import (
    NO_MARK,
    BodyForm,
    Location,
    Mark,
    RouteParameter,
    RouteResponse,
    check_name,
)
from accord.schema.schema import ANYTHING, Schema

WHOLE = "body"
"""The name of the parameter that takes the whole body of a request."""

_PLAIN = frozenset(
    {
        "type",
        "properties",
        "required",
        "title",
        "description",
        "deprecated",
        "example",
        "examples",
        "externalDocs",
        "xml",
    }
)
"""The keywords that an object schema may have if its members are to become separate parameters.
Other keywords, such as `additionalProperties` or `anyOf`, constrain the whole object, and keep it
in one parameter."""


class Body(Struct, frozen=True, kw_only=True):
    """The request body of a route."""

    form: BodyForm = "none"
    required: bool = False
    media_type: str = ""
    """The media type; empty if the document leaves it open, as `image/*` does."""
    members: tuple[RouteParameter, ...] = ()
    """The members of the body as parameters; empty if the body is one value."""
    whole: RouteParameter | None = None
    """The whole body as one parameter."""

    @property
    def flat(self) -> tuple[RouteParameter, ...]:
        """The members as parameters, or the whole body as one parameter."""
        return self.members or (() if self.whole is None else (self.whole,))


NO_BODY = Body()


def read_body(document: Document, value: Any, place: str) -> Body:
    """Return the request body that `value`, at `place` in the document, describes."""
    body = document.resolve(value, place)
    content = expect_object(body.get("content", {}), f"{place}.content")
    if not content:
        return NO_BODY
    media_type, form = _choose(content)
    here = f"{place}.content.{media_type}"
    schema = expect_object(content[media_type], here).get("schema")
    required = body.get("required") is True
    whole = RouteParameter(
        name=WHOLE,
        wire_name="",
        location="body",
        schema=ANYTHING if schema is None else document.schema(schema, f"{here}.schema"),
        required=required,
        description=expect_text(body.get("description", ""), f"{place}.description"),
    )
    members: tuple[RouteParameter, ...] = ()
    if schema is not None and form in ("json", "form", "multipart"):
        members = _members(document, schema, f"{here}.schema", required=required)
    exact = "" if "*" in media_type else media_type
    return Body(form=form, required=required, media_type=exact, members=members, whole=whole)


def is_json(media_type: str) -> bool:
    """Return whether content of the media type may be JSON."""
    plain = media_type.partition(";")[0].strip().lower()
    return plain in ("application/json", "*/*", "application/*") or plain.endswith("+json")


def _choose(content: Mapping[str, Any]) -> tuple[str, BodyForm]:
    """Return the media type that is easiest to write, and the form of its body."""
    forms = {media_type: _form(media_type) for media_type in content}
    order: tuple[BodyForm, ...] = ("json", "form", "multipart", "text", "binary")
    media_type = min(forms, key=lambda each: order.index(forms[each]))
    return media_type, forms[media_type]


def _form(media_type: str) -> BodyForm:
    plain = media_type.partition(";")[0].strip().lower()
    if is_json(media_type):
        return "json"
    if plain == "application/x-www-form-urlencoded":
        return "form"
    if plain.startswith("multipart/"):
        return "multipart"
    return "text" if plain.startswith("text/") else "binary"


def _members(
    document: Document, value: Any, place: str, *, required: bool
) -> tuple[RouteParameter, ...]:
    plain = _plain_object(document, value, place)
    if plain is None:
        return ()
    properties = expect_object(plain["properties"], f"{place}.properties")
    needed = expect_array(plain.get("required", []), f"{place}.required") if required else []
    return tuple(
        _member(document, name, schema, f"{place}.properties.{name}", required=name in needed)
        for name, schema in properties.items()
        if not (isinstance(schema, Mapping) and schema.get("readOnly") is True)
    )


def _member(
    document: Document, name: str, value: Any, place: str, *, required: bool
) -> RouteParameter:
    source = value if isinstance(value, Mapping) else {}
    return RouteParameter(
        name=name,
        wire_name=name,
        location="body",
        schema=document.schema(value, place),
        required=required,
        default=source.get("default", UNSET),
        description=expect_text(source.get("description", ""), f"{place}.description"),
        deprecated=source.get("deprecated") is True,
    )


def _plain_object(document: Document, value: Any, place: str) -> Mapping[str, Any] | None:
    """Return the object schema in `value` if it only defines members; None otherwise.

    References, and an `allOf` of one schema, are followed.
    """
    for _ in range(MOST_REFERENCES):
        if not isinstance(value, Mapping):
            return None
        around = value.get("allOf")
        if "$ref" in value and _says_no_more(value, "$ref"):
            value = document.resolve({"$ref": value["$ref"]}, place)
        elif isinstance(around, list) and len(around) == 1 and _says_no_more(value, "allOf"):
            value = around[0]
        elif value.get("type", "object") != "object" or not value.get("properties"):
            return None
        else:
            return value if all(_is_plain(*each) for each in value.items()) else None
    return None


def _says_no_more(value: Mapping[str, Any], keyword: str) -> bool:
    others = (key for key in value if key != keyword)
    return all(key in ("title", "description", "deprecated") for key in others)


def _is_plain(keyword: str, value: Any) -> bool:
    if keyword == "additionalProperties":
        return value is False
    if keyword == "nullable":
        return value is False
    return keyword in _PLAIN or keyword.startswith("x-")


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
"""Headers that do not become parameters. OpenAPI 3.1, section 4.8.12.1: definitions of Accept,
Content-Type and Authorization shall be ignored; the others belong to the connection."""

_STYLES: dict[Location, tuple[str, ...]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
"""The styles for each location (OpenAPI 3.1, section 4.8.12.3); the first is the default."""

_RANGE = re.compile(r"[1-5]XX", re.IGNORECASE)


class Operation(Struct, frozen=True, kw_only=True):
    """One operation of an OpenAPI document."""

    method: str
    path: str
    parameters: tuple[RouteParameter, ...] = ()
    """All parameters except the body, with their names in the HTTP request."""
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
    """Return the operation of `entry`.

    Raises `RegistrationError` if the operation is invalid.
    """
    source, place = entry.operation, entry.place
    tags = expect_array(source.get("tags", []), f"{place}.tags")
    return Operation(
        method=entry.method,
        path=entry.path,
        parameters=_parameters(document, entry),
        body=(
            read_body(document, source["requestBody"], f"{place}.requestBody")
            if "requestBody" in source
            else NO_BODY
        ),
        responses=_responses(document, source.get("responses", {}), f"{place}.responses"),
        operation_id=expect_text(source.get("operationId", ""), f"{place}.operationId"),
        mark=_mark(source, place),
        security=read_security(document, source, place),
        tags=tuple(expect_text(tag, f"{place}.tags") for tag in tags),
        summary=expect_text(source.get("summary", ""), f"{place}.summary"),
        description=expect_text(source.get("description", ""), f"{place}.description"),
        deprecated=source.get("deprecated") is True,
    )


def _mark(source: Mapping[str, Any], place: str) -> Mark:
    name = source.get("x-rpc-name", "")
    if "x-rpc-name" in source:
        check_name(name, f"{place}.x-rpc-name")
    return Mark(name=name, hidden=source.get("x-rpc-hidden") is True)


def _parameters(document: Document, entry: Entry) -> tuple[RouteParameter, ...]:
    """Return the parameters of the operation and its path.

    A parameter of the operation overrides the path's parameter of the same name.
    """
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
    source = document.resolve(value, place)
    name = expect_text(source.get("name"), f"{place}.name")
    location: Any = source.get("in")
    if not isinstance(location, str) or location not in _STYLES:
        raise wrong(place, f"'in' is one of {', '.join(_STYLES)}, not {shown(location)}")
    schema, style = _schema(document, source, place)
    style = style or _style(source, location, place)
    return RouteParameter(
        name=name,
        wire_name=name,
        location=location,
        schema=schema,
        required=location == "path" or source.get("required") is True,
        default=_default(source),
        description=expect_text(source.get("description", ""), f"{place}.description"),
        deprecated=source.get("deprecated") is True,
        style=style,
        explode=source.get("explode", _is_apart(document, location, style)) is True,
    )


def _schema(document: Document, source: Mapping[str, Any], place: str) -> tuple[Schema, str]:
    """Return the schema of a parameter, and its style.

    The style is `json` if the value is sent as JSON text, and empty otherwise.
    """
    if "schema" in source:
        return document.schema(source["schema"], f"{place}.schema"), ""
    for media_type, value in expect_object(source.get("content", {}), f"{place}.content").items():
        here = f"{place}.content.{media_type}"
        schema = expect_object(value, here).get("schema", {})
        return document.schema(schema, here), "json" if is_json(media_type) else ""
    return ANYTHING, ""


def _style(source: Mapping[str, Any], location: Location, place: str) -> str:
    allowed = _STYLES[location]
    style = expect_text(source.get("style", allowed[0]), f"{place}.style")
    if style not in allowed:
        raise wrong(place, f"style {shown(style)} is not for the {location}: {', '.join(allowed)}")
    return style


def _is_apart(document: Document, location: Location, style: str) -> bool:
    return style == "form" or (location == "header" and document.header_lines)


def _default(source: Mapping[str, Any]) -> Any:
    schema = source.get("schema")
    return schema.get("default", UNSET) if isinstance(schema, Mapping) else UNSET


def _responses(document: Document, value: Any, place: str) -> tuple[RouteResponse, ...]:
    responses = expect_object(value, place)
    return tuple(
        _response(document, code, source, f"{place}.{code}")
        for code, source in responses.items()
        if not code.startswith("x-")
    )


def _response(document: Document, code: str, value: Any, place: str) -> RouteResponse:
    source = document.resolve(value, place)
    content = expect_object(source.get("content", {}), f"{place}.content")
    media_type = min(content, key=lambda each: not is_json(each), default="")
    schema = None
    if media_type and is_json(media_type):
        inside = expect_object(content[media_type], f"{place}.content.{media_type}")
        schema = document.schema(inside.get("schema", {}), f"{place}.content.{media_type}.schema")
    description = expect_text(source.get("description", ""), f"{place}.description")
    return RouteResponse(_status(code, place), description, schema, media_type)


def _status(code: str, place: str) -> int | None:
    """Return the status for a key of `responses`.

    It is the lowest status of a range such as `2XX`, and None for `default`.
    """
    if code == "default":
        return None
    if _RANGE.fullmatch(code):
        return int(code[0]) * 100
    if not (code.isascii() and code.isdigit() and len(code) == 3):
        raise wrong(place, "a response is for a status, a range such as 2XX, or 'default'")
    return int(code)
