"""From params to arguments: the decoders of single values, and properties of all signatures."""

from __future__ import annotations

import string
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, NewType, TypedDict, TypeVar, Union

import pytest
from hypothesis import given, strategies as st
from msgspec import Meta, Raw, Struct
from msgspec.json import encode

from accord.jsonrpc.methods.binding import Binder
from accord.jsonrpc.methods.context import Context
from accord.jsonrpc.methods.method import make_method
from accord.jsonrpc.methods.signature import read_signature, survey
from accord.jsonrpc.protocol.channel import ChannelInfo
from accord.jsonrpc.protocol.errors import InvalidParamsError, RegistrationError


class Item(Struct):
    name: str


class Options(TypedDict):
    depth: int


@dataclass
class Account:
    id: int


class Pair(NamedTuple):
    item: Item
    next: Pair | None = None


class Custom:
    """A class that neither msgspec nor pydantic knows."""


class HoldsCustom(Struct):
    custom: list[Custom]


class Unresolvable(Struct):
    a: Missing  # type: ignore[name-defined]  # noqa: F821


class Foreign:
    """Metadata as annotated_types has it, without its being installed."""

    def __repr__(self) -> str:
        return "Gt(gt=0)"


Foreign.__module__ = "annotated_types"
GT = Foreign()


class HoldsForeign(Struct):
    count: Annotated[int, GT]


@dataclass
class DataWithForeign:
    count: Annotated[int, GT]


class DictWithForeign(TypedDict):
    count: Annotated[int, GT]


class TupleWithForeign(NamedTuple):
    size: Annotated[int, GT]


Score = NewType("Score", DataWithForeign)
Bound = TypeVar("Bound", bound=DictWithForeign)


def refused(annotation: Any, **defaults: Any) -> str:
    def it(a: Any) -> None: ...

    it.__annotations__ = {"a": annotation}
    it.__defaults__ = tuple(defaults.values()) or None
    with pytest.raises(RegistrationError) as caught:
        make_method(it, "it")
    subject, _, reason = str(caught.value).partition("parameter 'a': ")
    assert subject == f"method 'it' ({__name__}.refused.<locals>.it): "
    return reason


@pytest.fixture
def without_pydantic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "accord.jsonrpc.methods.pydantic_types", raising=False)
    monkeypatch.setitem(sys.modules, "pydantic", None)


ADVICE = (
    "and pydantic is not installed: install accord[pydantic], or declare the parameter with "
    "msgspec's types and constraints"
)


@pytest.mark.usefixtures("without_pydantic")
@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[int, GT],
        list[Annotated[int, GT]],
        DataWithForeign,
        DictWithForeign | None,
        tuple[TupleWithForeign, int],
        Score,
        Bound,
    ],
)
def test_a_constraint_that_msgspec_would_ignore_needs_pydantic(annotation: Any) -> None:
    assert refused(annotation) == f"the constraint Gt(gt=0) needs pydantic, {ADVICE}"


@pytest.mark.usefixtures("without_pydantic")
def test_a_class_that_msgspec_does_not_know_needs_pydantic() -> None:
    assert refused(Custom) == f"msgspec does not know the class Custom, {ADVICE}"
    assert refused(list[complex]) == f"msgspec does not know the class complex, {ADVICE}"


@pytest.mark.usefixtures("without_pydantic")
def test_without_pydantic_everything_else_works() -> None:
    def it(a: int, b: Item, c: Pair | None = None) -> Any:
        return a, b, c

    assert make_method(it, "it").invoke(b'[1, {"name": "x"}]', None) == (1, Item("x"), None)


def test_a_constraint_inside_a_struct_is_not_lost() -> None:
    assert refused(HoldsForeign) == (
        "the constraint Gt(gt=0) is for pydantic and the msgspec struct HoldsForeign for msgspec, "
        "and each ignores the other's: declare this parameter with the types of one of them"
    )


