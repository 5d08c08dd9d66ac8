"""Where a text says what was asked for."""

from __future__ import annotations

import re

from hypothesis import given, strategies as st

from accord.hub.search.query import groups_of
from accord.hub.search.snippets import LENGTH, Snippet, Snippets


def marked(text: str, query: str) -> list[str]:
    piece = Snippets(groups_of(query)).of(text)
    return [piece.text[begin:end] for begin, end in piece.marks]


def test_a_short_text_is_shown_whole() -> None:
    assert Snippets(groups_of("ferry")).of("The ferry leaves.") == Snippet(
        "The ferry leaves.", [[4, 9]]
    )


def test_of_a_long_text_what_is_around_the_first_word_is_shown() -> None:
    text = "nothing " * 100 + "the lighthouse keeper sleeps. " + "nothing " * 100
    piece = Snippets(groups_of("keeper")).of(text)
    assert (piece.text[0], piece.text[-1]) == ("…", "…")
    assert "lighthouse keeper sleeps" in piece.text
    assert marked(text, "keeper") == ["keeper"]


def test_accents_and_beginnings_are_marked() -> None:
    assert marked("Der Fährmann fährt zur Fähre", "fahr") == ["Fährmann", "fährt", "Fähre"]
    assert marked("See REQ-007 and REQ-0071", "req-7") == ["REQ-007"]


@given(st.text(max_size=600), st.text(max_size=20))
def test_marks_lie_within_the_snippet(text: str, query: str) -> None:
    piece = Snippets(groups_of(query)).of(text)
    assert len(piece.text) <= LENGTH + 2
    assert all(0 <= begin < end <= len(piece.text) for begin, end in piece.marks)


@given(
    st.lists(st.sampled_from(["ferry", "ferryman", "Ferry", "wherry", "x", "-", "_", " ", "\n"]))
)
def test_just_the_words_that_were_asked_for_are_marked(parts: list[str]) -> None:
    text = "".join(parts)
    piece = Snippets(groups_of("ferry")).of(text)
    for begin, end in piece.marks:
        assert piece.text[begin:end].lower().startswith("ferry")
        assert not piece.text[begin - 1 : begin].isalnum()
    if len(text) <= LENGTH:  # shown whole
        expected = [at.span() for at in re.finditer(r"(?i)(?<![a-z])ferry[a-z]*", piece.text)]
        assert [(begin, end) for begin, end in piece.marks] == expected


def test_a_mark_ends_where_the_snippet_ends() -> None:
    piece = Snippets(groups_of("ferry")).of("x " + "ferry" * 100)
    assert piece.text == "x " + ("ferry" * 100)[: LENGTH - 2] + "…"
    assert piece.marks == [[2, LENGTH]]


def test_blanks_are_put_together_and_marks_moved() -> None:
    text = "A  long\n text " + "before " * 20 + "\tthe\n\nferry  sails"
    piece = Snippets(groups_of("ferry")).of(text)
    assert piece.text == "…before before before before the ferry sails"
    assert marked(text, "ferry") == ["ferry"]


def test_words_that_stand_behind_other_signs_are_marked() -> None:
    text = "pre-boarding, old_boarding (Boarding) and a-12, but not onboarding"
    assert marked(text, "boarding 12") == ["boarding", "boarding", "Boarding", "12"]
    assert marked("A plan, a b c", "a") == ["A", "a"]
