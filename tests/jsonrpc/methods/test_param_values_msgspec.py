"""Params become typed values, or an error that names the path, what was expected, what came."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    TypedDict,
    TypeVar,
)

import msgspec
import pytest
from msgspec import Meta, Raw, Struct, UnsetType

from accord.jsonrpc.methods.method import make_method
from accord.jsonrpc.methods.param_values import MAX_PROBLEMS, MAX_TEXT
from accord.jsonrpc.protocol.errors import InvalidParamsError

T = TypeVar("T")
Number = TypeVar("Number", bound=int)
UserId = NewType("UserId", int)


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Item(Struct):
    name: str
    count: Annotated[int, Meta(ge=1, le=5)] = 1


class Filter(Struct, forbid_unknown_fields=True):
    items: list[Item]
    by_key: dict[str, Item] = {}
    colour: Colour = Colour.RED
    next: Optional[Filter] = None  # noqa: UP045 - written out, as many do


class Point(Struct, array_like=True):
    x: int
    y: int = 0


class Box(Struct, Generic[T]):
    value: T


class Cat(Struct, tag_field="kind", tag="cat"):
    lives: int


class Dog(Struct, tag_field="kind", tag="dog"):
    name: str


class Positive(Struct):
    value: int

    def __post_init__(self) -> None:
        if self.value < 0:
            raise ValueError("must not be negative")
        if self.value == 0:
            raise LookupError("a fault of the method's author")


class Measured(Struct):
    value: int

    def __post_init__(self) -> None:
        raise ValueError("Expected `int` of length > 3")


@dataclass
class Account:
    id: int
    name: str = "anonymous"


class Options(TypedDict):
    depth: int
    strict: NotRequired[bool]


class Pair(NamedTuple):
    left: int
    right: str = "-"


def decode(annotation: Any, data: bytes) -> Any:
    """What a function with one parameter of this type gets, by position and by name."""

    def echo(value: Any) -> Any:
        return value

    echo.__annotations__ = {"value": annotation}
    method = make_method(echo, "echo")
    by_position = method.invoke(b"[" + data + b"]", None)
    by_name = method.invoke(b'{"value":' + data + b"}", None)
    assert repr(by_position) == repr(by_name) or isinstance(by_name, Raw | memoryview)
    return by_name


def refuse(annotation: Any, data: bytes) -> tuple[str, str, str]:
    """The path, what was expected and what came; alike in message and data."""
    with pytest.raises(InvalidParamsError) as caught:
        decode(annotation, data)
    error = caught.value
    found = error.data
    assert found["reason"] == "invalid_params"
    assert found["parameter"] == "value"
    assert error.message == (
        f"parameter '{found['path']}': expected {found['expected']}, got {found['got']}"
    )
    return found["path"], found["expected"], found["got"]


def complaint(annotation: Any, data: bytes) -> tuple[str, str, str]:
    """The message, what was expected and what came, where the message is not made of them."""
    with pytest.raises(InvalidParamsError) as caught:
        decode(annotation, data)
    return caught.value.message, caught.value.data["expected"], caught.value.data["got"]


MOMENT = dt.datetime(2026, 11, 15, 8, 30, tzinfo=dt.UTC)
UID = uuid.UUID("12345678-1234-5678-1234-567812345678")


@pytest.mark.req("F-07")
@pytest.mark.parametrize(
    ("annotation", "data", "value"),
    [
        (int, b"1", 1),
        (int, b"123456789012345678901234567890", 123456789012345678901234567890),
        (float, b"1", 1.0),
        (float, b"1.5", 1.5),
        (int | float, b"1.0", 1.0),
        (bool, b"true", True),
        (str, b'"\\u00e9"', "é"),
        (None, b"null", None),
        (int | None, b"null", None),
        (Any, b'[1,{"a":null}]', [1, {"a": None}]),
        (object, b"[1]", [1]),
        (bytes, b'"aGk="', b"hi"),
        (bytearray, b'"aGk="', bytearray(b"hi")),
        (dt.datetime, b'"2026-11-15T08:30:00Z"', MOMENT),
        (dt.date, b'"2026-11-15"', MOMENT.date()),
        (dt.time, b'"08:30:00"', dt.time(8, 30)),
        (dt.timedelta, b'"PT90S"', dt.timedelta(seconds=90)),
        (uuid.UUID, b'"12345678-1234-5678-1234-567812345678"', UID),
        (Decimal, b'"1.10"', Decimal("1.10")),
        (Decimal, b"1.1", Decimal("1.1")),
        (Colour, b'"green"', Colour.GREEN),
        (Level, b"2", Level.HIGH),
        (Literal["a", 1], b"1", 1),
        (UserId, b"7", 7),
        (T, b'"any"', "any"),
        (Number, b"3", 3),
        (Annotated[int, Meta(gt=0)], b"1", 1),
        (Annotated[int, "a note"], b"1", 1),
        (int | UnsetType, b"1", 1),
        (list[int], b"[1,2]", [1, 2]),
        (Sequence[int], b"[1]", [1]),
        (Mapping[str, int], b'{"a":1}', {"a": 1}),
        (set[int], b"[1,1]", {1}),
        (frozenset[str], b'["a"]', frozenset({"a"})),
        (tuple[int, str], b'[1,"a"]', (1, "a")),
        (tuple[int, ...], b"[1,2,3]", (1, 2, 3)),
        (dict[int, str], b'{"1":"a"}', {1: "a"}),
        (Item, b'{"name":"a"}', Item("a")),
        (Filter, b'{"items":[{"name":"a"}]}', Filter([Item("a")])),
        (Point, b"[1,2]", Point(1, 2)),
        (Box[int], b'{"value":1}', Box(1)),
        (Cat | Dog, b'{"kind":"dog","name":"Rex"}', Dog("Rex")),
        (Account, b'{"id":1}', Account(1)),
        (Options, b'{"depth":1,"strict":true}', {"depth": 1, "strict": True}),
        (Pair, b'[1,"b"]', Pair(1, "b")),
    ],
)
def test_every_type_that_msgspec_knows_is_decoded(annotation: Any, data: bytes, value: Any) -> None:
    decoded = decode(annotation, data)
    assert decoded == value
    assert type(decoded) is type(value)


def test_raw_is_handed_through_untouched() -> None:
    raw = decode(Raw, b'{ "a" : 1.10 }')
    assert isinstance(raw, Raw)
    assert bytes(raw) == b'{ "a" : 1.10 }'
    assert bytes(decode(memoryview, b'"aGk="')) == b"hi"


@pytest.mark.req("F-07")
@pytest.mark.parametrize(
    ("annotation", "data", "told"),
    [
        # Types are strict: JSON's own types are kept apart, an int may stand for a float.
        (int, b'"1"', ("value", "int", "str")),
        (int, b"1.0", ("value", "int", "float")),
        (int, b"true", ("value", "int", "bool")),
        (float, b'"1"', ("value", "float", "str")),
        (bool, b"1", ("value", "bool", "int")),
        (str, b"1", ("value", "str", "int")),
        (int | str | None, b"[]", ("value", "int | str | null", "array")),
        (dt.datetime, b"1", ("value", "datetime", "int")),
        (Item, b"[]", ("value", "object", "array")),
        # The path leads to the fault.
        (list[int], b'[1,2,"3"]', ("value[2]", "int", "str")),
        (
            Filter,
            b'{"items":[{"name":"a"},{"name":"b"},{"name":3}]}',
            ("value.items[2].name", "str", "int"),
        ),
        (
            Filter,
            b'{"items":[],"by_key":{"k":{"name":1}}}',
            ("value.by_key[...].name", "str", "int"),
        ),
        (dict[int, int], b'{"a":1}', ("value", "int as key", "str")),
        (dict[str, dict[int, int]], b'{"a":{"b":1}}', ("value[...]", "int as key", "str")),
        # Constraints: the kind was right, the value was not, and is not repeated.
        (Annotated[int, Meta(ge=1)], b"0", ("value", "int >= 1", "another int")),
        (Annotated[float, Meta(lt=3)], b"3.5", ("value", "float < 3.0", "another float")),
        (
            Annotated[int, Meta(multiple_of=3)],
            b"2",
            ("value", "int that's a multiple of 3", "another int"),
        ),
        (
            Annotated[str, Meta(pattern="^a")],
            b'"b"',
            ("value", "str matching regex '^a'", "another str"),
        ),
        (
            Annotated[str, Meta(min_length=3)],
            b'"ab"',
            ("value", "str of length >= 3", "str of length 2"),
        ),
        (
            Annotated[bytes, Meta(min_length=3)],
            b'"aGk="',
            ("value", "bytes of length >= 3", "another str"),
        ),
        (
            Annotated[list[int], Meta(max_length=1)],
            b"[1,2]",
            ("value", "array of length <= 1", "array of length 2"),
        ),
        (
            Annotated[dict[str, int], Meta(max_length=1)],
            b'{"a":1,"b":2}',
            ("value", "object of length <= 1", "object of length 2"),
        ),
        (
            dict[str, Annotated[int, Meta(ge=1)]],
            b'{"a":0}',
            ("value[...]", "int >= 1", "another value"),
        ),
        (tuple[int, str], b"[1]", ("value", "array of length 2", "array of length 1")),
        (
            Filter,
            b'{"items":[{"name":"a","count":9}]}',
            ("value.items[0].count", "int <= 5", "another int"),
        ),
        (Measured, b'{"value":1}', ("value", "int of length > 3", "another object")),
        # Choices
        (Colour, b'"blue"', ("value", "one of 'red', 'green'", "another str")),
        (Level, b"3", ("value", "one of 1, 2", "another int")),
        (Literal["a", "b"], b'"c"', ("value", "one of 'a', 'b'", "another str")),
        (Literal["a", None], b'"c"', ("value", "one of null, 'a'", "another str")),
        (
            Filter,
            b'{"items":[],"colour":"blue"}',
            ("value.colour", "one of 'red', 'green'", "another str"),
        ),
        (
            Filter,
            b'{"items":[],"next":{"items":[],"colour":"blue"}}',
            ("value.next.colour", "one of 'red', 'green'", "another str"),
        ),
        (
            Cat | Dog,
            b'{"kind":"cow"}',
            ("value.kind", "one of 'cat', 'dog'", "another str"),
        ),
        (Cat | Dog, b'{"kind":1}', ("value.kind", "str", "another int")),
        (list[Colour], b'["blue"]', ("value[0]", "one of 'red', 'green'", "another str")),
        (
            tuple[int, Colour],
            b'[1,"blue"]',
            ("value[1]", "one of 'red', 'green'", "another str"),
        ),
        (
            dict[str, Colour],
            b'{"a":"blue"}',
            ("value[...]", "one of 'red', 'green'", "another value"),
        ),
        # Formats
        (dt.datetime, b'"x"', ("value", "RFC3339 encoded datetime", "another str")),
        (uuid.UUID, b'"x"', ("value", "UUID", "another str")),
        (bytes, b'"x"', ("value", "base64 encoded string", "another str")),
        (Decimal, b'"x"', ("value", "decimal string", "another str")),
        # Fields that lack, fields that are too many
        (Filter, b'{"items":[{}]}', ("value.items[0].name", "str", "nothing")),
        (Filter, b"{}", ("value.items", "array", "nothing")),
        (Account, b"{}", ("value.id", "int", "nothing")),
        (Options, b"{}", ("value.depth", "int", "nothing")),
        (Cat | Dog, b"{}", ("value.kind", "one of 'cat', 'dog'", "nothing")),
        (Filter, b'{"items":[],"colr":1}', ("value.colr", "no such field", "one")),
    ],
)
def test_an_error_names_the_path_what_was_expected_and_what_came(
    annotation: Any, data: bytes, told: tuple[str, str, str]
) -> None:
    assert refuse(annotation, data) == told


@pytest.mark.req("F-07")
@pytest.mark.parametrize(
    ("annotation", "name"),
    [
        (Any, "any value"),
        (Raw, "any value"),
        (int, "int"),
        (Annotated[int, Meta(ge=1, title="Count")], "int"),
        (bytes, "bytes"),
        (dt.timedelta, "duration"),
        (int | None, "int | null"),
        (list[int] | dict[str, int], "array | object"),
        (set[int], "array"),
        (tuple[int, str], "array"),
        (Point, "array"),
        (Pair, "array"),
        (Item, "object"),
        (Account, "object"),
        (Options, "object"),
        (Colour, "one of 'red', 'green'"),
    ],
)
def test_a_missing_parameter_says_what_it_should_have_been(annotation: Any, name: str) -> None:
    def echo(value: Any) -> Any:
        return value

    echo.__annotations__ = {"value": annotation}
    with pytest.raises(InvalidParamsError) as caught:
        make_method(echo, "echo").invoke(b"[]", None)
    assert caught.value.data == {
        "reason": "invalid_params",
        "parameter": "value",
        "path": "value",
        "expected": name,
        "got": "nothing",
    }


@pytest.mark.req("F-07", "F-30")
@pytest.mark.parametrize(
    ("annotation", "data", "message", "expected"),
    [
        (int, b"1e400", "Number out of range", "int"),
        (int, b"9" * 5000, "Integer value out of range", "int"),
        (list[float], b"[1e400]", "Number out of range", "float"),
        (Positive, b'{"value":-1}', "must not be negative", "object"),
        (list[Positive], b'[{"value":-1}]', "must not be negative", "object"),
        (set[Any], b"[[1]]", "not decodable: unhashable type: 'list'", "array"),
        (
            str,
            b'"\xff"',
            "not decodable: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
            "str",
        ),
    ],
)
def test_what_cannot_be_decoded_is_refused_in_words(
    annotation: Any, data: bytes, message: str, expected: str
) -> None:
    told, noun, _ = complaint(annotation, data)
    assert told.partition(": ")[2] == message
    assert noun == expected


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    ("annotation", "why"),
    [
        *((annotation, "nested too deep") for annotation in (Any, list[Any], Raw)),
        (str, "expected str, got array"),
    ],
)
def test_deep_nesting_is_refused(annotation: Any, why: str) -> None:
    with pytest.raises(InvalidParamsError, match=why):
        decode(annotation, b"[" * 100_000 + b"]" * 100_000)


@pytest.mark.req("F-30")
@pytest.mark.parametrize("annotation", [Any, str, list[str], Item])
def test_a_lone_surrogate_is_refused(annotation: Any) -> None:
    with pytest.raises(InvalidParamsError, match="not decodable"):
        decode(annotation, b'"\\ud800"')


def test_an_unforeseen_error_of_a_type_is_not_blamed_on_the_caller() -> None:
    with pytest.raises(LookupError, match="a fault of the method's author"):
        decode(Positive, b'{"value":0}')


@pytest.mark.req("F-07")
def test_every_problem_is_listed_up_to_a_limit() -> None:
    def many(a: int, b: int, *rest: int) -> None: ...

    method = make_method(many, "it")
    with pytest.raises(InvalidParamsError) as caught:
        method.invoke(b'["x", 1, null]', None)
    first = {"parameter": "a", "path": "a", "expected": "int", "got": "str"}
    second = {"parameter": "rest", "path": "rest[0]", "expected": "int", "got": "null"}
    assert caught.value.message == "parameter 'a': expected int, got str (and 1 more)"
    assert caught.value.data == {
        "reason": "invalid_params",
        **first,
        "problems": [
            {**first, "message": "parameter 'a': expected int, got str"},
            {**second, "message": "parameter 'rest[0]': expected int, got null"},
        ],
    }
    with pytest.raises(InvalidParamsError) as caught:
        method.invoke(b"[" + b",".join([b"null"] * 100_000) + b"]", None)
    assert len(caught.value.data["problems"]) == MAX_PROBLEMS


@pytest.mark.req("F-07")
def test_an_unexpected_name_is_told_what_is_allowed() -> None:
    def resize(width: int = 1, height: int = 1) -> None: ...

    method = make_method(resize, "it")
    with pytest.raises(InvalidParamsError) as caught:
        method.invoke(b'{"widht": 3}', None)
    assert caught.value.data == {
        "reason": "invalid_params",
        "parameter": "widht",
        "path": "widht",
        "expected": "no such parameter",
        "got": "one",
        "allowed": ["width", "height"],
        "suggestion": "width",
    }
    for strange in (b'{"colour": 3}', b'{"widht": 3, "hieght": 4}'):
        with pytest.raises(InvalidParamsError) as caught:
            method.invoke(strange, None)
        assert "suggestion" not in caught.value.data


@pytest.mark.req("F-30")
def test_names_chosen_by_a_caller_are_cut_short() -> None:
    def resize(width: int = 1) -> None: ...

    name = "w" * 500_000
    for params in ({name: 1}, {"width": {name: 1}}):
        with pytest.raises(InvalidParamsError) as caught:
            make_method(resize, "it").invoke(msgspec.json.encode(params), None)
        assert len(caught.value.message) < 3 * MAX_TEXT
    with pytest.raises(InvalidParamsError) as caught:
        decode(Filter, msgspec.json.encode({"items": [], name: 1}))
    assert caught.value.data["path"] == "value." + "w" * (MAX_TEXT - 6) + "…"


@pytest.mark.req("F-30")
@pytest.mark.parametrize(
    "name", ["x` - at `$.items[9].name", "` - at `key` in `$", "`", "\n", "$.a"]
)
def test_a_name_that_looks_like_a_path_misleads_nobody_else(name: str) -> None:
    with pytest.raises(InvalidParamsError):
        decode(Filter, msgspec.json.encode({"items": [], name: 1}))