@pytest.mark.parametrize(
    ("annotation", "native"),
    [
        (Annotated[int, GT, Meta(lt=9)], "the constraint msgspec.Meta(lt=9)"),
        (Annotated[Item, GT], "the msgspec struct Item"),
        (Annotated[Raw, GT], "msgspec.Raw"),
    ],
)
def test_constraints_of_both_kinds_are_refused(annotation: Any, native: str) -> None:
    assert refused(annotation) == (
        f"the constraint Gt(gt=0) is for pydantic and {native} for msgspec, and each ignores the "
        "other's: declare this parameter with the types of one of them"
    )


def test_a_union_that_msgspec_cannot_tell_apart_is_refused() -> None:
    reason = refused(Item | Account)
    assert reason.startswith("Type unions may not contain more than one dict-like type")
    assert reason.endswith(", and pydantic does not know the msgspec struct Item")


WORD = Annotated[str, Meta(pattern="^a")]
Word = NewType("Word", WORD)


@pytest.mark.parametrize(
    "annotation",
    [WORD | list[int], Word | None | dict[str, int], WORD | Annotated[set[int], Meta(title="It")]],
)
def test_a_union_of_a_pattern_and_a_collection_would_crash_and_is_refused(annotation: Any) -> None:
    assert refused(annotation) == (
        "a union cannot hold a collection beside the constraint msgspec.Meta(pattern='^a'): "
        "msgspec breaks over it; check the pattern in the function, or use a struct"
    )


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[int, Meta(ge=1)] | tuple[int, str],
        list[Annotated[int, Meta(ge=1)] | tuple[()] | None],
    ],
)
def test_a_union_of_a_constraint_and_a_fixed_tuple_would_crash_and_is_refused(
    annotation: Any,
) -> None:
    assert refused(annotation) == (
        "a union cannot hold a tuple of fixed length beside the constraint msgspec.Meta(ge=1): msgspec "
        "breaks over it; take a list, a NamedTuple or a struct instead of the tuple"
    )


@pytest.mark.parametrize(
    "annotation",
    [
        WORD | int | None,
        WORD | Item,
        Annotated[int, Meta(ge=1)] | list[int],
        Annotated[int, Meta(ge=1)] | tuple[int, ...],
        Annotated[int, Meta(title="It")] | tuple[int, int],
        int | tuple[int, int],
    ],
)
def test_other_unions_with_constraints_are_served(annotation: Any) -> None:
    def it(value: Any) -> None: ...

    it.__annotations__["value"] = annotation
    [parameter] = make_method(it, "it").parameters
    assert parameter.annotation == annotation


def test_a_class_inside_a_struct_is_refused_too() -> None:
    assert refused(HoldsCustom) == (
        "msgspec does not know the class Custom, and pydantic does not know the msgspec struct "
        "HoldsCustom"
    )


def test_the_fields_of_a_struct_must_be_resolvable() -> None:
    assert refused(Unresolvable) == (
        "an annotation of Unresolvable cannot be resolved: name 'Missing' is not defined"
    )


@pytest.mark.parametrize("annotation", [Callable[[int], int], Callable, type, type[int]])
def test_what_no_json_value_can_be_is_refused(annotation: Any) -> None:
    assert refused(annotation).startswith("no JSON value can be a ")


def test_an_iterable_is_refused_because_its_items_would_not_be_checked() -> None:
    assert refused(Iterable[int]) == "the items of an iterable cannot be checked: write list[…]"


def test_metadata_that_constrains_nothing_is_let_through() -> None:
    def it(a: Annotated[int, Meta(description="how many"), "a note"]) -> int:
        return a

    assert make_method(it, "it").invoke(b"[1]", None) == 1


def test_a_type_alias_is_looked_into() -> None:
    aliases = pytest.importorskip("typing_extensions")
    count = aliases.TypeAliasType("count", Annotated[int, GT])
    assert survey(count).foreign == ["the constraint Gt(gt=0)"]
    word = aliases.TypeAliasType("word", WORD)
    with pytest.raises(RegistrationError, match="a union cannot hold a collection"):
        survey(Union[word, list[int]])  # noqa: UP007


