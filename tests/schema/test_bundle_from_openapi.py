"""Schema objects of OpenAPI as JSON Schema."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from accord.schema.bundle import MAX_DEPTH, MAX_PARTS, SchemaTooLargeError, from_openapi

USER = {"$ref": "#/components/schemas/User"}
OWN_USER = {"$ref": "#/$defs/User"}

BOTH: list[tuple[Any, Any]] = [
    ({"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 1}),
    (USER, OWN_USER),
    ({"$ref": "#/components/schemas/A~1b%20c"}, {"$ref": "#/$defs/A~1b%20c"}),
    ({"$ref": "#/components/schemas/User/properties/id"}, {"$ref": "#/$defs/User/properties/id"}),
    ({"$ref": "https://example.com/user.json"}, {}),
    ({"$ref": "#/components/parameters/User"}, {}),
    ({"$ref": ["no", "text"]}, {}),
    ({"type": "array", "items": USER}, {"type": "array", "items": OWN_USER}),
    ({"anyOf": [USER, {"type": "null"}]}, {"anyOf": [OWN_USER, {"type": "null"}]}),
    ({"properties": {"$ref": USER}}, {"properties": {"$ref": OWN_USER}}),
    ({"additionalProperties": False}, {"additionalProperties": False}),
    ({"example": 3}, {"examples": [3]}),
    (
        {
            "oneOf": [USER],
            "discriminator": {"propertyName": "kind"},
            "xml": {},
            "externalDocs": {"url": "x"},
        },
        {"oneOf": [OWN_USER]},
    ),
    (
        {"type": "string", "readOnly": True, "writeOnly": False},
        {"type": "string", "readOnly": True, "writeOnly": False},
    ),
    (
        {"type": "string", "format": "binary", "x-own": 1},
        {"type": "string", "format": "binary", "x-own": 1},
    ),
    ("no schema", {}),
    (None, {}),
    (
        {"items": "no schema", "properties": ["no"], "anyOf": "no"},
        {"items": {}, "properties": ["no"], "anyOf": "no"},
    ),
]


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
@pytest.mark.parametrize(("value", "schema"), BOTH, ids=lambda it: str(it)[:60])
def test_schema_object_of_any_version(version: str, value: Any, schema: Any) -> None:
    before = copy.deepcopy(value)
    assert from_openapi(value, version) == schema
    assert value == before


OLD: list[tuple[Any, Any]] = [
    ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
    ({"type": "string", "nullable": False}, {"type": "string"}),
    ({"nullable": True}, {}),
    (
        {"type": "string", "nullable": True, "enum": ["a"]},
        {"type": ["string", "null"], "enum": ["a", None]},
    ),
    (
        {"type": "string", "nullable": True, "enum": ["a", None]},
        {"type": ["string", "null"], "enum": ["a", None]},
    ),
    ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
    ({"maximum": 1, "exclusiveMaximum": False}, {"maximum": 1}),
    ({"exclusiveMinimum": True}, {}),
    ({"exclusiveMinimum": 3}, {"exclusiveMinimum": 3}),
    ({**USER, "description": "ignored"}, OWN_USER),
    ({"type": "string", "format": "byte"}, {"type": "string", "contentEncoding": "base64"}),
    (True, {}),
    (
        {"allOf": [USER], "nullable": True, "type": "object"},
        {"anyOf": [{"allOf": [OWN_USER], "type": "object"}, {"type": "null"}]},
    ),
    ({"allOf": [USER], "nullable": True}, {"anyOf": [{"allOf": [OWN_USER]}, {"type": "null"}]}),
]


@pytest.mark.parametrize(("value", "schema"), OLD, ids=lambda it: str(it)[:60])
def test_schema_object_of_3_0(value: Any, schema: Any) -> None:
    assert from_openapi(value, "3.0.3") == schema


NEW: list[tuple[Any, Any]] = [
    (True, True),
    (False, False),
    (
        {"type": ["string", "null"], "exclusiveMinimum": 1},
        {"type": ["string", "null"], "exclusiveMinimum": 1},
    ),
    ({**USER, "description": "It"}, {**OWN_USER, "description": "It"}),
    ({"example": 1, "examples": [2]}, {"examples": [2]}),
    ({"$schema": "x", "$id": "y", "$dynamicRef": "#z", "title": "It"}, {"title": "It"}),
    ({"prefixItems": [USER], "items": False}, {"prefixItems": [OWN_USER], "items": False}),
    ({"$defs": {"A": USER}}, {"$defs": {"A": OWN_USER}}),
]


@pytest.mark.parametrize(("value", "schema"), NEW, ids=lambda it: str(it)[:60])
def test_schema_object_of_3_1(value: Any, schema: Any) -> None:
    assert from_openapi(value, "3.1.0") == schema


def test_depth_is_limited() -> None:
    value: Any = {"type": "integer"}
    for _ in range(10_000):
        value = {"items": value}
    schema = from_openapi(value, "3.1.0")
    depth = 0
    while schema:
        schema, depth = schema["items"], depth + 1
    assert depth == MAX_DEPTH + 1


def test_schema_that_contains_itself_is_cut_off() -> None:
    value: Any = {"type": "object"}
    value["properties"] = {"self": value}
    assert from_openapi(value, "3.1.0")["properties"]["self"]["type"] == "object"


def test_schema_that_doubles_at_every_level_is_refused() -> None:
    value: Any = {"type": "integer"}
    for _ in range(50):
        value = {"anyOf": [value, value]}
    with pytest.raises(SchemaTooLargeError, match=f"{MAX_PARTS:,} parts"):
        from_openapi(value, "3.1.0")


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["object", "string", "a", "#/components/schemas/A"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "type nullable enum $ref items properties anyOf allOf not example format exclusiveMinimum minimum".split()  # noqa: SIM905
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(value=JSON, version=st.sampled_from(["3.0.0", "3.1.0", "2.0", ""]))
def test_whatever_stands_in_the_document_is_read(value: Any, version: str) -> None:
    before = copy.deepcopy(value)
    schema = from_openapi(value, version)
    assert isinstance(schema, dict | bool)
    assert value == before


@pytest.mark.parametrize(
    "value", [value for value, _ in [*BOTH[:-1], *OLD]], ids=lambda it: str(it)[:60]
)
def test_what_was_a_schema_stays_one(value: Any) -> None:
    Draft202012Validator.check_schema(from_openapi(value, "3.0.3"))
