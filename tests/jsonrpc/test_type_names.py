"""Types are called by names that a caller in another language understands."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, NotRequired, TypedDict

import pytest
from msgspec import Meta, Struct
from msgspec.msgpack import Ext

from accord.jsonrpc.type_names import expected, steps


class Leaf(Struct, rename="camel"):
    the_count: int


class Row(Struct, array_like=True):
    leaf: Leaf
    note: str = ""


class Pair(NamedTuple):
    left: Leaf
    right: str


class Options(TypedDict):
    leaf: NotRequired[Leaf]


Titled = Annotated[Leaf, Meta(title="A leaf")]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("", []),
        (".items[2].name", ["items", 2, "name"]),
        ("[0][12]", [0, 12]),
        (".by_key[...].name", ["by_key", ..., "name"]),
    ],
)
def test_a_path_is_taken_apart(path: str, found: list[Any]) -> None:
    assert steps(path) == found


@pytest.mark.req("F-07")
@pytest.mark.parametrize(
    ("annotation", "path", "name"),
    [
        (Leaf, ".theCount", "int"),
        (Titled, ".theCount", "int"),
        (Titled, "", "object"),
        (Leaf | None, ".theCount", "int"),
        (list[Leaf], "[3].theCount", "int"),
        (Row, "[0]", "object"),
        (Row, "[0].theCount", "int"),
        (Pair, "[1]", "str"),
        (tuple[int, Leaf], "[1].theCount", "int"),
        (Options, ".leaf", "object"),
        (dict[str, Leaf], "[...].theCount", "int"),
        (Any, "", "any value"),
        (bytes | None, "", "bytes | null"),
        # Where a path leads nowhere nothing is claimed.
        (Leaf, ".the_count", "a value"),
        (Row, "[9]", "a value"),
        (tuple[int, str], "[2]", "a value"),
        (int, ".x", "a value"),
        (Leaf, ".x.y.z", "a value"),
        (Ext, "", "a value"),
        (Leaf | Options, "", "a value"),
    ],
)
def test_the_type_at_a_path_has_a_name(annotation: Any, path: str, name: str) -> None:
    assert expected(annotation, path) == name


def test_an_annotation_without_a_hash_has_a_name() -> None:
    annotation = Annotated[int, ["a list"]]
    with pytest.raises(TypeError):
        hash(annotation)
    assert expected(annotation) == "int"
