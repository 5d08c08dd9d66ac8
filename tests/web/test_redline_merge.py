"""What two people did to one text, put together."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from accord.web.redline import MAX_MERGED_WORDS, MergedText, merge

pytestmark = pytest.mark.req("H-21")

TEXTS = st.text(st.sampled_from("ab .\n"), max_size=20)
BASE = "The service shall answer quickly and shall log it."


def test_what_each_did_elsewhere_is_taken_over() -> None:
    mine = BASE.replace("quickly", "within 2 s")
    theirs = BASE.replace("log it", "write a log")
    both = "The service shall answer within 2 s and shall write a log."
    assert merge(BASE, mine, theirs) == MergedText(both, 0)


def test_where_both_changed_the_same_words_both_stand_in_brackets() -> None:
    mine, theirs = BASE.replace("quickly", "in 2 s"), BASE.replace("quickly", "at once")
    merged = "The service shall answer [yours: in 2 s] [theirs: at once] and shall log it."
    assert merge(BASE, mine, theirs) == MergedText(merged, 1)


def test_what_both_added_stands_one_behind_the_other() -> None:
    merged = merge(BASE, f"{BASE} Always.", f"{BASE}\n\nOn weekdays only.")
    assert merged == MergedText(f"{BASE}\n\nOn weekdays only. Always.", 0)
    assert merge("", "One.", "Two.") == MergedText("Two. One.", 0)


def test_the_same_change_is_no_clash() -> None:
    mine = BASE.replace("quickly", "at once")
    assert merge(BASE, f"{mine} Always.", mine) == MergedText(f"{mine} Always.", 0)


@given(TEXTS, TEXTS)
def test_who_changed_nothing_is_in_nobodys_way(base: str, changed: str) -> None:
    assert merge(base, changed, base) == MergedText(changed, 0)
    assert merge(base, base, changed) == MergedText(changed, 0)
    assert merge(base, changed, changed) == MergedText(changed, 0)


@given(TEXTS, TEXTS, TEXTS)
def test_every_word_of_both_is_in_it(base: str, mine: str, theirs: str) -> None:
    merged = merge(base, mine, theirs)
    came = (set(mine.split()) | set(theirs.split())) - set(base.split())
    assert all(word in merged.text for word in came if word.isalpha() and not merged.clashes)


def test_texts_that_are_too_long_stand_beside_each_other() -> None:
    mine, theirs = "a b" * 12_000, "b a c." * 8_000
    merged = merge("a " * MAX_MERGED_WORDS, mine, theirs)
    assert merged == MergedText(f"[yours: {mine}] [theirs: {theirs}]", 1)
