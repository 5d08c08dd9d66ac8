"""Annotations of every kind, made up by hypothesis, each with values that it should take."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import keyword
import uuid
from collections import namedtuple
from collections.abc import Callable
from types import GenericAlias
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    Optional,
    Required,
    Union,
    cast,
)

import msgspec
import typing_extensions
from annotated_types import Interval, Len, MultipleOf
from hypothesis import strategies as st
from msgspec import Meta, Raw, UnsetType
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, create_model

Values = st.SearchStrategy[Any]


class Typed(NamedTuple):
    """An annotation, and JSON values most of which it takes."""

    annotation: Any
    values: Values


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 1


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"


class Rights(enum.IntFlag):
    READ = 1
    WRITE = 2


class Guess(enum.Enum):
    KNOWN = "known"

    @classmethod
    def _missing_(cls, value: object) -> Guess:
        return cls.KNOWN


class Mixed(enum.Enum):
    ONE = "one"
    HALF = 0.5


class Tree(msgspec.Struct):
    value: int
    kids: list[Tree] = []


class Branch(BaseModel):
    value: int
    kids: list[Branch] = []


class Point(NamedTuple):
    x: int
    y: float = 0.0


class Place(NamedTuple):
    x: Annotated[int, Field(ge=0)]
    name: str = ""


class Renamed(BaseModel):
    model_config = ConfigDict(populate_by_name=True, extra="forbid")
    size: int = Field(alias="Size")
    kind: str = Field(default="", alias="Kind")


class Found(BaseModel):
    id: int = Field(validation_alias=AliasChoices("id", "key", AliasPath("ids", 0)))
    note: str = Field(default="", validation_alias=AliasPath("notes", "first"))


class Stripped(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True)
    word: str = Field(max_length=3)


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Square(msgspec.Struct, tag=True):
    side: float


class Circle(msgspec.Struct, tag=True):
    radius: float


class Pair(msgspec.Struct, array_like=True, tag="pair", forbid_unknown_fields=True):
    left: int
    right: str = ""


INTEGERS = st.integers(-100, 100) | st.integers()
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-100, 100)
WORDS = st.text("abcXYZ 0189-_é\n", max_size=6) | st.text(max_size=4)
OFFSETS = st.sampled_from(["", "Z", "z", "+01:00", "-2359", "+24:00", "+1"])
DATES = st.dates().map(str) | st.sampled_from(
    ["2021-02-29", "0000-01-01", "2020-1-1", "2020-04-31"]
)
TIMES = st.times().map(str) | st.sampled_from(["24:00:00", "12:00", "00:00:60", "00:00:00.1234567"])
DATETIMES = st.builds("{}{}{}{}".format, DATES, st.sampled_from("Tt _"), TIMES, OFFSETS)
DURATIONS = st.timedeltas().map(
    lambda it: msgspec.json.decode(msgspec.json.encode(it))
) | st.from_regex(
    r"[+-]?[Pp](\d{1,3}[DdWwY](\d[Dd])?)?([Tt](\d[Hh])?(\d[Mm])?(\d(\.\d)?[Ss])?)?", fullmatch=True
)
UUIDS = st.builds(
    lambda it, form: form(it),
    st.uuids(),
    st.sampled_from(
        [
            str,
            lambda it: it.hex,
            lambda it: it.urn,
            lambda it: f"{{{it}}}",
            lambda it: str(it).upper(),
        ]
    ),
)
DECIMALS = (
    st.decimals().map(str)
    | INTEGERS
    | FLOATS
    | st.sampled_from([" 1 ", "1_0", "NaN", "x", "1.5", ".5", "1e5"])
)
BYTES = st.binary(max_size=7).map(lambda it: base64.b64encode(it).decode()) | st.sampled_from(
    ["YQ", "YR==", "-_=="]
)

SCALARS = st.none() | st.booleans() | INTEGERS | FLOATS | WORDS
ANYTHING: Values = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)

NATIVE_LEAVES = [
    Typed(int, INTEGERS),
    Typed(Annotated[int, Meta(ge=0)], INTEGERS),
    Typed(Annotated[int, Meta(gt=-5, lt=5)], INTEGERS),
    Typed(Annotated[int, Meta(multiple_of=5)], INTEGERS),
    Typed(float, FLOATS),
    Typed(Annotated[float, Meta(ge=-1.5, le=10)], FLOATS),
    Typed(Annotated[float, Meta(multiple_of=0.5)], FLOATS),
    Typed(bool, st.booleans()),
    Typed(None, st.none()),
    Typed(str, WORDS),
    Typed(Annotated[str, Meta(min_length=1, max_length=3)], WORDS),
    Typed(Annotated[str, Meta(pattern=r"^[a-c]+(?P<end>X|\Z)")], st.text("abcX", max_size=4)),
    Typed(Annotated[str, Meta(pattern=r"(?i)abc")], st.text("abcABC", max_size=4)),
    Typed(bytes, BYTES),
    Typed(bytearray, BYTES),
    Typed(Annotated[bytes, Meta(min_length=1, max_length=4)], BYTES),
    Typed(datetime.datetime, DATETIMES),
    Typed(Annotated[datetime.datetime, Meta(tz=True)], DATETIMES),
    Typed(Annotated[datetime.datetime, Meta(tz=False)], DATETIMES),
    Typed(datetime.date, DATES),
    Typed(datetime.time, st.builds("{}{}".format, TIMES, OFFSETS)),
    Typed(Annotated[datetime.time, Meta(tz=True)], st.builds("{}{}".format, TIMES, OFFSETS)),
    Typed(datetime.timedelta, DURATIONS),
    Typed(uuid.UUID, UUIDS),
    Typed(decimal.Decimal, DECIMALS),
    Typed(Level, st.integers(-1, 3)),
    Typed(Mode, st.sampled_from(["fast", "slow", "none"])),
    Typed(Rights, st.integers(-1, 5)),
    Typed(Guess, WORDS),
    Typed(Literal["a", "b"], st.sampled_from("abc")),
    Typed(Literal[1, "a", None], st.sampled_from([1, 2, "a", "b", None])),
    Typed(Any, ANYTHING),
    Typed(object, ANYTHING),
    Typed(Raw, ANYTHING),
    Typed(
        Tree, st.fixed_dictionaries({"value": INTEGERS}, optional={"kids": st.just([{"value": 1}])})
    ),
    Typed(Point, st.tuples(INTEGERS, FLOATS).map(list) | st.lists(FLOATS, max_size=3)),
    Typed(
        Square | Circle | None,
        st.fixed_dictionaries(
            {"type": st.sampled_from(["Square", "Circle", "Other"]), "side": FLOATS},
            optional={"radius": FLOATS},
        ),
    ),
    Typed(
        Square,
        st.fixed_dictionaries(
            {"side": FLOATS}, optional={"type": st.sampled_from(["Square", "x"])}
        ),
    ),
    Typed(Pair, st.tuples(st.sampled_from(["pair", "x"]), INTEGERS, WORDS).map(list)),
]

FOREIGN_LEAVES = [
    Typed(Annotated[int, Field(ge=0)], INTEGERS),
    Typed(Annotated[int, Interval(gt=-5, lt=5)], INTEGERS),
    Typed(Annotated[int, MultipleOf(5)], INTEGERS),
    Typed(Annotated[float, Field(ge=-1.5, le=10)], FLOATS),
    Typed(
        Annotated[float, Field(multiple_of=0.1)],
        st.integers(-20, 20).map(lambda it: it / 10) | FLOATS,
    ),
    Typed(Annotated[bool, Field()], st.booleans()),
    Typed(Annotated[str, Field(min_length=1, max_length=3)], WORDS),
    Typed(Annotated[str, Field(pattern="^[a-c]+$")], st.text("abcX", max_size=4)),
    Typed(Annotated[bytes, Field(min_length=2, max_length=4)], WORDS),
    Typed(Annotated[datetime.datetime, Field()], DATETIMES),
    Typed(Annotated[datetime.date, Field()], DATES),
    Typed(Annotated[datetime.time, Field()], TIMES),
    Typed(Annotated[datetime.timedelta, Field()], DURATIONS),
    Typed(Annotated[uuid.UUID, Field()], UUIDS),
    Typed(Annotated[decimal.Decimal, Field(ge=0, max_digits=5)], DECIMALS),
    Typed(Annotated[Mode, Field()], st.sampled_from(["fast", "slow", "none"])),
    Typed(Mixed, st.sampled_from(["one", 0.5, "two"])),
    Typed(Annotated[Rights, Field()], st.integers(-1, 5)),
    Typed(Annotated[Guess, Field()], WORDS),
    Typed(Annotated[Literal["a", "b"], Field()], st.sampled_from("abc")),
    Typed(Annotated[complex, Field()], INTEGERS | st.just("1+2j")),
    Typed(
        Branch,
        st.fixed_dictionaries({"value": INTEGERS}, optional={"kids": st.just([{"value": 1}])}),
    ),
    Typed(
        Place,
        st.tuples(INTEGERS, WORDS).map(list)
        | st.fixed_dictionaries({"x": INTEGERS}, optional={"name": WORDS}),
    ),
    Typed(
        Renamed,
        st.fixed_dictionaries(
            {}, optional={"Size": INTEGERS, "size": INTEGERS, "Kind": WORDS, "kind": WORDS}
        ),
    ),
    Typed(
        Found,
        st.fixed_dictionaries(
            {},
            optional={
                "id": INTEGERS,
                "key": INTEGERS,
                "ids": st.lists(INTEGERS, max_size=1),
                "notes": st.fixed_dictionaries({}, optional={"first": WORDS}),
                "note": INTEGERS,
            },
        ),
    ),
    Typed(Stripped, st.fixed_dictionaries({"word": WORDS})),
    Typed(
        Annotated[Cat | Dog, Field(discriminator="kind")],
        st.fixed_dictionaries({"kind": st.sampled_from(["cat", "dog", "cow"]), "name": WORDS}),
    ),
]


def _lists(inner: Typed, length: Callable[[int, int], Any]) -> st.SearchStrategy[Typed]:
    values = st.lists(inner.values, max_size=4)
    it: Any = inner.annotation
    plain: list[Any] = [GenericAlias(kind, it) for kind in (list, set, frozenset)]
    plain.append(GenericAlias(tuple, (it, ...)))
    return st.sampled_from(
        [Typed(each, values) for each in plain]
        + [Typed(Annotated[each, length(1, 2)], values) for each in plain]
    )


def _tuples(parts: list[Typed]) -> Typed:
    annotation = GenericAlias(tuple, tuple(part.annotation for part in parts))
    return Typed(annotation, st.tuples(*(part.values for part in parts)).map(list))


NATIVE_KEYS = [
    Typed(str, WORDS),
    Typed(Annotated[str, Meta(min_length=2)], WORDS),
    Typed(int, INTEGERS.map(str) | st.sampled_from(["01", "-0", "1.0", ""])),
    Typed(float, FLOATS.map(str) | st.sampled_from(["nan", "-inf", "Infinity", "1e5", ".5"])),
    Typed(int | float, FLOATS.map(str)),
    Typed(str | int, WORDS),
    Typed(uuid.UUID, UUIDS),
    Typed(datetime.date, DATES),
    Typed(bytes, BYTES),
    Typed(decimal.Decimal, st.decimals().map(str)),
    Typed(Level, st.integers(-1, 3).map(str)),
    Typed(Mode, st.sampled_from(["fast", "slow", "FAST"])),
    Typed(Literal[1, "a"], st.sampled_from(["1", "a", "b"])),
    Typed(bool, st.sampled_from(["true", "1"])),
    Typed(Any, WORDS),
]
FOREIGN_KEYS = [
    Typed(str, WORDS),
    Typed(Annotated[str, Field(min_length=2, pattern="^a")], WORDS),
    Typed(int, INTEGERS.map(str) | st.sampled_from(["01", " 1", "1.0", "1_0"])),
    Typed(float, FLOATS.map(str)),
    Typed(Level, st.integers(-1, 3).map(str)),
    Typed(Mode, st.sampled_from(["fast", "slow", "FAST"])),
    Typed(bool, st.sampled_from(["true", "1", "x"])),
]


def _dicts(keys: list[Typed], length: Callable[[int, int], Any]) -> Any:
    def build(key: Typed, inner: Typed, limited: bool) -> Typed:
        annotation: Any = GenericAlias(dict, (key.annotation, inner.annotation))
        if limited:
            annotation = Annotated[annotation, length(1, 2)]
        return Typed(annotation, st.dictionaries(key.values, inner.values, max_size=3))

    return lambda inner: st.builds(build, st.sampled_from(keys), st.just(inner), st.booleans())


def _unions(parts: list[Typed]) -> Typed:
    annotation: Any = Union[tuple(part.annotation for part in parts)]  # noqa: UP007
    return Typed(annotation, st.one_of(*(part.values for part in parts)))


def _optional(part: Typed) -> Typed:
    return Typed(Optional[part.annotation], st.none() | part.values)  # noqa: UP045


NAMES = [name for name in ("a", "b", "long_name", "d4") if not keyword.iskeyword(name)]


class Fields(NamedTuple):
    """The fields of a class: their types, and which have defaults."""

    types: list[Typed]
    optional: list[bool]

    @property
    def all(self) -> list[tuple[str, Typed, bool]]:
        # Fields without defaults come first, as dataclasses and named tuples want it.
        pairs = sorted(zip(self.types, self.optional, strict=False), key=lambda it: it[1])
        return [
            (name, typed, optional) for name, (typed, optional) in zip(NAMES, pairs, strict=False)
        ]

    def objects(self, rename: Callable[[str], str] = str) -> Values:
        given = {rename(name): typed.values for name, typed, optional in self.all if not optional}
        others = {rename(name): typed.values for name, typed, optional in self.all if optional}
        return st.fixed_dictionaries(given, optional={**others, "more": SCALARS})

    def arrays(self) -> Values:
        values: list[Values] = [typed.values for _, typed, _ in self.all]
        shorter = st.integers(0, 1)
        return st.builds(lambda it, cut: list(it)[: len(it) - cut], st.tuples(*values), shorter)


def _struct(fields: Fields, array_like: bool, forbid: bool, camel: bool, frozen: bool) -> Typed:
    cls = msgspec.defstruct(
        "Made",
        [
            (name, _optional(typed).annotation, msgspec.field(default=None))
            if optional
            else (
                name,
                typed.annotation | UnsetType
                if typed.annotation in (int, str)
                else typed.annotation,
            )
            for name, typed, optional in fields.all
        ],
        array_like=array_like,
        forbid_unknown_fields=forbid,
        rename="camel" if camel else None,
        frozen=frozen,
    )
    if array_like:
        return Typed(cls, fields.arrays())
    return Typed(cls, fields.objects(_camel if camel else str))


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def _dataclass(fields: Fields, frozen: bool) -> Typed:
    made = dataclasses.make_dataclass(
        "MadeToo",
        [
            (name, _optional(typed).annotation, dataclasses.field(default=None))
            if optional
            else (name, typed.annotation)
            for name, typed, optional in fields.all
        ],
        frozen=frozen,
    )
    return Typed(made, fields.objects())


def _typed_dict(fields: Fields, total: bool) -> Typed:
    may, must, make = cast(Any, (NotRequired, Required, typing_extensions.TypedDict))
    hints = {
        name: (may if optional else must)[typed.annotation] for name, typed, optional in fields.all
    }
    return Typed(make("MadeAgain", hints, total=total), fields.objects())


def _named_tuple(fields: Fields) -> Typed:
    make: Any = namedtuple
    made = make(
        "MadeSmall",
        [name for name, _, _ in fields.all],
        defaults=[None for _, _, optional in fields.all if optional],
    )
    made.__annotations__ = {
        name: (_optional(typed) if optional else typed).annotation
        for name, typed, optional in fields.all
    }
    return Typed(made, fields.arrays())


def _model(fields: Fields, forbid: bool, allow: bool, frozen: bool) -> Typed:
    extra: Literal["forbid", "allow", "ignore"] = (
        "forbid" if forbid else "allow" if allow else "ignore"
    )
    members: dict[str, Any] = {
        name: (_optional(typed).annotation, None) if optional else typed.annotation
        for name, typed, optional in fields.all
    }
    made = create_model("MadeModel", __config__=ConfigDict(extra=extra, frozen=frozen), **members)
    return Typed(made, fields.objects())


def _fields(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Fields]:
    return st.builds(
        Fields, st.lists(inner, max_size=3), st.lists(st.booleans(), min_size=3, max_size=3)
    )


YES_OR_NO = st.booleans()


def _native(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    fields = _fields(inner)
    return st.one_of(
        inner.flatmap(
            lambda it: _lists(it, lambda low, high: Meta(min_length=low, max_length=high))
        ),
        st.lists(inner, max_size=3).map(_tuples),
        inner.flatmap(_dicts(NATIVE_KEYS, lambda low, high: Meta(min_length=low, max_length=high))),
        inner.map(_optional),
        st.lists(inner, min_size=2, max_size=3).map(_unions),
        st.builds(_struct, fields, YES_OR_NO, YES_OR_NO, YES_OR_NO, YES_OR_NO),
        st.builds(_dataclass, fields, YES_OR_NO),
        st.builds(_typed_dict, fields, YES_OR_NO),
        fields.map(_named_tuple),
    )


def _foreign(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    fields = _fields(inner)
    return st.one_of(
        inner.flatmap(lambda it: _lists(it, Len)),
        st.lists(inner, min_size=1, max_size=3).map(_tuples),
        inner.flatmap(_dicts(FOREIGN_KEYS, Len)),
        inner.map(_optional),
        st.lists(inner, min_size=2, max_size=3).map(_unions),
        st.builds(_dataclass, fields, YES_OR_NO),
        st.builds(_typed_dict, fields, YES_OR_NO),
        fields.map(_named_tuple),
        st.builds(_model, fields, YES_OR_NO, YES_OR_NO, YES_OR_NO),
    )


NATIVE = st.recursive(st.sampled_from(NATIVE_LEAVES), _native, max_leaves=4)
FOREIGN = st.recursive(st.sampled_from(FOREIGN_LEAVES), _foreign, max_leaves=4)
ANNOTATIONS = NATIVE | FOREIGN


@st.composite
def given_to(draw: st.DrawFn, typed: Typed) -> Any:
    """A value for a parameter of that type: of the type, nearly of the type, or anything."""
    value = draw(typed.values | ANYTHING if draw(st.integers(0, 4)) == 0 else typed.values)
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        value = draw(_changed(value))
    return value


@st.composite
def _changed(draw: st.DrawFn, value: Any) -> Any:
    """`value` with one part of it replaced, taken away, doubled or added."""
    if isinstance(value, list) and value and draw(st.booleans()):
        index = draw(st.integers(0, len(value) - 1))
        part = draw(_changed(value[index]))
        kept = draw(st.sampled_from([[part], [], [part, value[index]]]))
        return [*value[:index], *kept, *value[index + 1 :]]
    if isinstance(value, dict) and value and draw(st.booleans()):
        name = draw(st.sampled_from(sorted(value)))
        rest = {key: each for key, each in value.items() if key != name}
        return draw(
            st.sampled_from(
                [rest, {**value, "more": 1}, {**rest, name: draw(_changed(value[name]))}]
            )
        )
    if isinstance(value, str) and value and draw(st.booleans()):
        index = draw(st.integers(0, len(value) - 1))
        return value[:index] + draw(st.sampled_from("0aZ-+:.T \n")) + value[index + 1 :]
    return draw(ANYTHING)
