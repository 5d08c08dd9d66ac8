"""Redlines: both texts can be read from them, nothing in them is meant, and they never take long."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

import pytest
from hypothesis import given, strategies as st

from accord.hub.domain import text
from accord.web.redline import redline, unified
from tests.effort import growth

pytestmark = pytest.mark.req("H-21")

TEXTS = st.text(st.sampled_from("ab <&\n.é"), max_size=40)
SHORT = st.text(st.sampled_from("a b<\n"), max_size=3)
"""So short that a unified diff shows all of it."""


def test_words_that_went_and_came_are_marked() -> None:
    told = redline("refuse it as early as possible.", "refuse it before any request.")
    assert told == "refuse it <del>as early as possible</del><ins>before any request</ins>."


def test_what_only_came_is_marked_alone() -> None:
    assert redline("one two", "one and two") == "one <ins>and </ins>two"
    assert redline("", "new") == "<ins>new</ins>"
    assert redline("same", "same") == "same"


def test_tags_in_a_text_are_not_meant() -> None:
    assert redline("<b>", "<i>") == "&lt;<del>b</del><ins>i</ins>&gt;"


@given(TEXTS, TEXTS)
def test_both_texts_can_be_read_from_a_redline(before: str, after: str) -> None:
    told = str(redline(before, after))
    assert (_without(told, "ins"), _without(told, "del")) == (before, after)


@given(SHORT, SHORT)
def test_a_unified_diff_says_the_same(before: str, after: str) -> None:
    told = str(unified(text.unified(before, after)))
    if told:
        texts = (_without(told, "ins").splitlines(), _without(told, "del").splitlines())
        assert texts == (before.splitlines(), after.splitlines())


def test_only_what_is_near_a_change_is_shown_when_asked() -> None:
    before = "word " * 100 + "old" + " word" * 100
    told = str(redline(before, before.replace("old", "new"), around=12))
    gap = '<span class="gap"> … </span>'
    assert told == f"{gap}word word <del>old</del><ins>new</ins> word word{gap}"


def test_changes_far_apart_have_a_gap_between_them() -> None:
    before = "\n".join(f"line {number}" for number in range(40))
    after = before.replace("line 3\n", "line three\n").replace("line 33", "line more")
    assert str(unified(text.unified(before, after))).count("…") == 1


@pytest.mark.parametrize("unit", ["a b ", "a\n", "x", "é🙂 "])
def test_the_work_of_a_redline_is_proportional_to_the_text(unit: str) -> None:
    def compare(size: int) -> Callable[[], object]:
        before = (unit * size)[:size]
        return lambda: redline(before, before[::-1] + "end")

    assert growth(compare(6_250), compare(50_000)) < 24  # a square would be 64


def _without(marked: str, tag: str) -> str:
    kept = re.sub(f"<{tag}>.*?</{tag}>", "", marked, flags=re.DOTALL)
    return unescape(re.sub("</?(ins|del)>", "", kept))
