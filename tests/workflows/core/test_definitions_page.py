"""The definitions that the page shows are valid."""

from __future__ import annotations

from pathlib import Path

from accord.workflows.core.reading import read_text
from tests.markdown import read_blocks

PAGE = Path(__file__).parents[3] / "docs" / "workflows" / "definitions.md"


def test_every_definition_of_the_page_is_valid() -> None:
    shown = [block for block in read_blocks("definitions", PAGE) if block.language == "yaml"]
    assert [read_text(block.code, "yaml").name for block in shown] == ["review-requirement"]
