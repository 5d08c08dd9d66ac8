"""Forms: from types and schemas to what each version's clients are shown, and back."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Annotated, Any, Literal, TypedDict

import pytest
from msgspec import Meta, Struct
from pydantic import BaseModel, Field

from accord.jsonrpc.protocol.errors import RegistrationError
from accord.mcp.server.input_requests.forms import Form, form_of, problem_with
from tests.mcp.schemas import validate


class Color(Enum):
    BRIGHT_RED = "#f00"
    GREEN = "#0f0"


class Level(StrEnum):
    low = "low"
    high = "high"


class Everything(Struct):
    name: Annotated[str, Meta(title="Name", description="Yours", min_length=2, max_length=9)]
    day: datetime.date
    at: datetime.datetime | None = None
    age: Annotated[int, Meta(ge=1, le=120)] = 18
    score: float = 0.5
    sure: bool = False
    color: Color = Color.GREEN
    level: Level = Level.low
    kind: Literal["a", "b"] = "a"
    colors: Annotated[list[Color], Meta(min_length=1, max_length=2)] = []
    kinds: list[Literal["a", "b"]] = []
    note: str | None = None


NEW = {
    "type": "object",
    "properties": {
        "name": {
            "type": "string",
            "title": "Name",
            "description": "Yours",
            "minLength": 2,
            "maxLength": 9,
        },
        "day": {"type": "string", "format": "date"},
        "at": {"type": "string", "format": "date-time"},
        "age": {"type": "integer", "minimum": 1, "maximum": 120, "default": 18},
        "score": {"type": "number", "default": 0.5},
        "sure": {"type": "boolean", "default": False},
        "color": {
            "type": "string",
            "default": "#0f0",
            "oneOf": [
                {"const": "#f00", "title": "Bright red"},
                {"const": "#0f0", "title": "Green"},
            ],
        },
        "level": {"type": "string", "default": "low", "enum": ["low", "high"]},
        "kind": {"type": "string", "default": "a", "enum": ["a", "b"]},
        "colors": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "default": [],
            "items": {
                "anyOf": [
                    {"const": "#f00", "title": "Bright red"},
                    {"const": "#0f0", "title": "Green"},
                ]
            },
        },
        "kinds": {
            "type": "array",
            "default": [],
            "items": {"type": "string", "enum": ["a", "b"]},
        },
        "note": {"type": "string"},
    },
    "required": ["name", "day"],
}


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_a_type_becomes_a_form_with_titles_and_defaults(version: str) -> None:
    assert Form(Everything).schema_in(version) == NEW
    params = {"message": "?", "requestedSchema": NEW}
    validate(params, version, "ElicitRequestFormParams")


class Older(Struct):
    age: int = 18
    sure: bool = True
    color: Color = Color.GREEN


def test_an_older_version_sees_older_forms() -> None:
    assert Form(Older).schema_in("2025-06-18") == {
        "type": "object",
        "properties": {
            "age": {"type": "integer"},
            "sure": {"type": "boolean", "default": True},
            "color": {
                "type": "string",
                "enum": ["#f00", "#0f0"],
                "enumNames": ["Bright red", "Green"],
            },
        },
    }
    assert (Form(Older).since, Form(Everything).since) == ("", "2025-11-25")


@dataclass
class Data:
    n: int
    color: Color = Color.GREEN


class Typed(TypedDict, total=False):
    q: str


class Model(BaseModel):
    x: int = Field(3, ge=1, title="X")
    color: Color
    note: str | None = None


@pytest.mark.parametrize(
    ("asked", "content", "read"),
    [
        (str, {"value": "a"}, "a"),
        (int, {"value": 3}, 3),
        (bool, {"value": True}, True),
        (Color, {"value": "#f00"}, Color.BRIGHT_RED),
        (list[Color], {"value": ["#f00"]}, [Color.BRIGHT_RED]),
        (datetime.date, {"value": "2026-07-28"}, datetime.date(2026, 7, 28)),
        (Data, {"n": 1}, Data(1)),
        (Typed, {"q": "?"}, {"q": "?"}),
        (Model, {"x": 2, "color": "#0f0"}, Model(x=2, color=Color.GREEN)),
        (None, {}, None),
        (
            {"type": "object", "properties": {"a": {"type": "integer"}}},
            {"a": 1, "more": 2},
            {"a": 1, "more": 2},
        ),
    ],
)
def test_what_was_filled_in_is_read_as_what_was_asked_for(
    asked: Any, content: dict[str, Any], read: Any
) -> None:
    form = form_of(asked)
    assert problem_with(content, form.schema) == ""
    assert form.read(content) == read


class Nested(Struct):
    data: Data


class Numbers(Struct):
    choice: Literal[1, 2]


class Texts(Struct):
    texts: list[str]


@pytest.mark.parametrize(
    "asked",
    [
        Nested,
        Numbers,
        Texts,
        dict[str, int],
        {"type": "string"},
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "object"}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}},
        {"type": "object", "properties": {"a": 1}},
    ],
)
def test_what_is_not_flat_and_simple_is_no_form(asked: Any) -> None:
    with pytest.raises(RegistrationError):
        form_of(asked)


CHOICES: dict[str, Any] = {
    "type": "array",
    "items": {"type": "string", "enum": ["a", "b", "c"]},
    "minItems": 1,
    "maxItems": 2,
}


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ({"type": "string"}, 1, "a string"),
        ({"type": "string", "minLength": 2}, "a", "2 or more characters long"),
        ({"type": "string", "maxLength": 2}, "abc", "at most 2 characters long"),
        ({"type": "string", "pattern": "^a$"}, "b", "in the form that was asked for"),
        ({"type": "string", "enum": ["a"]}, "b", "one of the choices"),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, "A", "one of the choices"),
        ({"type": "integer"}, 1.5, "an integer"),
        ({"type": "integer"}, True, "an integer"),
        ({"type": "number", "minimum": 2}, 1, "2 or more"),
        ({"type": "number", "maximum": 2}, 3, "2 or less"),
        ({"type": "boolean"}, 1, "true or false"),
        (CHOICES, "a", "a list"),
        (CHOICES, [], "1 or more of the choices"),
        (CHOICES, ["d"], "a list of the choices"),
        (CHOICES, ["a", "b", "c"], "at most 2 of the choices"),
        ({"type": "integer"}, 2.0, ""),
        ({"type": "string", "pattern": "a", "minLength": 1, "maxLength": 3}, "xa", ""),
        (CHOICES, ["a", "b"], ""),
    ],
)
def test_contents_are_checked_against_their_schema(
    field: dict[str, Any], value: Any, problem: str
) -> None:
    schema = {"type": "object", "properties": {"f": field}, "required": ["f"]}
    assert problem_with({"f": value}, schema) == (problem and f"field 'f' must be {problem}")
    assert problem_with({}, schema) == "field 'f' is missing"
