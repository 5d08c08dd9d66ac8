"""Names of expected types, and duplicate members."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Annotated, Any, NamedTuple, NotRequired, TypedDict

import msgspec
import pytest
from hypothesis import given
from hypothesis.strategies import booleans, lists, recursive, sampled_from, tuples
from msgspec import Meta, Struct
from msgspec.msgpack import Ext

from accord.jsonrpc.methods.param_values import DuplicateMemberError, check_members, expected, steps
from tests.hostile.cost import assert_refused_cheaply
from tests.hostile.messages import filled


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


NAMES = ['"a"', '"b"', '"\\u0061"', '":"', '"\\u003a"', '"\\\\u003a"', '"é"', '""']
VALUES = [
    *('""', '":"', '"\\u003A"', '"\\\\"', '"\\\\\\u003a"', '"\\""', "0", "-1.5e3", "1e999"),
    *("12345678901234567890123", "true", "null"),
]


def _joined(opening: str, items: list[str], closing: str) -> str:
    return f"{opening} {' , '.join(items)}{closing}"


def _object(pairs: list[tuple[str, str]]) -> str:
    return _joined("{", [f"{name}: {value}" for name, value in pairs], "}")


texts = recursive(
    sampled_from(VALUES),
    lambda inner: (
        lists(inner).map(lambda items: _joined("[", items, "]"))
        | lists(tuples(sampled_from(NAMES), inner)).map(_object)
    ),
)


def has_twice(text: str) -> bool:
    found = []

    def look(pairs: list[tuple[str, Any]]) -> None:
        found.append(len({name for name, _ in pairs}) < len(pairs))

    json.loads(text, object_pairs_hook=look)
    return any(found)


@pytest.mark.req("F-32")
@given(text=texts, large=booleans())
def test_what_is_found_is_what_a_reader_who_keeps_all_members_finds(text: str, large: bool) -> None:
    data = (f'["{"x" * 5_000}",{text}]' if large else text).encode()
    if has_twice(text):
        with pytest.raises(DuplicateMemberError) as caught:
            check_members(data)
        if large:
            assert not caught.value.path
        elif len(data) <= 2_048 and sum(map(data.count, (b",", b"[", b"{"))) <= 32:
            assert caught.value.path
    else:
        check_members(data)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"a":1,"a":1}', ("a",)),
        ('{"a":{"b":1,"c":1,"c":2}}', ("a", "c")),
        ('[0,{"b":[{"a":1,"":1,"a":1}]}]', (1, "b", 0, "a")),
        ('{"a":1,"\\u0061":1}', ("a",)),
        ('{"a":1e999,"a":{}}', ("a",)),
    ],
)
def test_the_place_is_told(text: str, path: tuple[str | int, ...]) -> None:
    with pytest.raises(DuplicateMemberError) as caught:
        check_members(msgspec.Raw(text.encode()))
    assert caught.value.path == path


@pytest.mark.req("F-31")
@pytest.mark.parametrize("size", [300, 900, 2_000, 16_000, 1_000_000], ids="{:,}".format)
@pytest.mark.parametrize(
    ("hostile", "valid"),
    [
        (b'{"a":1,"a":2}', b'{"a":1,"b":2}'),
        (b"{}", b"{}"),
        (b'{"":1}', b'{"":1}'),
        (b'{"":' * 100 + b"1" + b"}" * 100, b'{"":' * 100 + b"1" + b"}" * 100),
        (b"1", b"1"),
        (b'"\\u003a"', b'"\\u003b"'),
    ],
)
def test_a_member_that_comes_twice_is_found_cheaply(
    hostile: bytes, valid: bytes, size: int
) -> None:
    twice = filled(size, hostile, b"[", b',{"a":1,"a":2}]')
    once = filled(size, valid, b"[", b',{"a":1,"b":2}]')

    def refuse() -> None:
        with suppress(DuplicateMemberError):
            check_members(twice)

    assert_refused_cheaply(refuse, lambda: check_members(once), size)


@pytest.mark.parametrize("text", ["{", '{"a":1,"b":1', '{"a":' + "9" * 5_000 + ',"b":1}'])
def test_what_cannot_be_read_is_refused_as_such(text: str) -> None:
    with pytest.raises(msgspec.DecodeError) as caught:
        check_members(text.encode())
    assert not isinstance(caught.value, DuplicateMemberError)
