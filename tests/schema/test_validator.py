"""Values checked by schemas, compared with a complete validator of others."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given, strategies as st

from accord.schema.validator import JsonSchema, TooComplexError

VALUES: list[Any] = [
    *(None, True, False, 0, 1, 1.0, -2, 2.5, 7, 1e300, "", "a", "abc", "ü"),
    *([], [1], [1, 1.0], [1, True], ["a", 1, None], [[1], [1]], [{}, {}], [1, 2, 3, 4]),
    *({}, {"a": 1}, {"a": "x", "b": 2}, {"b": []}, {"a": {"a": {"a": 1}}}, {"long name": 1}),
]
SCHEMAS: list[Any] = [
    *(True, False, {}),
    *({"type": name} for name in ("null", "boolean", "object", "array", "string", "number")),
    *({"type": "integer"}, {"type": ["string", "null"]}),
    *({"enum": [1, "a", None, [1], {"a": 1}]}, {"const": 1}, {"const": True}, {"const": {"a": 1}}),
    *({"minimum": 1}, {"maximum": 1}, {"exclusiveMinimum": 1}, {"exclusiveMaximum": 1}),
    *({"multipleOf": 0.5}, {"multipleOf": 2}, {"multipleOf": 0.1}),
    *({"minLength": 1}, {"maxLength": 1}, {"minItems": 2}, {"maxItems": 1}),
    *({"minProperties": 1}, {"maxProperties": 1}, {"uniqueItems": True}, {"uniqueItems": False}),
    *({"items": {"type": "integer"}}, {"prefixItems": [{"type": "string"}], "items": False}),
    *({"prefixItems": [{"const": 1}, {"const": 2}]}, {"items": False}),
    {"contains": {"type": "integer"}},
    {"contains": {"type": "integer"}, "minContains": 2},
    {"contains": {"type": "integer"}, "minContains": 0, "maxContains": 1},
    {"properties": {"a": {"type": "integer"}}},
    {"properties": {"a": True}, "additionalProperties": False},
    {"additionalProperties": {"type": "integer"}},
    *({"required": ["a"]}, {"required": ["a", "b"]}),
    {"propertyNames": {"maxLength": 3}},
    {"dependentRequired": {"a": ["b"]}},
    {"dependentSchemas": {"a": {"required": ["b"]}}},
    {"allOf": [{"type": "integer"}, {"minimum": 1}]},
    {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    {"oneOf": [{"type": "integer"}, {"minimum": 2}]},
    {"not": {"type": "object"}},
    {"if": {"type": "integer"}, "then": {"minimum": 1}, "else": {"type": "string"}},
    {"if": {"type": "object"}, "then": {"required": ["a"]}},
    {"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}},
    {"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"type": "integer"}}},
    {"$ref": "#there", "$defs": {"x": {"$anchor": "there", "type": "string"}}},
    {
        "$ref": "#/$defs/tree",
        "$defs": {
            "tree": {"properties": {"a": {"$ref": "#/$defs/tree"}}, "type": ["object", "integer"]}
        },
    },
    {"properties": {"a": {"$ref": "#"}}, "type": ["object", "integer"]},
    {"allOf": [{"prefixItems": [True]}, {"$ref": "#/allOf/0/prefixItems/0"}]},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_values_are_judged_as_the_standard_judges_them(schema: Any) -> None:
    other = jsonschema.Draft202012Validator(schema)
    ours = JsonSchema(schema)
    for value in VALUES:
        assert (ours.problem(value) is None) is other.is_valid(value), value


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=6,
)


@given(schema=st.sampled_from(SCHEMAS), value=json_values)
def test_any_value_is_judged_as_the_standard_judges_it(schema: Any, value: Any) -> None:
    judged = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (JsonSchema(schema).problem(value) is None) is judged


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"type": "integer"}, "x", "the value is not of type integer"),
        ({"required": ["a"]}, {}, "the value lacks 'a'"),
        (
            {"properties": {"a": {"items": {"minimum": 3}}}},
            {"a": [3, 2]},
            "the value.a[1] is not at least 3",
        ),
        ({"maxLength": 1}, "ab", "the value has more than 1 characters"),
        ({"additionalProperties": False}, {"a": 1}, "the value.a must not be there"),
    ],
)
def test_problems_say_where_and_what(schema: Any, value: Any, problem: str) -> None:
    assert JsonSchema(schema).problem(value) == problem


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.org/schema"},
        {"$ref": "#/nowhere"},
        {"$ref": "#unknown"},
        {"$ref": 5},
        {"type": 5},
        {"enum": 5},
        {"properties": 5, "required": 5, "items": 5, "anyOf": 5, "allOf": 5, "oneOf": 5},
        {"minimum": "x", "maxLength": "x", "multipleOf": 0, "prefixItems": 5},
        {"dependentRequired": 5, "dependentSchemas": 5, "uniqueItems": 5, "contains": 5},
        {"pattern": "(a+)+$", "format": "email", "unevaluatedProperties": False},
        "hello",
    ],
)
def test_what_is_elsewhere_unknown_or_malformed_constrains_nothing(schema: Any) -> None:
    for value in VALUES:
        if value != []:
            assert JsonSchema(schema).problem(value) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {
            "$defs": {
                "a": {"anyOf": [{"$ref": "#/$defs/b"}] * 50},
                "b": {"anyOf": [{"allOf": [False]}] * 5000},
            },
            "$ref": "#/$defs/a",
        },
        {"enum": list(range(200_000))},
    ],
)
def test_hostile_schemas_come_to_an_end(schema: Any) -> None:
    with pytest.raises(TooComplexError):
        JsonSchema(schema).problem("x")


def test_deep_values_come_to_an_end() -> None:
    value: Any = 1
    for _ in range(200):
        value = {"a": value}
    with pytest.raises(TooComplexError):
        JsonSchema({"additionalProperties": {"$ref": "#"}}).problem(value)
