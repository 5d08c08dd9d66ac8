"""What the pages about plugins show, beside the Python of which tests/test_docs.py takes care."""

from __future__ import annotations

import tomllib
from pathlib import Path

from accord.entry_points import GROUPS
from accord.workflows.core.reading import read_text
from accord.workflows.core.rules import Arguments, Known
from tests.markdown import read_blocks

PAGES = Path(__file__).parent.parent.parent / "docs" / "extend"
BLOCKS = [block for page in sorted(PAGES.glob("*.md")) for block in read_blocks(page.name, page)]


def test_the_definition_with_a_step_of_a_plugin_is_valid() -> None:
    taken = Arguments(frozenset({"room", "text"}), frozenset({"room", "text"}))
    shown = [block.code for block in BLOCKS if block.language == "yaml"]
    known = Known(steps={"announce": taken})
    assert [read_text(code, "yaml", known).name for code in shown] == ["tell-everybody"]


def test_each_group_is_shown_as_it_is_written() -> None:
    found = [tomllib.loads(block.code) for block in BLOCKS if block.language == "toml"]
    projects = [each["project"]["entry-points"] for each in found if "project" in each]
    assert {group for each in projects for group in each} == set(GROUPS)