@pytest.mark.skipif(sys.version_info < (3, 12), reason="only on Python 3.12 and newer")
def test_a_type_alias_is_decoded() -> None:
    scope: dict[str, Any] = {"Item": Item}
    exec("type Items = list[Item]", scope)

    def it(a: Any) -> Any:
        return a

    it.__annotations__ = {"a": scope["Items"]}
    assert make_method(it, "it").invoke(b'[[{"name": "x"}]]', None) == [Item("x")]


CONTEXT = Context("it", 1, channel=ChannelInfo(scheme="memory"))
NAMES = string.ascii_lowercase[:8]
SOURCE = "def it({}): return {{name: value for name, value in locals().items() if name != 'ctx'}}"


class Shape(Struct, frozen=True):
    """A signature: how many parameters of each kind, and how many of them have defaults."""

    positional_only: int
    either: int
    positional_defaults: int
    keyword_only: tuple[bool, ...]
    rest: bool
    others: bool
    context: int | None
    """Before which parameter the context stands; None for nowhere, -1 for by keyword."""
    annotation: str

    def function(self, *, with_context: bool) -> Callable[..., Any]:
        scope: dict[str, Any] = {"Context": Context, "Any": Any}
        exec(SOURCE.format(", ".join(self._parameters(with_context))), scope)
        function: Callable[..., Any] = scope["it"]
        return function

    def _parameters(self, with_context: bool) -> list[str]:
        count = self.positional_only + self.either
        required = count - self.positional_defaults
        parts = []
        for index, name in enumerate(NAMES[:count]):
            default = "" if index < required else f" = {index}"
            if with_context and index == self.context:
                parts.append("ctx: Context" + (" = None" if default and index > required else ""))
            parts.append(f"{name}: {self.annotation}{default}")
            if index + 1 == self.positional_only:
                parts.append("/")
        by_keyword = with_context and self.context == -1
        if self.rest:
            parts.append(f"*rest: {self.annotation}")
        elif self.keyword_only or by_keyword:
            parts.append("*")
        for name, has_default in zip(NAMES[count:], self.keyword_only, strict=False):
            parts.append(f"{name}: {self.annotation}{' = -1' if has_default else ''}")
        if by_keyword:
            parts.append("ctx: Context")
        if self.others:
            parts.append(f"**others: {self.annotation}")
        return parts


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    positional_only = draw(st.integers(0, 2))
    either = draw(st.integers(0, 3))
    count = positional_only + either
    return Shape(
        positional_only,
        either,
        draw(st.integers(0, count)),
        tuple(draw(st.lists(st.booleans(), max_size=3))),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.none() | st.integers(-1, max(0, count - 1))),
        draw(st.sampled_from(["int", "Any"])),
    )


VALUES = st.integers(-9, 9)
BY_POSITION = st.lists(VALUES, max_size=7)
BY_NAME = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=7)


@pytest.mark.req("F-07", "RPC-4.2a", "RPC-4.2b")
@given(shape=shapes(), params=BY_POSITION | BY_NAME)
def test_params_bind_as_python_binds_arguments(
    shape: Shape, params: list[int] | dict[str, int]
) -> None:
    oracle = shape.function(with_context=False)
    served = shape.function(with_context=True)
    data = encode(params)
    try:
        expected = oracle(*params) if isinstance(params, list) else oracle(**params)
    except TypeError:
        with pytest.raises(InvalidParamsError):
            make_method(served, "it").invoke(data, CONTEXT)
        return
    assert make_method(served, "it").invoke(data, CONTEXT) == expected
    args, kwargs = Binder(read_signature(served)).bind(data, CONTEXT)
    assert served(*args, **kwargs) == expected


@pytest.mark.req("F-07", "F-30")
@given(
    shape=shapes(),
    params=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(NAMES), inner),
    ),
)
def test_whatever_the_params_are_they_bind_or_are_refused_as_invalid_params(
    shape: Shape, params: Any
) -> None:
    method = make_method(shape.function(with_context=True), "it")
    data: Any = None
    try:
        method.invoke(encode(params), CONTEXT)
    except InvalidParamsError as error:
        data = error.data
    assert data is None or {"reason", "parameter", "path", "expected", "got"} <= set(data)
