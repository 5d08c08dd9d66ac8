"""The page about error codes is what the catalogue says."""

from __future__ import annotations

import pytest

from tools.error_page import PAGE, render


@pytest.mark.req("F-09")
def test_the_page_of_error_codes_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run `make docs`"
