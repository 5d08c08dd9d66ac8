"""The definitions that the pages about triggers show are valid."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.workflows.core.reading import read_text
from accord.workflows.core.rules import Known
from accord.workflows.triggers.triggers import known_timezones
from tests.markdown import read_blocks

PAGES = Path(__file__).parents[3] / "docs" / "workflows"


@pytest.mark.parametrize(
    ("page", "names"), [("triggers", ["review", "build"]), ("story", ["review"])]
)
def test_every_definition_of_the_page_is_valid(page: str, names: list[str]) -> None:
    known = Known(kinds=frozenset({"requirement"}), timezones=known_timezones())
    shown = [each for each in read_blocks(page, PAGES / f"{page}.md") if each.language == "yaml"]
    assert [read_text(each.code, "yaml", known).name for each in shown] == names
