"""Arguments with a few valid values: other spellings are accepted, wrong values explained."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from msgspec import UNSET, Meta, Struct, UnsetType, json

from accord.operations.arguments import convert, decode
from accord.operations.choices import MAX_VISITED, equivalent
from accord.operations.context import OperationContext
from accord.operations.errors import InvalidError
from accord.operations.registry import Registry
from tests.hostile.cost import assert_refused_cheaply

pytestmark = pytest.mark.req("H-56")

Status = Literal["Draft", "In Progress", "Active"]


class Level(Enum):
    HIGH = "high"
    LOW = "low"


class Part(Struct, kw_only=True):
    status: Status
    parts: list[Part] = []
    note: str = ""


operations = Registry()


@operations.write()
async def assemble(
    work: OperationContext,
    *,
    title: str = "",
    status: Status | None = None,
    several: Annotated[list[Status], Meta(max_length=2)] | Status | UnsetType = UNSET,
    sort: Literal["title", "-title", "created_at", "-created_at"] = "title",
    join: Literal["all", "any"] | int = "all",
    level: Level = Level.LOW,
    kinds: list[Literal["epic", "user_story"]] = [],  # noqa: B006 - msgspec copies it
    part: Part | None = None,
    parts: list[Part] = [],  # noqa: B006 - msgspec copies it
    by_name: dict[str, list[Status]] = {},  # noqa: B006 - msgspec copies it
) -> Part:
    """Put parts together."""
    raise NotImplementedError


OPERATION = operations["assemble"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"status": "draft"}, {"status": "Draft"}),
        ({"status": " IN_PROGRESS "}, {"status": "In Progress"}),
        ({"status": "in-progress"}, {"status": "In Progress"}),
        ({"status": "In progress"}, {"status": "In Progress"}),
        ({"several": "draft"}, {"several": "Draft"}),
        ({"several": ["Draft", "active"]}, {"several": ["Draft", "Active"]}),
        ({"sort": "-Title"}, {"sort": "-title"}),
        ({"sort": "-Created At"}, {"sort": "-created_at"}),
        ({"sort": "createdAt"}, {"sort": "created_at"}),
        ({"join": "ANY"}, {"join": "any"}),
        ({"join": 3}, {"join": 3}),
        ({"level": "High"}, {"level": Level.HIGH}),
        ({"kinds": ["epic", "User Story"]}, {"kinds": ["epic", "user_story"]}),
        ({"part": {"status": "active"}}, {"part": Part(status="Active")}),
        (
            {"parts": [{"status": "Draft"}, {"status": "active", "note": "x"}]},
            {"parts": [Part(status="Draft"), Part(status="Active", note="x")]},
        ),
        ({"by_name": {"a": ["draft"]}}, {"by_name": {"a": ["Draft"]}}),
        ({"status": "draft", "sort": "TITLE"}, {"status": "Draft", "sort": "title"}),
    ],
)
def test_other_spellings_are_accepted(given: dict[str, Any], expected: dict[str, Any]) -> None:
    for found in (decode(OPERATION, json.encode(given)), convert(OPERATION, given)):
        assert {name: found[name] for name in expected} == expected


def test_words_are_accepted_in_other_spellings() -> None:
    words = {"status": "ACTIVE", "kinds": ["Epic"], "join": "2", "title": "draft"}
    found = convert(OPERATION, words, from_text=True)
    assert (found["status"], found["kinds"], found["join"], found["title"]) == (
        *("Active", ["epic"], 2, "draft"),
    )
    assert convert(OPERATION, {"status": "null", "sort": "Title"}, from_text=True)["status"] is None


@pytest.mark.parametrize(
    ("given", "pointer", "detail"),
    [
        (
            {"status": "Actve"},
            "/status",
            "must be one of Draft, In Progress, Active; got 'Actve', did you mean Active?",
        ),
        ({"status": "x"}, "/status", "must be one of Draft, In Progress, Active; got 'x'"),
        ({"status": ""}, "/status", "must be one of Draft, In Progress, Active; got ''"),
        ({"status": 3}, "/status", "must be one of Draft, In Progress, Active; got 3"),
        ({"level": None}, "/level", "must be one of high, low; got null"),
        ({"level": {}}, "/level", "must be one of high, low; got an object"),
        (
            {"kinds": ["epic", "storey"]},
            "/kinds/1",
            "must be one of epic, user_story; got 'storey', did you mean user_story?",
        ),
        (
            {"parts": [{"status": "draft"}, {"status": "Drat"}]},
            "/parts/1/status",
            "must be one of Draft, In Progress, Active; got 'Drat', did you mean Draft?",
        ),
        (
            {"by_name": {"a/b": ["Draft", "inprogres"]}},
            "/by_name/a~1b/1",
            "must be one of Draft, In Progress, Active; got 'inprogres', did you mean In Progress?",
        ),
        ({"status": "accord_pat_" + "a" * 200}, "/status", None),
    ],
)
def test_wrong_values_are_answered_with_the_valid_ones(
    given: dict[str, Any], pointer: str, detail: str | None
) -> None:
    for is_json in (True, False):
        with pytest.raises(InvalidError) as refused:
            decode(OPERATION, json.encode(given)) if is_json else convert(OPERATION, given)
        [error] = refused.value.errors
        assert error.pointer == pointer
        assert refused.value.data["valid"]
        assert len(error.detail) < 300
        if detail is not None:
            assert error.detail == detail


def test_an_error_behind_another_spelling_is_told() -> None:
    with pytest.raises(InvalidError) as refused:
        decode(OPERATION, b'{"status": "draft", "colour": 1}')
    assert refused.value.errors[0].pointer == "/colour"
    with pytest.raises(InvalidError) as refused:
        convert(OPERATION, {"status": "draft", "title": 1})
    assert refused.value.errors[0].pointer == "/title"


def test_a_spelling_of_several_values_is_none_of_them() -> None:
    assert equivalent("a b", ("ab", "a_b")) is None
    assert equivalent("AB", ("ab", "a_b")) == "ab"
    assert equivalent("-", ("title",)) is None


@pytest.mark.req("F-31")
@pytest.mark.parametrize("wrong", ["Epic", "epik", "x" * 80_000])
@pytest.mark.parametrize("before", [0, MAX_VISITED, 60_000])
def test_a_long_list_is_refused_cheaply(before: int, wrong: str) -> None:
    many = ["epic"] * before
    hostile = json.encode({"kinds": [*many, wrong, *["epic"] * (60_000 - before), "?"]})
    valid = json.encode({"kinds": [*many, "epic", *["epic"] * (60_000 - before), "epic"]})

    def refuse() -> None:
        with pytest.raises(InvalidError) as refused:
            decode(OPERATION, hostile)
        assert len(refused.value.message) < 300

    assert_refused_cheaply(refuse, lambda: decode(OPERATION, valid), len(hostile))
