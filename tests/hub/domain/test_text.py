"""Characters that texts may contain, and differences: by field, by line, applied in reverse."""

from __future__ import annotations

import difflib
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from accord.hub.domain.text import (
    MAX_EDITS,
    FieldDifference,
    differences,
    problem_of_line,
    problem_of_text,
    unified,
)
from tests.effort import growth


@pytest.mark.parametrize("text", ["", "two\nlines\r\nand a\ttab", "naïve 漢字 🎉", "   "])
def test_texts_may_have_lines_tabs_and_every_letter(text: str) -> None:
    assert problem_of_text(text) is None


@pytest.mark.parametrize(
    ("text", "at"),
    [("a\x00", "U+0000 at 2"), ("\x9b1m", "U+009B at 1"), ("a\rb", "U+000D at 2"),
     ("\ud800", "U+D800 at 1")],
)  # fmt: skip
def test_what_cannot_be_shown_is_refused_with_its_place(text: str, at: str) -> None:
    assert problem_of_text(text) == f"has the character {at}, which is not allowed"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("Keep the logs", None),
        (" \u00a0", "is blank"),
        ("two\nlines", "has the character U+000A at 4, which is not allowed"),
        ("two\u2028lines", "has the character U+2028 at 4, which is not allowed"),
    ],
)
def test_a_line_is_one_and_says_something(line: str, fault: str | None) -> None:
    assert problem_of_line(line) == fault


LINES = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=12)
FIELDS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2) | st.none())


def test_fields_that_differ_are_told_in_their_order() -> None:
    before = {"title": "Old", "status": "Draft", "version": 1}
    after = {"title": "New", "status": "Draft", "version": 2, "type": "Data"}
    assert differences(before, after, frozenset({"version"})) == (
        FieldDifference("title", "Old", "New"),
        FieldDifference("type", None, "Data"),
    )


@given(FIELDS, FIELDS)
def test_differences_lead_from_one_state_to_the_other_and_back(
    before: dict[str, int | None], after: dict[str, int | None]
) -> None:
    found = differences(before, after)
    there = before | {each.field: each.after for each in found}
    assert differences(there, after) == ()
    back = there | {each.field: each.before for each in found}
    assert differences(back, before) == ()


def test_only_long_texts_have_a_unified_diff() -> None:
    assert FieldDifference("title", "Old", "New").diff is None
    assert FieldDifference("priority", 1, 2).diff is None
    assert FieldDifference("description", "one", "one\ntwo").diff == "@@ -1,1 +1,2 @@\n one\n+two"
    long = "word " * 20
    assert FieldDifference("title", long, "").diff == f"@@ -1,1 +0,0 @@\n-{long}"


def test_changes_far_apart_are_shown_apart() -> None:
    old = [str(number) for number in range(1, 21)]
    new = [*old[:1], "two", *old[2:17], *old[18:]]
    assert unified("\n".join(old), "\n".join(new)).splitlines() == [
        *("@@ -1,5 +1,5 @@", " 1", "-2", "+two", " 3", " 4", " 5"),
        *("@@ -15,6 +15,5 @@", " 15", " 16", " 17", "-18", " 19", " 20"),
    ]


def test_equal_texts_have_no_diff() -> None:
    assert unified("one\ntwo", "one\ntwo") == ""


@given(LINES, LINES)
def test_a_diff_takes_the_old_text_to_the_new_one(old: list[str], new: list[str]) -> None:
    assert _patched(old, unified("\n".join(old), "\n".join(new))) == new


@given(LINES, LINES)
def test_a_diff_is_no_longer_than_the_shortest(old: list[str], new: list[str]) -> None:
    edited = [
        line for line in unified("\n".join(old), "\n".join(new)).splitlines() if line[0] in "+-"
    ]
    other = [line for line in difflib.ndiff(old, new) if line[0] in "+-"]
    assert len(edited) <= len(other)


def test_texts_with_little_in_common_replace_each_other_as_a_whole() -> None:
    old = [f"old {number}" for number in range(MAX_EDITS)]
    new = [f"new {number}" for number in range(MAX_EDITS)]
    old[100] = new[100] = "the same"
    shown = unified("\n".join(old), "\n".join(new)).splitlines()
    assert shown[1:] == [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]


def test_texts_made_to_be_slow_to_compare_are_not() -> None:
    def compare(lines: int) -> Callable[[], object]:
        old = "\n".join("ab"[number * number % 7 % 2] for number in range(lines))
        new = "\n".join("ab"[number * number % 11 % 2] for number in range(lines))
        return lambda: unified(old, new)

    assert growth(compare(3_125), compare(25_000)) < 24  # a square would be 64


def _patched(old: list[str], diff: str) -> list[str]:
    """Return the result of applying a diff with `patch`."""
    new: list[str] = []
    place = 0
    for line in diff.splitlines():
        if line.startswith("@@"):
            start, length = (int(number) for number in line.split()[1][1:].split(","))
            until = start - 1 if length else start
            new += old[place:until]
            place = until
        elif line[0] == "+":
            new.append(line[1:])
        else:
            assert old[place] == line[1:]
            place += 1
            if line[0] == " ":
                new.append(line[1:])
    return new + old[place:]
