"""Differences, shares and who did something by what, in words and small pictures."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from accord.hub.entities import Difference
from accord.web.formatting import is_assistant, through
from accord.web.redline import FieldChange, field_changes
from accord.web.svg import bar, percent

pytestmark = pytest.mark.req("H-21")


def test_short_values_stand_beside_each_other_and_long_ones_are_redlines() -> None:
    before = "The system shall answer within five seconds, whatever it is asked for by whom."
    found = field_changes(
        [
            Difference(field="status", before="Draft", after="Active"),
            Difference(field="user_story_id", before=None, after="US-001"),
            Difference(field="resolved", before=False, after=True),
            Difference(field="epics", before=["EP-001", "EP-002"], after=[]),
            Difference(field="description", before=before, after=before.replace("five", "2")),
            Difference(field="description", diff="@@ -1,2 +1,2 @@\n a\n-<b>\n+c"),
        ]
    )
    assert [(each.name, str(each.text).strip(), each.is_long) for each in found] == [
        ("status", "<del>Draft</del> <ins>Active</ins>", False),
        ("user story", "<ins>US-001</ins>", False),
        ("resolved", "<del>no</del> <ins>yes</ins>", False),
        ("epics", "<del>EP-001, EP-002</del>", False),
        (
            "description",
            "The system shall answer within <del>five</del><ins>2</ins> seconds, whatever it is "
            "asked for by whom.",
            True,
        ),
        ("description", "a\n<del>&lt;b&gt;</del><ins>c</ins>", True),
    ]
    assert field_changes([]) == list[FieldChange]()


@pytest.mark.parametrize(
    ("part", "whole", "filled", "said"),
    [
        (0, 0, "0.0", "none"),
        (0, 9, "0.0", "0 %"),
        (999, 1_000, "119.9", "99 %"),
        (7, 7, "120.0", "100 %"),
    ],
)
def test_a_share_is_a_bar_and_a_number(part: int, whole: int, filled: str, said: str) -> None:
    assert f'class="part" width="{filled}"' in bar(part, whole)
    assert percent(part, whole) == said


def test_programs_are_named_and_pages_go_without_saying() -> None:
    assert [
        through("web", "Firefox"),
        through("mcp", "scribe 1.0"),
        through("mcp", UNSET),
        through("cli", ""),
        through(UNSET, UNSET),
        through("new", UNSET),
    ] == ["", "scribe 1.0", "an MCP client", "the command line", "", "new"]
    assert [is_assistant(face) for face in ("mcp", "a2a", "web", UNSET)] == [
        True,
        True,
        False,
        False,
    ]
