"""The linter: its findings, their positions, and the texts it accepts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from accord.hub.domain.lint import (
    FORMS,
    MAX_FINDINGS,
    RULES,
    Form,
    Pattern,
    Statement,
    TextFinding,
    lint,
)
from accord.hub.domain.text import sentences

GOOD = [
    "The service shall answer each request within 200 ms.",
    "When the user presses Save, the editor shall store the document within 2 seconds.",
    "While the door is open, the controller shall sound the alarm.",
    "Where a printer is installed, the terminal shall print a receipt.",
    "If the card is refused, then the terminal shall show the reason of the refusal.",
    "While the door is open, when a key is pressed, the controller shall sound the alarm.",
    "The log shall be written by the recorder.",
    "The queue shall hold at most 5 `jobs` and up to $20 of credit.",
    "The pump must stop after 5 to 10 s.",
    "The lock shall open between 9 and 17 o'clock.",
]


@pytest.mark.parametrize("text", GOOD)
def test_good_requirements_are_left_alone(text: str) -> None:
    assert lint(text).findings == ()


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        (GOOD[0], "ubiquitous"),
        (GOOD[1], "event"),
        (GOOD[2], "state"),
        (GOOD[3], "optional"),
        (GOOD[4], "unwanted"),
        (GOOD[5], "complex"),
    ],
)
def test_the_patterns_of_ears_are_recognized(text: str, pattern: Pattern) -> None:
    assert lint(text).statements == (Statement(0, len(text), pattern),)


@pytest.mark.parametrize(
    ("text", "rule", "spot"),
    [
        ("The page shall load fast.", "vague-word", "fast"),
        ("The page shall be User-Friendly to all.", "vague-word", "User-Friendly"),
        ("The page shall load as\nsoon as possible.", "vague-word", "as\nsoon as possible"),
        ("The export shall hold names, dates, etc.", "open-list", "etc"),
        ("The export shall hold names and so on.", "open-list", "and so on"),
        ("The export shall hold names where appropriate.", "escape-clause", "where appropriate"),
        ("The user shall be able to print.", "escape-clause", "be able to"),
        ("The limit shall be TBD.", "unfinished", "TBD"),
        ("The limit shall be ???", "unfinished", "???"),
        ("The service shall answer within 200.", "missing-unit", "200"),
        ("The service shall answer within 2.5 when idle.", "missing-unit", "2.5"),
        ("The queue shall hold at most 1,000 and drop the rest.", "missing-unit", "1,000"),
        ("The service should answer.", "missing-shall", "should"),
        ("An answer.", "missing-shall", "An answer."),
        ("The door shall open when the bell must ring.", "several-shall", "must"),
        ("The door shall open and ring the bell.", "several-things", "and ring the"),
        ("The door shall open; then ring it twice.", "several-things", "; then ring it"),
        ("The mail shall be sent at noon.", "passive", "shall be sent"),
        (
            "The mail must be properly-not quickly-encrypted, shall be stored.",
            "passive",
            "shall be stored",
        ),
        ("The mail shall never leave.", "negative", "shall never"),
        (
            "The robot shall " + "walk " * 38 + ".",
            "long-sentence",
            "The robot shall " + "walk " * 38 + ".",
        ),
    ],
)
def test_what_reads_badly_is_found_where_it_stands(text: str, rule: str, spot: str) -> None:
    found = [text[each.start : each.end] for each in lint(text).findings if each.rule == rule]
    assert found == [spot]
    assert rule in RULES


def test_a_way_around_an_obligation_is_one_finding() -> None:
    report = lint("The export shall hold names where appropriate.")
    assert [each.rule for each in report.findings] == ["escape-clause"]


def test_a_finding_says_what_and_what_to_write_instead() -> None:
    assert lint("The page shall load fast.").findings == (
        TextFinding(
            rule="vague-word",
            start=20,
            end=24,
            message="'fast' is vague",
            hint="say how long it may take, with a unit",
        ),
    )


def test_code_quotes_comments_and_addresses_are_no_prose() -> None:
    text = """# TBD fast

