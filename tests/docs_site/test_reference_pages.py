"""The pages of docs/reference are what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.described import Described, ask
from tools.reference import PAGES


@pytest.fixture(scope="module")
def described() -> Described:
    return ask()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_is_up_to_date(page: Path, described: Described) -> None:
    assert page.read_text(encoding="utf-8") == PAGES[page](described), "run `make docs`"


def test_nothing_else_is_in_the_folder() -> None:
    [folder] = {page.parent for page in PAGES}
    assert set(folder.iterdir()) == set(PAGES)
