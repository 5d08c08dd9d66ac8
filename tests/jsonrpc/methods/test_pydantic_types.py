"""Where a type needs pydantic, pydantic decodes it, as strictly as msgspec does the rest."""

from __future__ import annotations

import collections
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from msgspec import Meta, Struct

from accord.jsonrpc.methods.method import make_method
from accord.jsonrpc.protocol.errors import InvalidParamsError, RegistrationError

pydantic = pytest.importorskip("pydantic")
annotated_types = pytest.importorskip("annotated_types")

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, SecretStr, field_validator  # noqa: E402
from pydantic.dataclasses import dataclass as pydantic_dataclass  # noqa: E402


class Item(BaseModel):
    name: str
    count: int = Field(default=1, ge=1)


class Filter(BaseModel):
    model_config = ConfigDict(extra="forbid")

    items: list[Item]
    ratio: float = 1.0


class Checked(BaseModel):
    value: int

    @field_validator("value")
    @classmethod
    def check(cls, value: int) -> int:
        if value == 1:
            raise ValueError("one is taken")
        if value == 2:
            raise LookupError("a fault of the method's author")
        return value


@pydantic_dataclass
class Bounded:
    value: Annotated[int, Field(gt=0)]


@dataclass
class Plain:
    value: Annotated[int, annotated_types.Gt(0)]


@dataclass
class WithField:
    value: int = Field(default=1, gt=0)


class Row(Struct):
    item: Item


class Mixed(BaseModel):
    value: Annotated[int, Meta(ge=1)]


class Undefined(BaseModel):
    value: Missing  # type: ignore[name-defined]  # noqa: F821


def method(annotation: Any) -> Any:
    def echo(value: Any) -> Any:
        return value

    echo.__annotations__ = {"value": annotation}
    return make_method(echo, "echo")


def decode(annotation: Any, data: bytes) -> Any:
    return method(annotation).invoke(b'{"value":' + data + b"}", None)


def problems(annotation: Any, data: bytes) -> list[tuple[str, str, str]]:
    with pytest.raises(InvalidParamsError) as caught:
        decode(annotation, data)
    data_ = caught.value.data
    found = data_.get("problems", [data_])
    assert all(problem["parameter"] == "value" for problem in found)
    return [(problem["path"], problem["expected"], problem["got"]) for problem in found]


@pytest.mark.req("F-07")
@pytest.mark.parametrize(
    ("annotation", "data", "value"),
    [
        (Item, b'{"name":"a"}', Item(name="a")),
        (list[Item], b'[{"name":"a","count":2}]', [Item(name="a", count=2)]),
        (Item | None, b"null", None),
        (Filter, b'{"items":[{"name":"a"}],"ratio":2}', Filter(items=[Item(name="a")], ratio=2.0)),
        (Annotated[int, Field(gt=0)], b"1", 1),
        (Annotated[int, annotated_types.Gt(0)], b"1", 1),
        (PositiveInt, b"1", 1),
        (SecretStr, b'"hush"', SecretStr("hush")),
        (Bounded, b'{"value":1}', Bounded(1)),
        (Plain, b'{"value":1}', Plain(1)),
        (WithField, b'{"value":3}', WithField(3)),
        (collections.deque[int], b"[1,2]", collections.deque([1, 2])),
        (complex, b'"1j"', 1j),
    ],
)
def test_pydantic_decodes_what_it_alone_can(annotation: Any, data: bytes, value: Any) -> None:
    assert decode(annotation, data) == value


@pytest.mark.req("F-07")
@pytest.mark.parametrize(
    ("annotation", "data", "told"),
    [
        (Item, b"[]", [("value", "an object", "array")]),
        (Item, b"{}", [("value.name", "a value", "nothing")]),
        (Item, b'{"name":1}', [("value.name", "a valid string", "int")]),
        (Item, b'{"name":"a","count":"1"}', [("value.count", "a valid integer", "str")]),
        (Item, b'{"name":"a","count":1.0}', [("value.count", "a valid integer", "float")]),
        (
            Filter,
            b'{"items":[{"name":"a"},{"name":null}],"x":1}',
            [
                ("value.items[1].name", "a valid string", "null"),
                ("value.x", "Extra inputs are not permitted", "int"),
            ],
        ),
        (Annotated[int, Field(gt=0)], b"0", [("value", "greater than 0", "int")]),
        (Annotated[int, annotated_types.Gt(0)], b"0", [("value", "greater than 0", "int")]),
        (Bounded, b'{"value":0}', [("value.value", "greater than 0", "int")]),
        (Plain, b'{"value":0}', [("value.value", "greater than 0", "int")]),
        (WithField, b'{"value":0}', [("value.value", "greater than 0", "int")]),
        (Checked, b'{"value":1}', [("value.value", "Value error, one is taken", "int")]),
        (
            Annotated[str, Field(min_length=3)],
            b'"ab"',
            [("value", "String should have at least 3 characters", "str")],
        ),
    ],
)
def test_its_errors_have_path_expectation_and_what_came(
    annotation: Any, data: bytes, told: list[tuple[str, str, str]]
) -> None:
    assert problems(annotation, data) == told


