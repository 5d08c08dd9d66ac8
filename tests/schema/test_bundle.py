"""Bundles of schemas, and their conversion to draft-07."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft7Validator, Draft202012Validator
from msgspec import Struct

from accord.schema.bundle import Bundle, to_draft07
from accord.schema.schema import Schema
from accord.schema.types import accepts, returns


class Leaf(Struct):
    size: int
    shape: str = "round"


class Twig(Struct):
    leaves: list[Leaf]


def _refers(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def test_schema_gets_the_references_and_the_dialect_of_the_document() -> None:
    bundle = Bundle()
    value = bundle.add(
        Schema({"type": "array", "prefixItems": [_refers("A")]}, {"A": {"type": "integer"}})
    )
    assert value == {"type": "array", "items": {}}
    modern = Bundle("#/x/", "2020-12")
    value = modern.add(
        Schema({"type": "array", "prefixItems": [_refers("A")]}, {"A": {"type": "integer"}})
    )
    assert value == {"type": "array", "prefixItems": [{"$ref": "#/x/A"}]}
    assert bundle.definitions == modern.definitions == {"A": {"type": "integer"}}


def test_equal_definitions_are_shared() -> None:
    bundle = Bundle(dialect="2020-12")
    assert (
        bundle.add(accepts(Twig))
        == bundle.add(accepts(Twig))
        == {"$ref": "#/components/schemas/Twig"}
    )
    assert bundle.definitions.keys() == {"Twig", "Leaf"}
    assert bundle.definitions["Twig"]["properties"] == {
        "leaves": {"type": "array", "items": {"$ref": "#/components/schemas/Leaf"}}
    }


def test_class_that_is_taken_and_given_differently_has_two_definitions() -> None:
    bundle = Bundle()
    taken, given = bundle.add(accepts(Twig)), bundle.add(returns(Twig))
    assert [taken, given] == [
        {"$ref": f"#/components/schemas/{name}"} for name in ("Twig", "TwigOutput")
    ]
    assert bundle.definitions.keys() == {"Twig", "Leaf", "TwigOutput", "LeafOutput"}
    assert bundle.definitions["TwigOutput"]["properties"]["leaves"]["items"] == {
        "$ref": "#/components/schemas/LeafOutput"
    }
    assert bundle.add(returns(Twig)) == given
    other_way = Bundle()
    assert other_way.add(returns(Twig)) == {"$ref": "#/components/schemas/Twig"}
    assert other_way.add(accepts(Twig)) == {"$ref": "#/components/schemas/TwigInput"}


def test_namesakes_that_say_different_things_are_numbered() -> None:
    bundle = Bundle()
    schemas = [Schema(_refers("A"), {"A": {"minimum": n}}) for n in (1, 2, 3, 2)]
    assert [bundle.add(each)["$ref"].rpartition("/")[2] for each in schemas] == [
        "A",
        "A_2",
        "A_3",
        "A_2",
    ]
    assert bundle.definitions == {"A": {"minimum": 1}, "A_2": {"minimum": 2}, "A_3": {"minimum": 3}}


def test_recursive_namesakes_refer_to_themselves() -> None:
    bundle = Bundle()
    for title in ("one", "two", "two"):
        bundle.add(Schema(_refers("A"), {"A": {"title": title, "not": _refers("A")}}))
    assert bundle.definitions == {
        "A": {"title": "one", "not": {"$ref": "#/components/schemas/A"}},
        "A_2": {"title": "two", "not": {"$ref": "#/components/schemas/A_2"}},
    }


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Page[int]", "Page_int"),
        ("a/b~c %é", "a_b_c"),
        ("..", ".."),
        ("[]", "_"),
        ("a.b-c_d", "a.b-c_d"),
    ],
)
def test_keys_are_what_components_may_be_called(name: str, key: str) -> None:
    bundle = Bundle()
    pointer = name.replace("~", "~0").replace("/", "~1").replace("%", "%25").replace(" ", "%20")
    assert bundle.add(Schema(_refers(pointer), {name: {}})) == {
        "$ref": f"#/components/schemas/{key}"
    }
    assert bundle.definitions == {key: {}}


def test_names_that_become_the_same_key_keep_apart() -> None:
    bundle = Bundle(taken=["a"])
    schema = Schema(
        {"anyOf": [_refers("a%20b"), _refers("a+b"), _refers("a")]}, {"a b": {}, "a+b": {}, "a": {}}
    )
    refs = [each["$ref"].rpartition("/")[2] for each in bundle.add(schema)["anyOf"]]
    assert refs == ["a_b", "a_b_2", "a_2"]


def test_path_inside_a_definition_is_kept() -> None:
    value = Bundle().add(Schema(_refers("A/properties/b"), {"A": {}}))
    assert value == {"$ref": "#/components/schemas/A/properties/b"}


@pytest.mark.parametrize(
    "ref", ["#/$defs/Missing", "https://example.com/x", "#", "other.json#/$defs/A"]
)
def test_reference_that_leads_nowhere_takes_anything(ref: str) -> None:
    assert Bundle().add(Schema({"$ref": ref, "title": "It"}, {"A": {}})) == {"title": "It"}


def test_what_only_looks_like_a_reference_is_left_alone() -> None:
    value = {
        "const": _refers("A"),
        "properties": {"$ref": {"type": "string"}},
        "default": _refers("A"),
    }
    assert Bundle().add(Schema(value, {"A": {}})) == value


def test_schemas_are_not_changed_by_being_added() -> None:
    schema = Schema(
        {"items": [_refers("A"), True], "$defs": {"x": _refers("A")}}, {"A": {"not": _refers("A")}}
    )
    Bundle().add(schema)
    assert schema == Schema(
        {"items": [_refers("A"), True], "$defs": {"x": _refers("A")}}, {"A": {"not": _refers("A")}}
    )


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
