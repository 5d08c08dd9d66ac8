"""Members of one name in one object are found, and nothing else is taken for them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis.strategies import booleans, lists, recursive, sampled_from, tuples

from accord.jsonrpc.duplicates import DuplicateMemberError, check_members

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
        assert bool(caught.value.path) != large
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


@pytest.mark.parametrize("text", ["{", '{"a":1,"b":1', '{"a":' + "9" * 5_000 + ',"b":1}'])
def test_what_cannot_be_read_is_refused_as_such(text: str) -> None:
    with pytest.raises(msgspec.DecodeError) as caught:
        check_members(text.encode())
    assert not isinstance(caught.value, DuplicateMemberError)
