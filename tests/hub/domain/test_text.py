"""Characters that texts may contain."""

from __future__ import annotations

import pytest

from accord.hub.domain.text import problem_of_line, problem_of_text


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
