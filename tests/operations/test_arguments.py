"""Arguments from what callers send: typed, complete, and what a database can keep."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from msgspec import UNSET, Meta, Struct, UnsetType

from accord.operations.arguments import argument_set, convert, decode
from accord.operations.context import OperationContext
from accord.operations.errors import InvalidError, MalformedRequestError
from accord.operations.registry import Registry
from tests.hostile.cost import assert_refused_cheaply


class Part(Struct, kw_only=True):
    name: str
    note: str | UnsetType = UNSET


operations = Registry()


@operations.write()
async def assemble(
    work: OperationContext,
    *,
    title: Annotated[str, Meta(min_length=1)],
    parts: list[Part] = [],  # noqa: B006 - msgspec copies it
    extra: dict[str, Any] | UnsetType = UNSET,
    weight: float | None = None,
    count: int = 1,
) -> Part:
    """Put parts together."""
    return Part(name=title)


OPERATION = operations["assemble"]
DEEP = b'{"title": "a", "extra": ' + b'{"a":' * 100_000


def test_what_is_left_out_has_its_default() -> None:
    assert decode(OPERATION, b'{"title": "a"}') == {
        "title": "a",
        "parts": [],
        "extra": UNSET,
        "weight": None,
        "count": 1,
        "dry_run": False,
        "idempotency_key": None,
    }


def test_words_become_values() -> None:
    found = convert(OPERATION, {"title": "1", "count": "3", "weight": "0.5"}, from_text=True)
    assert (found["title"], found["count"], found["weight"]) == ("1", 3, 0.5)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ("{}", "/title"),
        ('{"title": "", "count": 2}', "/title"),
        ('{"title": "a", "parts": [{"name": "x"}, {}]}', "/parts/1/name"),
        ('{"title": "a", "parts": [{"name": 5}]}', "/parts/0/name"),
        ('{"title": "a", "parts": [{"name": "x\\u0000"}]}', "/parts/0/name"),
        ('{"title": "a", "extra": {"a/b": ["\\u0000"]}}', "/extra/a~1b/0"),
        ('{"title": "a", "extra": {"\\u0000": 1}}', "/extra"),
        ('{"title": "a", "extra": {"n": 18446744073709551616}}', "/extra/n"),
        ('{"title": "a", "count": 9223372036854775808}', "/count"),
        ('{"title": "a", "idempotency_key": ""}', "/idempotency_key"),
        ("[]", ""),
        ("7", ""),
    ],
)
def test_what_is_wrong_is_named(body: str, pointer: str) -> None:
    with pytest.raises(InvalidError) as refused:
        decode(OPERATION, body.encode())
    assert [each.pointer for each in refused.value.errors] == [pointer]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"title": "\xff"}'])
def test_what_is_no_json_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedRequestError, match="what was sent is not JSON"):
        decode(OPERATION, body)


@pytest.mark.req("Q-04")
def test_what_is_nested_too_deep_is_malformed() -> None:
    with pytest.raises(
        MalformedRequestError, match="what was sent is nested deeper than 128 levels"
    ):
        decode(OPERATION, DEEP)


@pytest.mark.parametrize(
    ("values", "pointer"),
    [
        ({"title": "\ud800"}, "/title"),
        ({"title": "a", "weight": "nan"}, "/weight"),
        ({"title": "a", "weight": "-inf"}, "/weight"),
        ({"title": "a", "count": "9" * 30}, "/count"),
    ],
)
def test_words_that_no_database_keeps_are_refused(values: dict[str, str], pointer: str) -> None:
    with pytest.raises(InvalidError) as refused:
        convert(OPERATION, values, from_text=True)
    assert [each.pointer for each in refused.value.errors] == [pointer]


def test_a_mutable_default_is_not_shared() -> None:
    first = decode(OPERATION, b'{"title": "a"}')
    first["parts"].append(1)
    assert decode(OPERATION, b'{"title": "a"}')["parts"] == []


def test_there_is_one_type_for_each_operation() -> None:
    assert argument_set(OPERATION).type is argument_set(OPERATION).type
    assert argument_set(OPERATION).type.__name__ == "AssembleArguments"


@pytest.mark.req("F-31")
@pytest.mark.parametrize("size", [1_000, 64_000, 1_000_000], ids="{:,}".format)
@pytest.mark.parametrize("unit", ["u", "` - at `$", " - at `$", "accord_", "password=Bearer eyJ."])
def test_a_long_name_is_refused_cheaply_and_not_repeated(unit: str, size: int) -> None:
    name = unit * (size // len(unit))
    hostile = f'{{"title": "t", "{name}": 1}}'
    valid = f'{{"title": "t{name}"}}'

    def refuse() -> None:
        with pytest.raises(InvalidError) as refused:
            decode(OPERATION, hostile.encode())
        assert len(str(refused.value)) < 1_000

    assert_refused_cheaply(refuse, lambda: decode(OPERATION, valid.encode()), size)