The `fast` flag shall stop the "easy" mode, see https://example.org/TBD for more.

> It should be easy, etc.

~~~
TODO
~~
~~~
<!-- TBD
fast -->
``a ` TBD`` stands alone. “Quick” and «quick» too.

```
TBD
"""
    assert lint(text).findings == ()


def test_sentences_stand_at_their_places() -> None:
    text = "# Head\nOne two. Three,\ne.g. four (five).\n\n- six\n1. seven!\n| eight | nine |\n---\n`x` ` `` y\n"
    assert [(each.text, text[each.start : each.end]) for each in sentences(text)] == [
        ("One two.", "One two."),
        ("Three,\ne.g. four (five).", "Three,\ne.g. four (five)."),
        ("six", "six"),
        ("seven!", "seven!"),
        ("| eight | nine |", "| eight | nine |"),
        ("---\n___ ` `` y", "---\n`x` ` `` y"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("As a guest I want to pay so that I can leave.", None),
        ("As the owner, I need a key in order to open it.", None),
        ("As gate staff, I want a list so that nobody waits.", None),
        ("As harbour authorities I need the manifest because we count.", None),
        ("As ferry operators, we need a list so that nobody waits.", None),
        ("As customer support, I’d like a list so that nobody waits.", None),
        ("As before. I want it so that we win.", "the story does not say: As a …"),
        ("I want to pay.", "the story does not say: As a …, so that …"),
        ("Pay", "the story does not say: As a …, I want …, so that …"),
        ("", None),
    ],
)
def test_a_story_is_advised_to_say_who_wants_what_and_what_for(
    text: str, message: str | None
) -> None:
    found = [each.message for each in lint(text, "story").findings]
    assert found == ([message] if message else [])


def test_what_is_no_requirement_need_not_oblige_anybody() -> None:
    assert (
        lint("Paying by card is easy.", "prose").findings
        == lint("Paying by card is easy.", without=frozenset({"missing-shall"})).findings
    )
    assert FORMS.get("acceptance_criteria", "prose") == "prose"


def test_rules_can_be_left_aside() -> None:
    assert lint("It shall be fast.", without=frozenset({"vague-word"})).findings == ()


def test_an_empty_text_has_no_findings() -> None:
    assert lint("").findings == lint(" \n\n").findings == ()


def test_of_very_many_findings_the_first_are_told() -> None:
    report = lint("It shall be fast. " * 500)
    assert len(report.findings) == len(report.statements) == MAX_FINDINGS
    assert report.left_out == 400


@given(st.text(max_size=300), st.sampled_from(["requirement", "story", "prose"]))
def test_findings_lie_within_the_text(text: str, form: Form) -> None:
    for each in lint(text, form).findings:
        assert 0 <= each.start < each.end <= len(text)


@given(
    st.lists(
        st.sampled_from(
            ["`", "``", "```", "\n", "> ", "fast ", '"', "~~~", "- ", "# ", "<!--", "-->", "|"]
        ),
        max_size=40,
    )
)
@settings(max_examples=200)
def test_what_is_masked_keeps_its_place(parts: list[str]) -> None:
    text = "".join(parts)
    for each in sentences(text):
        kept = zip(each.text, text[each.start : each.end], strict=True)
        assert all(one == other or one in "_ " for one, other in kept)


@pytest.mark.parametrize(
    "piece",
    [
        *("fast ", "`", "` ", '"', '"a ', "“a ", "shall ", "be ", " ", "\n", "a", "within 5 ", "5"),
        *("<!--", "https://", "as a ", "- ", "shall be aly ", "` `` ", ".", ". ", "when, ", "|\n"),
        *("; then ", ", ", "and ", "```\n", "?", "#\n", "1. "),
    ],
)
def test_a_text_of_full_length_is_read_whatever_it_repeats(piece: str) -> None:
    # What took more than linear time would take minutes here, and the tests' timeout ends it.
    text = (piece * 50_000)[:50_000]
    assert all(0 <= each.start <= each.end <= len(text) for each in lint(text).findings)
