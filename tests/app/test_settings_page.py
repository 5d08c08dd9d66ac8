"""The page about settings is what the settings say."""

from __future__ import annotations

from tools.settings_page import PAGE, render


def test_the_page_of_settings_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run `make docs`"
