"""Many schemas in one document."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct

from accord.schema.bundle import Bundle
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
