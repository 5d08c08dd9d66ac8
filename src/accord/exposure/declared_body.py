"""The body of a request as an OpenAPI document describes it: its form, and its members.

A body that is a plain object gives a parameter per member; any other is one parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct

from accord.exposure.openapi import (
    MOST_REFERENCES,
    Document,
    expect_array,
    expect_object,
    expect_text,
)
from accord.exposure.route import BodyForm, RouteParameter
from accord.schema.schema import ANYTHING

WHOLE = "body"
"""What the parameter is called that is all of the body."""

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
"""What an object may say and still be no more than its members. Whatever else there is, such as
`additionalProperties` or `anyOf`, says something about the whole, and keeps it together."""


class Body(Struct, frozen=True, kw_only=True):
    """What a route takes as its body."""

    form: BodyForm = "none"
    required: bool = False
    media_type: str = ""
    """Empty where the document leaves it open, as `image/*` does."""
    members: tuple[RouteParameter, ...] = ()
    """By their own names; empty where the body is one value."""
    whole: RouteParameter | None = None
    """All of it as one parameter."""

    @property
    def flat(self) -> tuple[RouteParameter, ...]:
        """The members, or where there are none the whole."""
        return self.members or (() if self.whole is None else (self.whole,))


NO_BODY = Body()


def read_body(document: Document, value: Any, place: str) -> Body:
    """What the request body at `place` takes."""
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
    """Whether what has this media type is JSON."""
    plain = media_type.partition(";")[0].strip().lower()
    return plain in ("application/json", "*/*", "application/*") or plain.endswith("+json")


def _choose(content: Mapping[str, Any]) -> tuple[str, BodyForm]:
    """The media type that is easiest to write, and the form that it asks for."""
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
    said = value if isinstance(value, Mapping) else {}
    return RouteParameter(
        name=name,
        wire_name=name,
        location="body",
        schema=document.schema(value, place),
        required=required,
        default=said.get("default", UNSET),
        description=expect_text(said.get("description", ""), f"{place}.description"),
        deprecated=said.get("deprecated") is True,
    )


def _plain_object(document: Document, value: Any, place: str) -> Mapping[str, Any] | None:
    """The object with properties that `value` is, directly or by reference; else None."""
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
