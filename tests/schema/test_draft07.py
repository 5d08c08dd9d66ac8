"""2020-12 in the words of draft-07."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from accord.schema.draft07 import to_draft07

INTEGER = {"type": "integer"}
STRING = {"type": "string"}

CASES: list[tuple[Any, Any]] = [
    (True, {}),
    (False, {"not": {}}),
    ({"$schema": "x", "$id": "y", "$anchor": "z", "title": "It"}, {"title": "It"}),
    (
        {"$defs": {"A": True}, "$ref": "#/$defs/A"},
        {"definitions": {"A": {}}, "allOf": [{"$ref": "#/definitions/A"}]},
    ),
    ({"$ref": "#/$defs/A"}, {"$ref": "#/definitions/A"}),
    ({"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/A"}),
    (
        {"$ref": "#/x", "title": "It", "allOf": [INTEGER]},
        {"title": "It", "allOf": [{"$ref": "#/x"}, INTEGER]},
    ),
    ({"$dynamicRef": "#x"}, {}),
    # Arrays
    ({"type": "array"}, {"type": "array", "items": {}}),
    ({"type": ["array", "null"]}, {"type": ["array", "null"], "items": {}}),
    ({"maxItems": 3}, {"maxItems": 3, "items": {}}),
    ({"type": "array", "items": True}, {"type": "array", "items": {}}),
    ({"type": "array", "items": False}, {"type": "array", "items": {}, "maxItems": 0}),
    ({"type": "array", "items": INTEGER}, {"type": "array", "items": INTEGER}),
    ({"type": "string", "maxLength": 3}, {"type": "string", "maxLength": 3}),
    (
        {
            "type": "array",
            "prefixItems": [INTEGER, STRING],
            "items": False,
            "minItems": 2,
            "maxItems": 2,
        },
        {"type": "array", "items": {"anyOf": [INTEGER, STRING]}, "minItems": 2, "maxItems": 2},
    ),
    ({"prefixItems": [INTEGER, INTEGER], "items": False}, {"items": INTEGER, "maxItems": 2}),
    ({"prefixItems": [INTEGER], "items": STRING}, {"items": {"anyOf": [INTEGER, STRING]}}),
    ({"prefixItems": [INTEGER], "items": STRING, "maxItems": 1}, {"items": INTEGER, "maxItems": 1}),
    ({"prefixItems": [INTEGER]}, {"items": {}}),
    ({"prefixItems": [INTEGER, True], "items": False}, {"items": {}, "maxItems": 2}),
    ({"prefixItems": [INTEGER], "unevaluatedItems": False}, {"items": INTEGER, "maxItems": 1}),
    (
        {"prefixItems": [INTEGER], "unevaluatedItems": False, "contains": STRING},
        {"items": {}, "contains": STRING},
    ),
    ({"contains": INTEGER, "minContains": 0}, {}),
    ({"contains": INTEGER, "minContains": 2, "maxContains": 3}, {"contains": INTEGER}),
    # Objects
    ({"properties": {"a": True, "b": False}}, {"properties": {"a": {}, "b": {"not": {}}}}),
    ({"additionalProperties": False}, {"additionalProperties": False}),
    ({"unevaluatedProperties": False}, {"additionalProperties": False}),
    (
        {"unevaluatedProperties": False, "additionalProperties": INTEGER},
        {"additionalProperties": INTEGER},
    ),
    ({"unevaluatedProperties": False, "anyOf": [True]}, {"anyOf": [{}]}),
    ({"propertyNames": False}, {"propertyNames": {"not": {}}}),
    (
        {
            "dependentRequired": {"a": ["b"], "c": ["d"]},
            "dependentSchemas": {"a": INTEGER, "e": True},
        },
        {"dependencies": {"a": {"allOf": [{"required": ["b"]}, INTEGER]}, "c": ["d"], "e": {}}},
    ),
    # Words
    (
        {"const": {"$defs": 1}, "enum": [{"prefixItems": 1}]},
        {"const": {"$defs": 1}, "enum": [{"prefixItems": 1}]},
    ),
    ({"format": "date-time"}, {"format": "date-time"}),
    ({"format": "int64", "type": "integer"}, {**INTEGER, "x-format": "int64"}),
    ({"format": "uuid", "type": "string"}, {"type": "string", "format": "uuid"}),
    ({"format": "duration", "type": "string"}, {"type": "string", "format": "duration"}),
    (
        {"discriminator": {"propertyName": "x"}, "nullable": True, "ge": 1, "x-unit": "mm"},
        {"x-unit": "mm"},
    ),
    (
        {
            "deprecated": True,
            "readOnly": True,
            "examples": [1],
            "default": 1,
            "contentEncoding": "base64",
        },
        {
            "deprecated": True,
            "readOnly": True,
            "examples": [1],
            "default": 1,
            "contentEncoding": "base64",
        },
    ),
    (
        {"contentSchema": INTEGER, "contentMediaType": "application/json"},
        {"contentMediaType": "application/json"},
    ),
    (
        {"if": INTEGER, "then": False, "else": True},
        {"if": INTEGER, "then": {"not": {}}, "else": {}},
    ),
]


@pytest.mark.req("O-08")
@pytest.mark.parametrize(("modern", "old"), CASES, ids=lambda it: str(it)[:60])
def test_2020_12_becomes_draft_07(modern: Any, old: Any) -> None:
    before = copy.deepcopy(modern)
    assert to_draft07(modern) == old
    assert modern == before
    Draft7Validator.check_schema(to_draft07(modern))


NUMBERS = st.integers(0, 3)
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.booleans()
    | st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["array", "object", "integer", "string", ["array", "null"]]),
            "minItems": NUMBERS,
            "maxItems": NUMBERS,
            "minProperties": NUMBERS,
            "required": st.lists(st.sampled_from("ab"), max_size=1),
            "const": NUMBERS,
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["array", "object"]),
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "items": inner,
            "contains": inner,
            "minContains": NUMBERS,
            "maxContains": NUMBERS,
            "unevaluatedItems": inner,
            "unevaluatedProperties": inner,
            "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "additionalProperties": inner,
            "dependentRequired": st.fixed_dictionaries({}, optional={"a": st.just(["b"])}),
            "dependentSchemas": st.dictionaries(st.sampled_from("ab"), inner, max_size=1),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "if": inner,
            "then": inner,
            "maxItems": NUMBERS,
        },
    ),
    max_leaves=6,
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | NUMBERS | st.just("x"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.req("O-08")
@given(schema=SCHEMAS, value=VALUES)
def test_draft_07_is_never_stricter(schema: Any, value: Any) -> None:
    old = to_draft07(schema)
    Draft7Validator.check_schema(old)
    if Draft202012Validator(schema).is_valid(value):
        assert Draft7Validator(old).is_valid(value)
