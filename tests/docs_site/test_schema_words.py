"""Schemas in words, for the pages of docs/reference."""

from __future__ import annotations

import pytest

from tools.schema_words import words


@pytest.mark.parametrize("most", [86_400, 86_400.0])
def test_a_bound_reads_the_same_whichever_kind_of_number_it_is(most: float) -> None:
    assert words({"type": "number", "minimum": 0, "maximum": most}) == "number, 0 to 86,400"
    assert words({"type": "number", "maximum": most}) == "number, up to 86,400"
    assert words({"type": "number", "minimum": most}) == "number, at least 86,400"


def test_a_bound_keeps_its_fraction() -> None:
    assert words({"type": "number", "minimum": 0.5, "maximum": 2}) == "number, 0.5 to 2"
