"""A type is decoded by the library that enforces all of it, or refused at registration."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, NewType, TypedDict, TypeVar, Union

import pytest
from msgspec import Meta, Raw, Struct

from accord.jsonrpc.annotations import survey
from accord.jsonrpc.errors import RegistrationError
from accord.jsonrpc.method import make_method


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
    monkeypatch.delitem(sys.modules, "accord.jsonrpc.pydantic_types", raising=False)
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
