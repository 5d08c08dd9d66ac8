"""Schemas of tools: true, and short."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import pytest
from msgspec import UNSET, Meta, Struct, UnsetType

from accord.operations.adapters.mcp_schemas import input_schema, output_schema
from accord.operations.context import OperationContext
from accord.operations.operation import Operation
from accord.operations.registry import Registry
from accord.schema.validator import JsonSchema

Order: TypeAlias = Literal[
    "name", "-name", "weight", "-weight", "age", "-age", "taste", "-taste", "colour", "-colour"
]


State: TypeAlias = Literal["dry", "green"]
Weight: TypeAlias = Annotated[int, Meta(ge=1, le=4, description="In kilograms.")]


class Leaf(Struct):
    name: str
    leaves: list[Leaf] = []


class Twig(Struct):
    left: Leaf
    right: Leaf
    state: Literal["dry", "green"] | None = None


def operation(function: Any, *, writes: bool = False) -> Operation:
    registry = Registry()
    (registry.write() if writes else registry.read())(function)
    return registry[function.__name__]


def properties(function: Any, *, writes: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = input_schema(operation(function, writes=writes))["properties"]
    return found


async def sort_all(
    work: OperationContext,
    *,
    sort: Order | None = None,
    limit: Annotated[int, Meta(ge=1, le=100)] = 20,
    query: Annotated[str, Meta(min_length=1, max_length=10_000, description="Words.")] = "*",
    tags: Annotated[list[str], Meta(max_length=5)] = [],  # noqa: B006 - never called
    least: Annotated[int, Meta(ge=2)] = 2,
) -> None:
    """Sort."""


async def rename(
    work: OperationContext,
    *,
    owner: Annotated[str, Meta(max_length=64)] | None | UnsetType = UNSET,
    state: Literal["dry", "green"] | None | UnsetType = UNSET,
    title: Annotated[str, Meta(max_length=500)] = "",
    twig: Twig | None = None,
) -> Twig:
    """Rename."""
    raise AssertionError


async def grow(work: OperationContext, *, on: Leaf) -> Leaf:
    """Grow."""
    return on


async def find(
    work: OperationContext,
    *,
    state: State | Annotated[list[State], Meta(min_length=1, max_length=20)] | None = None,
    weight: Weight | list[Weight] | None = None,
    owner: Annotated[str | list[str], Meta(description="A name.")] | None = None,
    other: int | list[str] | None = None,
    expected_version: Annotated[int, Meta(ge=1, description="The version.")] | None = None,
    notes: Annotated[str, Meta(max_length=50_000)] = "",
    more: dict[str, Any] | None = None,
) -> None:
    """Find."""


async def weigh(work: OperationContext) -> int:
    """Weigh."""
    return 1


def test_what_goes_without_saying_is_not_said() -> None:
    found = properties(sort_all)
    pattern = found.pop("sort").pop("pattern")
    assert sorted(pattern[4:-2].split("|")) == ["age", "colour", "name", "taste", "weight"]
    assert found == {
        "limit": {"type": "integer", "maximum": 100},
        "query": {"type": "string", "description": "Words.", "default": "*"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "least": {"type": "integer", "minimum": 2, "default": 2},
    }


def test_null_is_said_where_it_means_something_else_than_nothing() -> None:
    found = properties(rename, writes=True)
    assert found["owner"] == {"type": ["string", "null"]}
    assert found["state"] == {"enum": ["dry", "green", None]}
    assert found["title"] == {"type": "string", "maxLength": 500}
    assert found["dry_run"] == {"type": "boolean"}


@pytest.mark.req("H-57")
def test_one_value_or_several_are_one_schema() -> None:
    found = properties(find)
    assert found["state"] == {"type": ["string", "array"], "items": {"enum": ["dry", "green"]}}
    assert found["weight"] == {"type": ["integer", "array"], "items": {"type": "integer"}}
    assert found["owner"] == {
        "type": ["string", "array"],
        "items": {"type": "string"},
        "description": "A name.",
    }
    assert found["other"] == {
        "anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]
    }
    schema = JsonSchema(input_schema(operation(find)))
    for value in ("dry", ["dry"], ["dry", "green"]):
        assert schema.problem({"state": value}) is None
    assert schema.problem({"state": ["wet"]}) is not None
    assert schema.problem({"state": 1}) is not None


def test_names_and_limits_that_say_enough_are_short() -> None:
    found = properties(find, writes=True)
    assert found["expected_version"] == {"type": "integer"}
    assert found["notes"] == {"type": "string"}
    assert found["more"] == {"type": "object"}


def test_what_is_used_twice_is_defined_once() -> None:
    schema = input_schema(operation(rename, writes=True))
    twig = schema["properties"]["twig"]["properties"]
    assert twig["left"] == twig["right"] == {"$ref": "#/$defs/Leaf"}
    assert list(schema["$defs"]) == ["Leaf"]
    assert schema["$defs"]["Leaf"]["properties"]["leaves"]["items"] == {"$ref": "#/$defs/Leaf"}


def test_a_type_that_has_itself_inside_is_defined() -> None:
    schema = input_schema(operation(grow))
    assert schema["properties"]["on"] == {"$ref": "#/$defs/Leaf"}


def test_an_output_schema_says_what_is_at_the_top() -> None:
    assert output_schema(operation(grow)) == {
        "type": "object",
        "properties": {"name": {"type": "string"}, "leaves": {"type": "array"}},
    }
    assert output_schema(operation(rename)) == {
        "type": "object",
        "properties": {"left": {"type": "object"}, "right": {"type": "object"}, "state": {}},
    }
    assert output_schema(operation(weigh)) is None
