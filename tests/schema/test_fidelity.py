"""A schema takes what the router takes: never less, and no more than docs/schemas.md says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from accord.jsonrpc.methods.method import Method, make_method
from accord.jsonrpc.protocol.errors import InvalidParamsError, RegistrationError
from accord.jsonrpc.protocol.messages import encode
from accord.schema.bundle import Bundle, to_draft07
from accord.schema.schema import DEFINITIONS, Json, Schema
from accord.schema.types import accepts, returns
from tests.schema.generated import ANNOTATIONS, ANYTHING, Typed, given_to

PAGE = Path(__file__).parents[2] / "docs" / "schemas.md"

LOOSER = {
    "size of numbers": "out of range|a number, or a valid complex",
    "calendar": r"RFC3339 encoded date|Duration is out of range|duration out of range",
    "decimals": r"decimal|Decimal|finite number|(greater|less) than .* <- str",
    "sets": "unhashable|hashable|array of length|[Ss]et should have at (most|least)",
    "keys": r"object of length <=|Dictionary should have at most|\[key\]|as key",
    "length of bytes": "bytes of length|Data should have at (most|least)",
    "numbers in unions": r"int (<|>|that's a multiple)|\| float",
    "patterns": r"matching regex '\(\?i\)",
    "formats": "a valid (datetime|date|duration|UUID|python complex|complex)|in a valid time format|time delta",
    "stripped strings": "String should have at most 3",
    "multiples of fractions": "a multiple of 0.1",
    "aliases": r"(ids|notes)\b|\bid': expected a value, got nothing|(size|kind)': Extra inputs",
}
"""What the router says of values that a schema lets pass, by the rows of the page."""

UNSEEN = {"whole numbers", "your own checks", "tuples in draft-07"}
"""Rows of the page that need no line above: see `_is_whole`, and the tests of draft-07."""

COUNT = 150
ANYWAY = settings(
    max_examples=COUNT,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
        HealthCheck.data_too_large,
    ],
)


def test_page_lists_every_place_where_a_schema_takes_more() -> None:
    rows = re.findall(r"^\| \*\*(.+?)\*\* \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(rows) == LOOSER.keys() | UNSEEN


@pytest.mark.req("O-07")
@ANYWAY
@given(data=st.data(), typed=ANNOTATIONS)
def test_schema_takes_what_the_router_takes(data: st.DataObject, typed: Typed) -> None:
    method = _declare("value: T0", [typed])
    validators = _validators(accepts(typed.annotation))
    for _ in range(5):
        value = data.draw(given_to(typed))
        _compare(validators, value, _refusals(method, [value]))


class Shape(NamedTuple):
    """A signature of up to five parameters."""

    positional: int
    keyword: int
    defaults: int
    rest: bool
    others: bool

    @property
    def names(self) -> list[str]:
        return ["a", "b", "c", "d"][: self.positional + self.keyword]

    @property
    def optional(self) -> set[str]:
        return set(self.names[len(self.names) - self.defaults :]) if self.defaults else set()

    def source(self) -> str:
        declared = [
            f"{name}: T{n}{' = None' * (name in self.optional)}"
            for n, name in enumerate(self.names)
        ]
        star = ["*rest: T0"] if self.rest else ["*"] if self.keyword else []
        others = ["**others: T0"] if self.others else []
        return ", ".join(
            [*declared[: self.positional], *star, *declared[self.positional :], *others]
        )

    def schema(self, types: list[Typed]) -> Schema:
        """What the params of such a function must be, put together from its annotations."""
        bundle = Bundle(DEFINITIONS, "2020-12")
        needed = types[: max(1, len(self.names))]
        each: list[Json] = [bundle.add(accepts(typed.annotation)) for typed in needed]
        required = [name for name in self.names if name not in self.optional]
        by_name = {
            "type": "object",
            "properties": dict(zip(self.names, each, strict=False)),
            "required": required,
            "additionalProperties": each[0] if self.others else False,
        }
        by_position = {
            "type": "array",
            "prefixItems": each[: self.positional] or [each[0] if self.rest else False],
            "items": each[0] if self.rest else False,
            "minItems": len(set(required) & set(self.names[: self.positional])),
            **({} if self.rest else {"maxItems": self.positional}),
        }
        reachable = not set(required) - set(self.names[: self.positional])
        return Schema(
            {"anyOf": [by_name, by_position] if reachable else [by_name]}, bundle.definitions
        )


SHAPES = st.builds(
    lambda positional, keyword, defaults, rest, others: Shape(
        positional, keyword, min(defaults, positional + keyword), rest, others
    ),
    st.integers(0, 2),
    st.integers(0, 2),
    st.integers(0, 4),
    st.booleans(),
    st.booleans(),
)


@pytest.mark.req("O-07")
@ANYWAY
@given(data=st.data(), shape=SHAPES, types=st.lists(ANNOTATIONS, min_size=4, max_size=4))
def test_schemas_of_a_signature_take_the_params_that_the_router_takes(
    data: st.DataObject, shape: Shape, types: list[Typed]
) -> None:
    method = _declare(shape.source(), types)
    _declare("value: T0", types)
    modern = _validators(shape.schema(types))[0]
    for _ in range(3):
        named = {
            name: data.draw(given_to(typed))
            for name, typed in zip(shape.names, types, strict=False)
        }
        left_out = data.draw(st.sets(st.sampled_from([*shape.names, "none"]), max_size=1))
        params: Any = {name: each for name, each in named.items() if name not in left_out}
        if data.draw(st.booleans()):
            params = list(params.values())[: data.draw(st.integers(0, 4))]
            params += data.draw(st.lists(given_to(types[0]), max_size=1))
        elif data.draw(st.booleans()):
            params["more"] = data.draw(given_to(types[0]))
        refused = _refusals(method, params)
        if not refused:
            assert modern.is_valid(params), (shape.source(), types, params)
        elif modern.is_valid(params) and not _is_whole(params):
            assert _is_documented(refused), (shape.source(), types, params, refused)


@pytest.mark.req("O-07")
@ANYWAY
@given(data=st.data(), typed=ANNOTATIONS)
def test_results_are_what_their_schema_says(data: st.DataObject, typed: Typed) -> None:
    method = _declare("value: T0", [typed])
    validators = _validators(returns(typed.annotation))
    for _ in range(5):
        value = data.draw(given_to(typed))
        if _refusals(method, [value]):
            continue
        result = method.invoke(encode([value]), None)
        try:
            sent = msgspec.json.decode(encode(result))
        except (TypeError, ValueError, OverflowError):
            continue  # what it read it cannot write: a complex number, a set in a set
        for validator in validators:
            assert validator.is_valid(sent), (typed.annotation, sent, returns(typed.annotation))


@ANYWAY
@given(data=st.data(), typed=ANNOTATIONS)
def test_draft_07_never_refuses_what_2020_12_takes(data: st.DataObject, typed: Typed) -> None:
    _declare("value: T0", [typed])
    modern, old = _validators(accepts(typed.annotation))
    for _ in range(5):
        value = data.draw(given_to(typed) | ANYTHING)
        assert old.is_valid(value) or not modern.is_valid(value), (typed.annotation, value)


@given(typed=ANNOTATIONS)
@ANYWAY
def test_every_schema_is_valid_in_its_dialect(typed: Typed) -> None:
    _declare("value: T0", [typed])
    for schema in (accepts(typed.annotation), returns(typed.annotation)):
        for value in (schema.value, *schema.definitions.values()):
            Draft202012Validator.check_schema(value)
            Draft7Validator.check_schema(to_draft07(value))


def _declare(source: str, types: list[Typed]) -> Method:
    scope: dict[str, Any] = {f"T{n}": typed.annotation for n, typed in enumerate(types)}
    exec(f"def it({source}): return locals().get('value')", scope)
    function: Callable[..., Any] = scope["it"]
    try:
        return make_method(function, "it")
    except RegistrationError:
        assume(False)
        raise


def _validators(schema: Schema) -> tuple[Draft202012Validator, Draft7Validator]:
    whole = {**schema.value, "$defs": schema.definitions}
    bundle = Bundle("#/definitions/", "draft-07")
    value = bundle.add(schema)
    return (
        Draft202012Validator(whole),
        Draft7Validator({"allOf": [value], "definitions": bundle.definitions}),
    )


def _refusals(method: Method, params: Any) -> list[str]:
    """What the router has against the params, each problem in one line; empty if it takes them."""
    try:
        method.invoke(encode(params), None)
    except InvalidParamsError as error:
        data: Any = error.data
        return [
            f"{each['expected']} <- {each['got']}: {each.get('message', error.message)}"
            for each in data.get("problems", [data])
        ]
    return []


def _compare(
    validators: tuple[Draft202012Validator, Draft7Validator], value: Any, refused: list[str]
) -> None:
    modern, old = validators
    told = f"{value!r} {modern.schema} {refused}"
    if not refused:
        assert modern.is_valid(value), told
        assert old.is_valid(value), told
    elif modern.is_valid(value) and not _is_whole(value):
        assert _is_documented(refused) or _is_of_several_strings(told), told


def _is_documented(refused: list[str]) -> bool:
    return any(re.search(each, line) for each in LOOSER.values() for line in refused)


def _is_of_several_strings(told: str) -> bool:
    """Whether a string was held to the limits of another string in the same union: the page's
    row about numbers in unions says so too."""
    return "anyOf" in told and re.search("str (of length|matching regex)", told) is not None


def _is_whole(value: Any) -> bool:
    """Whether there is a number such as 1.0 in it, which is an integer to JSON Schema."""
    match value:
        case list():
            return any(map(_is_whole, value))
        case dict():
            return any(map(_is_whole, value.values()))
        case float():
            return value.is_integer()
        case _:
            return False