def test_the_message_reads_like_the_others() -> None:
    with pytest.raises(InvalidParamsError) as caught:
        decode(Item, b'{"name":1}')
    assert caught.value.message == "parameter 'value.name': expected a valid string, got int"
    with pytest.raises(InvalidParamsError) as caught:
        decode(Checked, b'{"value":1}')
    assert caught.value.message == "parameter 'value.value': Value error, one is taken"


@pytest.mark.req("F-07")
@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (Item, "object"),
        (SecretStr, "SecretStr"),
        (PositiveInt, "int"),
        (Plain | WithField, "a value"),
    ],
)
def test_a_missing_parameter_says_what_it_should_have_been(annotation: Any, expected: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        method(annotation).invoke(b"{}", None)
    assert caught.value.data["expected"] == expected
    assert caught.value.data["got"] == "nothing"


@pytest.mark.req("F-30")
@pytest.mark.parametrize("data", [b"1e999", b"NaN", b'"\\ud800"', b'"\xff"', b"9" * 5000])
def test_what_msgspec_cannot_decode_pydantic_does_not_get_to_see(data: bytes) -> None:
    with pytest.raises(InvalidParamsError, match="not decodable"):
        decode(Annotated[float, Field(gt=0)], data)


@pytest.mark.req("F-30")
def test_a_flood_of_faults_is_counted_and_not_listed() -> None:
    data = b"[" + b",".join([b"0"] * 100_000) + b"]"
    assert problems(list[PositiveInt], data) == [("value", "array", "100,000 faults")]


def test_an_unforeseen_error_of_a_validator_is_not_blamed_on_the_caller() -> None:
    with pytest.raises(LookupError, match="a fault of the method's author"):
        decode(Checked, b'{"value":2}')


def test_both_libraries_decode_in_one_signature() -> None:
    class Counter(Struct):
        start: int

    def mixed(a: int, item: Item, counter: Any, b: int = 2, *, c: PositiveInt = 3) -> Any:
        return a, item, counter, b, c

    mixed.__annotations__["counter"] = Counter
    served = make_method(mixed, "mixed")
    item = Item(name="x")
    assert served.invoke(b'[1, {"name": "x"}, {"start": 5}]', None) == (1, item, Counter(5), 2, 3)
    assert served.invoke(
        b'{"c": 4, "a": 1, "item": {"name": "x"}, "counter": {"start": 5}}', None
    ) == (1, item, Counter(5), 2, 4)


def test_a_model_as_default_is_the_very_object() -> None:
    default = Item(name="x")

    def it(item: Item = default) -> Any:
        return item

    assert make_method(it, "it").invoke(b"[]", None) is default


def refused(annotation: Any, default: Any = ...) -> str:
    def it(a: Any) -> None: ...

    it.__annotations__ = {"a": annotation}
    it.__defaults__ = None if default is ... else (default,)
    with pytest.raises(RegistrationError) as caught:
        make_method(it, "it")
    return str(caught.value).partition("parameter 'a': ")[2]


def test_a_field_in_the_place_of_a_default_is_refused() -> None:
    assert refused(int, Field(gt=0)) == (
        "pydantic's Field(…) stands in the place of its default, where it would be passed as the "
        "value: write Annotated[type, Field(…)] and a plain default"
    )


def test_what_the_other_library_would_ignore_is_refused() -> None:
    assert refused(Row) == (
        "the pydantic model Item is for pydantic and the msgspec struct Row for msgspec, and each "
        "ignores the other's: declare this parameter with the types of one of them"
    )
    assert refused(Mixed) == (
        "the pydantic model Mixed is for pydantic and the constraint msgspec.Meta(ge=1) for "
        "msgspec, and each ignores the other's: declare this parameter with the types of one of "
        "them"
    )


def test_what_neither_can_decode_is_refused() -> None:
    assert refused(list[property]) == (
        "msgspec does not know the class property, and pydantic fails: Unable to generate "
        "pydantic-core schema for <class 'property'>"
    )
    assert refused(Undefined).startswith(
        "the pydantic model Undefined needs pydantic, and pydantic fails: "
    )
