"""What each kind of annotation becomes."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from types import GenericAlias, SimpleNamespace
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Required,
    TypedDict,
    TypeVar,
)

import pytest
from annotated_types import Interval, Len
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, msgpack
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, computed_field

from accord.jsonrpc.protocol.errors import RegistrationError
from accord.schema import schema
from accord.schema.from_msgspec import name_classes, title
from accord.schema.schema import Schema
from accord.schema.types import accepts, returns

T = TypeVar("T")
UserId = NewType("UserId", int)
INTEGER = {"type": "integer"}
STRING = {"type": "string"}
ANY_DECIMAL = {"type": ["number", "string"]}

BOTH = [
    (Any, {}),
    (object, {}),
    (Raw, {}),
    (msgpack.Ext, {}),
    (None, {"type": "null"}),
    (bool, {"type": "boolean"}),
    (int, INTEGER),
    (float, {"type": "number"}),
    (str, STRING),
    (UserId, INTEGER),
    (T, {}),
    (bytes, schema.BASE64),
    (bytearray, schema.BASE64),
    (uuid.UUID, schema.UUID),
    (datetime.date, schema.DATE),
    (datetime.datetime, schema.datetime(None)),
    (Annotated[datetime.datetime, Meta(tz=True)], schema.datetime(True)),
    (Annotated[datetime.datetime, Meta(tz=False)], schema.datetime(False)),
    (datetime.time, schema.time(None)),
    (Annotated[datetime.time, Meta(tz=True)], schema.time(True)),
    (datetime.timedelta, schema.DURATION),
    (Annotated[int, Meta(ge=1, lt=9)], {**INTEGER, "minimum": 1, "exclusiveMaximum": 9}),
    (Annotated[int, Meta(gt=1, le=9)], {**INTEGER, "exclusiveMinimum": 1, "maximum": 9}),
    (Annotated[int, Meta(multiple_of=5)], {**INTEGER, "multipleOf": 5}),
    (Annotated[str, Meta(min_length=1, max_length=3)], {**STRING, "minLength": 1, "maxLength": 3}),
    (Annotated[str, Meta(pattern=r"\Aa\-b\Z")], {**STRING, "pattern": "^a-b$"}),
    (Annotated[str, Meta(pattern="(?i)a")], STRING),
    (
        Annotated[bytes, Meta(min_length=1, max_length=4)],
        {**schema.BASE64, "minLength": 4, "maxLength": 8},
    ),
    (Literal["b", "a"], {"enum": ["a", "b"]}),
    (Literal[2, "a", None], {"enum": [None, 2, "a"]}),
    (list, {"type": "array", "items": {}}),
    (list[int], {"type": "array", "items": INTEGER}),
    (Sequence[int], {"type": "array", "items": INTEGER}),
    (tuple[int, ...], {"type": "array", "items": INTEGER}),
    (
        Annotated[list[int], Meta(min_length=1, max_length=3)],
        {"type": "array", "items": INTEGER, "minItems": 1, "maxItems": 3},
    ),
    (tuple[()], {"type": "array", "items": False, "minItems": 0, "maxItems": 0}),
    (
        tuple[int, str],
        {
            "type": "array",
            "prefixItems": [INTEGER, STRING],
            "items": False,
            "minItems": 2,
            "maxItems": 2,
        },
    ),
    (dict, {"type": "object", "additionalProperties": {}}),
    (dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
    (Mapping[str, int], {"type": "object", "additionalProperties": INTEGER}),
    (
        dict[int, str],
        {"type": "object", "additionalProperties": STRING, "propertyNames": schema.INTEGER_KEY},
    ),
    (
        dict[float, str],
        {"type": "object", "additionalProperties": STRING, "propertyNames": schema.NUMBER_KEY},
    ),
    (
        dict[bool, str],
        {"type": "object", "additionalProperties": STRING, "propertyNames": {"not": {}}},
    ),
    (
        dict[Literal[1, "a"], str],
        {"type": "object", "additionalProperties": STRING, "propertyNames": {"enum": ["1", "a"]}},
    ),
    (
        dict[int | uuid.UUID, str],
        {
            "type": "object",
            "additionalProperties": STRING,
            "propertyNames": {"anyOf": [schema.INTEGER_KEY, {"pattern": schema.UUID["pattern"]}]},
        },
    ),
    (
        dict[Annotated[str, Meta(min_length=1, description="of a key")], int],
        {"type": "object", "additionalProperties": INTEGER, "propertyNames": {"minLength": 1}},
    ),
    (int | None, {"anyOf": [INTEGER, {"type": "null"}]}),
    (int | str, {"anyOf": [INTEGER, STRING]}),
    (
        Annotated[
            int,
            Meta(
                title="Size", description="in mm", examples=[3], extra_json_schema={"x-unit": "mm"}
            ),
        ],
        {**INTEGER, "title": "Size", "description": "in mm", "examples": [3], "x-unit": "mm"},
    ),
]


@pytest.mark.req("O-07")
@pytest.mark.parametrize(("annotation", "value"), BOTH, ids=lambda it: str(it)[:60])
def test_type_is_described_the_same_way_as_parameter_and_as_result(
    annotation: Any, value: Any
) -> None:
    assert accepts(annotation) == Schema(value, {}, "Input")
    assert returns(annotation) == Schema(value, {}, "Output")


DIFFERENT = [
    (decimal.Decimal, ANY_DECIMAL, schema.DECIMAL),
    (
        Annotated[set[int], Meta(min_length=1, max_length=3)],
        {"type": "array", "items": INTEGER, "minItems": 1},
        {"type": "array", "items": INTEGER, "minItems": 1, "maxItems": 3, "uniqueItems": True},
    ),
    (
        frozenset[Any],
        {"type": "array", "items": {"type": ["null", "boolean", "number", "string"]}},
        {"type": "array", "items": {}, "uniqueItems": True},
    ),
    (
        set[Annotated[str, Meta(title="Tag")]],
        {"type": "array", "items": {**STRING, "title": "Tag"}},
        {"type": "array", "items": {**STRING, "title": "Tag"}, "uniqueItems": True},
    ),
    (
        set[Raw],
        {"type": "array", "items": {"not": {}}},
        {"type": "array", "items": {}, "uniqueItems": True},
    ),
    (
        set[list[int]],
        {"type": "array", "items": {"not": {}}},
        {"type": "array", "items": {"type": "array", "items": INTEGER}, "uniqueItems": True},
    ),
    (
        Annotated[dict[float, int], Meta(min_length=1, max_length=3)],
        {
            "type": "object",
            "additionalProperties": INTEGER,
            "propertyNames": schema.NUMBER_KEY,
            "minProperties": 1,
        },
        {
            "type": "object",
            "additionalProperties": INTEGER,
            "propertyNames": schema.NUMBER_KEY,
            "minProperties": 1,
            "maxProperties": 3,
        },
    ),
    (Raw | None, {"anyOf": [{"type": "null"}]}, {"anyOf": [{}, {"type": "null"}]}),
]


@pytest.mark.parametrize(("annotation", "taken", "given"), DIFFERENT, ids=lambda it: str(it)[:60])
def test_parameter_takes_more_forms_than_a_result_has(
    annotation: Any, taken: Any, given: Any
) -> None:
    assert accepts(annotation).value == taken
    assert returns(annotation).value == given


class Color(enum.Enum):
    """What it looks like."""

    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Rights(enum.IntFlag):
    READ = 1
    WRITE = 2


class Lenient(enum.Enum):
    KNOWN = "known"

    @classmethod
    def _missing_(cls, value: object) -> Lenient:
        return cls.KNOWN


ENUMS = [
    (
        Color,
        {"title": "Color", "description": "What it looks like.", "enum": ["red", "blue"]},
        {"enum": ["red", "blue"]},
    ),
    (Level, {"title": "Level", "enum": [1, 2]}, {"enum": ["1", "2"]}),
    (Rights, {"title": "Rights", "type": "integer"}, schema.INTEGER_KEY),
    (Lenient, {"title": "Lenient", "type": "string"}, {}),
]


@pytest.mark.parametrize(("cls", "definition", "key"), ENUMS, ids=lambda it: str(it)[:30])
def test_enum_is_a_definition_with_its_values(cls: Any, definition: Any, key: Any) -> None:
    assert accepts(cls) == Schema(
        {"$ref": f"#/$defs/{cls.__name__}"}, {cls.__name__: definition}, "Input"
    )
    names = {"propertyNames": key} if key else {}
    assert accepts(dict[cls, Any]).value == {"type": "object", "additionalProperties": {}, **names}


class Item(Struct, rename="camel"):
    """One line of an order."""

    name: Annotated[str, Meta(min_length=1)]
    unit_price: float = 0.0
    tags: list[str] = []
    note: str | UnsetType = UNSET
    size: int | UnsetType = 3
    made: datetime.date = datetime.date(2026, 1, 31)
    check: Any = print


ITEM_FIELDS = {
    "name": {"type": "string", "minLength": 1},
    "unitPrice": {"type": "number", "default": 0.0},
    "tags": {"type": "array", "items": STRING, "default": []},
    "note": STRING,
    "size": {"type": "integer", "default": 3},
    "made": {**schema.DATE, "default": "2026-01-31"},
    "check": {},
}


@pytest.mark.req("O-07")
def test_struct_may_leave_out_what_has_a_default_and_gets_it_back() -> None:
    heading = {
        "title": "Item",
        "description": "One line of an order.",
        "type": "object",
        "properties": ITEM_FIELDS,
    }
    assert accepts(Item).definitions == {"Item": {**heading, "required": ["name"]}}
    written = ["name", "unitPrice", "tags", "made", "check"]
    assert returns(Item).definitions == {"Item": {**heading, "required": written}}


class Sparse(Struct, omit_defaults=True, forbid_unknown_fields=True):
    a: int
    b: int = 2


def test_struct_that_omits_defaults_and_forbids_other_fields() -> None:
    value = {
        "title": "Sparse",
        "type": "object",
        "properties": {"a": INTEGER, "b": {"type": "integer", "default": 2}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert accepts(Sparse).definitions == returns(Sparse).definitions == {"Sparse": value}


class Line(Struct, array_like=True):
    a: int
    b: int = 2


class Closed(Struct, array_like=True, tag="closed", forbid_unknown_fields=True):
    a: int
    b: int = 2


class Point(NamedTuple):
    x: int
    y: int = 0


class Blank(Struct, array_like=True):
    pass


PLACES = [INTEGER, {"type": "integer", "default": 2}]
ARRAYS = [
    (
        Line,
        {"prefixItems": PLACES, "minItems": 1},
        {"prefixItems": PLACES, "items": False, "minItems": 2, "maxItems": 2},
    ),
    (Blank, {"minItems": 0}, {"items": False, "minItems": 0, "maxItems": 0}),
    (
        Closed,
        {
            "prefixItems": [{"const": "closed"}, *PLACES],
            "items": False,
            "minItems": 2,
            "maxItems": 3,
        },
        {
            "prefixItems": [{"const": "closed"}, *PLACES],
            "items": False,
            "minItems": 3,
            "maxItems": 3,
        },
    ),
    (
        Point,
        {
            "prefixItems": [INTEGER, {"type": "integer", "default": 0}],
            "items": False,
            "minItems": 1,
            "maxItems": 2,
        },
        {
            "prefixItems": [INTEGER, {"type": "integer", "default": 0}],
            "items": False,
            "minItems": 2,
            "maxItems": 2,
        },
    ),
]


@pytest.mark.parametrize(
    ("cls", "taken", "given"), ARRAYS, ids=lambda it: getattr(it, "__name__", "")
)
def test_structs_and_named_tuples_that_are_arrays(cls: Any, taken: Any, given: Any) -> None:
    heading = {"title": cls.__name__, "type": "array"}
    assert accepts(cls).definitions == {cls.__name__: {**heading, **taken}}
    assert returns(cls).definitions == {cls.__name__: {**heading, **given}}


@dataclasses.dataclass
class Order:
    id: int
    note: str = ""
    lines: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True)
class Slotted:
    id: int
    note: str = ""


def test_dataclass_that_was_read_by_msgspec_is_written_without_its_defaults() -> None:
    properties = {"id": INTEGER, "note": {"type": "string", "default": ""}}
    order = {
        "title": "Order",
        "type": "object",
        "properties": {**properties, "lines": {"type": "array", "items": INTEGER, "default": []}},
    }
    assert accepts(Order).definitions == {"Order": {**order, "required": ["id"]}}
    assert returns(Order).definitions == {"Order": {**order, "required": ["id", "lines"]}}
    slotted = {"title": "Slotted", "type": "object", "properties": properties}
    assert returns(Slotted).definitions == {"Slotted": {**slotted, "required": ["id", "note"]}}


class Options(TypedDict, total=False):
    depth: Required[int]
    name: str


class Whole(TypedDict):
    name: NotRequired[str]


def test_typed_dict_has_the_fields_that_it_requires() -> None:
    options = {
        "title": "Options",
        "type": "object",
        "properties": {"depth": INTEGER, "name": STRING},
        "required": ["depth"],
    }
    assert accepts(Options).definitions == returns(Options).definitions == {"Options": options}
    whole = {"title": "Whole", "type": "object", "properties": {"name": STRING}}
    assert accepts(Whole).definitions == {"Whole": whole}


class Circle(Struct, tag=True):
    radius: float


class Square(Struct, tag="square", tag_field="kind"):
    side: float


class Round(Struct, tag="round", tag_field="kind"):
    radius: float


def test_tag_of_a_struct_is_needed_where_it_decides() -> None:
    circle = {
        "title": "Circle",
        "type": "object",
        "properties": {"type": {"const": "Circle"}, "radius": {"type": "number"}},
    }
    assert accepts(Circle).definitions == {"Circle": {**circle, "required": ["radius"]}}
    assert returns(Circle).definitions == {"Circle": {**circle, "required": ["type", "radius"]}}
    assert accepts(Square | Round | None).value == {
        "anyOf": [
            {"$ref": "#/$defs/Square", "required": ["kind"]},
            {"$ref": "#/$defs/Round", "required": ["kind"]},
            {"type": "null"},
        ]
    }


class Tree(Struct):
    value: int
    kids: list[Tree] = []


class Page(Struct, Generic[T]):
    items: list[T]


def test_recursive_type_refers_to_itself() -> None:
    assert accepts(Tree).definitions["Tree"]["properties"]["kids"] == {
        "type": "array",
        "items": {"$ref": "#/$defs/Tree"},
        "default": [],
    }


def test_generic_class_is_named_with_its_arguments() -> None:
    found = accepts(tuple[Page[int], Page[list[Tree]]]).definitions
    assert {name: each["title"] for name, each in found.items()} == {
        "Page_int": "Page[int]",
        "Page_list_Tree": "Page[list[Tree]]",
        "Tree": "Tree",
    }


def _named(name: str, module: str) -> Any:
    cls = dataclasses.make_dataclass(name, [("a", int)])
    cls.__module__ = module
    return cls


def test_classes_of_one_name_are_called_by_their_modules() -> None:
    first, second = _named("User", "shop.users"), _named("User", "crm.users")
    found = accepts(GenericAlias(tuple, (first, second)))
    assert [each["$ref"] for each in found.value["prefixItems"]] == [
        "#/$defs/shop.users.User",
        "#/$defs/crm.users.User",
    ]
    assert found.definitions.keys() == {"shop.users.User", "crm.users.User"}


def test_classes_of_one_name_in_one_module_are_numbered() -> None:
    first, second = _named("User", "shop.users"), _named("User", "shop.users")
    assert accepts(GenericAlias(tuple, (first, second))).definitions.keys() == {"User", "User_2"}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="only on Python 3.12 and newer")
def test_type_alias_is_what_it_stands_for() -> None:
    scope: dict[str, Any] = {}
    exec("type Ids = list[int]", scope)
    assert accepts(scope["Ids"]).value == {"type": "array", "items": INTEGER}


def test_annotations_that_cannot_be_hashed_are_described_too() -> None:
    assert accepts(Annotated[int, {"not": "hashable"}]).value == INTEGER
    assert returns(Annotated[int, {"not": "hashable"}]).value == INTEGER


def test_annotation_that_no_parameter_can_have_is_refused() -> None:
    with pytest.raises(RegistrationError):
        accepts(SimpleNamespace)


# Results that no parameter can have


@pytest.mark.parametrize(
    "annotation", [SimpleNamespace, Iterator[int], list[SimpleNamespace | int], "nonsense"]
)
def test_result_that_cannot_be_described_is_anything(annotation: Any) -> None:
    assert returns(annotation).value in ({}, {"type": "array", "items": {}}), returns(annotation)


def test_result_may_be_a_union_that_no_parameter_can_have() -> None:
    found = returns(Item | Sparse | None)
    assert found.value == {
        "anyOf": [{"$ref": "#/$defs/Item"}, {"$ref": "#/$defs/Sparse"}, {"type": "null"}]
    }
    assert found.definitions == {**returns(Item).definitions, **returns(Sparse).definitions}
    assert returns(list[Order | Slotted]).value == {
        "type": "array",
        "items": {"anyOf": [{"$ref": "#/$defs/Order"}, {"$ref": "#/$defs/Slotted"}]},
    }


# pydantic


class Address(BaseModel):
    """Where someone lives."""

    model_config = ConfigDict(extra="forbid")
    street: str
    zip_code: str = Field(default="", alias="zip", pattern=r"^\d+\z", max_length=5)
    tags: set[str] = Field(default=set(), max_length=3)
    next: Address | None = None

    @computed_field
    def label(self) -> str:
        return self.street


ADDRESS_FIELDS: dict[str, Any] = {
    "street": STRING,
    "zip": {"type": "string", "pattern": r"^\d+$", "maxLength": 5, "default": ""},
    "tags": {"type": "array", "items": STRING, "default": []},
    "next": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}], "default": None},
}


@pytest.mark.req("O-07")
def test_pydantic_model_is_described_by_pydantic() -> None:
    heading = {
        "title": "Address",
        "description": "Where someone lives.",
        "type": "object",
        "additionalProperties": False,
    }
    assert accepts(Address) == Schema(
        {"$ref": "#/$defs/Address"},
        {"Address": {**heading, "properties": ADDRESS_FIELDS, "required": ["street"]}},
        "Input",
    )
    written = {
        **ADDRESS_FIELDS,
        "tags": {**ADDRESS_FIELDS["tags"], "maxItems": 3, "uniqueItems": True},
        "label": {"type": "string", "readOnly": True},
    }
    assert returns(Address).definitions == {
        "Address": {**heading, "properties": written, "required": [*written]}
    }


FOREIGN = [
    (
        Annotated[int, Field(ge=1, description="of it")],
        {**INTEGER, "minimum": 1, "description": "of it"},
    ),
    (Annotated[int, Interval(gt=1, le=3)], {**INTEGER, "exclusiveMinimum": 1, "maximum": 3}),
    (
        Annotated[list[int], Len(1, 2)],
        {"type": "array", "items": INTEGER, "minItems": 1, "maxItems": 2},
    ),
    (Annotated[float, Field(multiple_of=0.1)], {"type": "number"}),
    (
        Annotated[decimal.Decimal, Field(ge=0)],
        {"anyOf": [{"type": "number", "minimum": 0.0}, STRING]},
    ),
    (Annotated[complex, Field()], {"type": ["number", "string"]}),
    (
        Annotated[bytes, Field(min_length=2, max_length=3)],
        {"type": "string", "format": "binary", "maxLength": 3},
    ),
    (
        Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=3)],
        {**STRING, "minLength": 1},
    ),
    (Annotated[str, Field(pattern="(?i)a")], STRING),
    (
        Annotated[tuple[int, str], Field()],
        {
            "type": "array",
            "prefixItems": [INTEGER, STRING],
            "items": False,
            "minItems": 2,
            "maxItems": 2,
        },
    ),
    (
        Annotated[dict[str, int], Len(1, 2)],
        {"type": "object", "additionalProperties": INTEGER, "minProperties": 1, "maxProperties": 2},
    ),
    (
        Annotated[dict[int, int], Len(1, 2)],
        {"type": "object", "additionalProperties": INTEGER, "minProperties": 1},
    ),
    (
        dict[Annotated[str, Field(min_length=2)], int],
        {"type": "object", "additionalProperties": INTEGER, "propertyNames": {"minLength": 2}},
    ),
    (
        Annotated[dict[Color, int], Field()],
        {
            "type": "object",
            "additionalProperties": INTEGER,
            "propertyNames": {"enum": ["red", "blue"]},
        },
    ),
    (Annotated[dict[Level, int], Field()], {"type": "object", "additionalProperties": INTEGER}),
    (
        Annotated[set[Any], Field()],
        {"type": "array", "items": {"type": ["null", "boolean", "number", "string"]}},
    ),
    (
        Annotated[frozenset[tuple[int, ...]], Field()],
        {"type": "array", "items": {"type": "array", "items": INTEGER}},
    ),
    (Annotated[set[list[int]], Field()], {"type": "array", "items": {"not": {}}}),
    (Annotated[dict, Field()], {"type": "object", "additionalProperties": {}}),
    (collections.deque[int], {"type": "array", "items": INTEGER}),
]


@pytest.mark.parametrize(("annotation", "value"), FOREIGN, ids=lambda it: str(it)[:60])
def test_constraint_of_pydantic_is_described_as_strict_reading_takes_it(
    annotation: Any, value: Any
) -> None:
    assert accepts(annotation) == Schema(value, {}, "Input")


def test_pydantic_takes_true_for_one_which_no_schema_tells() -> None:
    assert accepts(Annotated[Literal[1, 2], Field()]).value == {"enum": [1, 2], "type": "integer"}


class Outer(Struct):
    address: Address
    other: Any


def test_result_may_hold_a_pydantic_model_in_a_struct() -> None:
    found = returns(Outer)
    assert found.definitions["Outer"]["properties"]["address"] == {"$ref": "#/$defs/Address"}
    assert found.definitions["Address"] == returns(Address).definitions["Address"]
    namesake = dataclasses.make_dataclass("Address", [("address", Address)])
    found = returns(namesake)
    assert found.value == {"$ref": "#/$defs/Address"}
    assert found.definitions.keys() == {"Address", "AddressOutput"}
    assert found.definitions["Address"]["properties"] == {
        "address": {"$ref": "#/$defs/AddressOutput"}
    }


class Odd(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True, val_json_bytes="base64")
    thing: SimpleNamespace
    data: bytes = Field(default=b"", max_length=3)
    point: Point = Point(1)
    secret: str = Field(default="", exclude=True)


def test_model_has_parts_that_only_pydantic_can_write() -> None:
    point = {
        "type": "array",
        "prefixItems": [INTEGER, {"type": "integer", "default": 0}],
        "items": False,
        "minItems": 1,
        "maxItems": 2,
    }
    assert returns(Odd).definitions == {
        "Odd": {
            "title": "Odd",
            "type": "object",
            "properties": {
                "thing": {},
                "data": {"type": "string", "format": "binary", "default": ""},
                "point": {"$ref": "#/$defs/Point", "default": [1, 0]},
            },
            "required": ["thing", "data", "point"],
        },
        "Point": point,
    }


def test_arguments_of_generic_namesakes_may_be_values() -> None:
    first, second = (GenericAlias(_named("User", module), (Literal["a"],)) for module in ("a", "b"))
    assert title(first) == "User[Literal[a]]"
    assert list(name_classes([first, second]).values()) == [
        "a.User_typing.Literal_.a",
        "b.User_typing.Literal_.a",
    ]


class _Renamed(Struct, Generic[T]):
    """A struct that keeps its former name in documents."""

    __schema_name__ = "Former"

    value: T


class _Heir(_Renamed[int]):
    """A subclass, which is called by its own name."""


def test_a_class_can_keep_another_name_in_documents() -> None:
    assert title(_Renamed) == "Former"
    assert title(_Renamed[int]) == "Former[int]"
    assert title(_Heir) == "_Heir"
    assert name_classes([_Renamed[int]]) == {_Renamed[int]: "Former_int"}
    assert returns(_Renamed[int]).definitions["Former_int"]["title"] == "Former[int]"
