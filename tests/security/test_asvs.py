"""That the account of OWASP's ASVS is whole, names tests that there are, and is what the page says."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tools.asvs import Requirement, requirements
from tools.asvs_page import PAGE, render

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).parent / "asvs_5_0_0.txt"
"""Ids and levels of the standard."""


@cache
def names_in(path: str) -> frozenset[str]:
    """The names of the tests in a file, which is read and not run."""
    tree = ast.parse((ROOT / path).read_bytes())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, kinds))


def test_every_requirement_of_both_levels_is_there_once() -> None:
    official = [tuple(line.split()) for line in LIST.read_text(encoding="utf-8").splitlines()]
    assert len(official) == 253
    assert [(each.id, str(each.level)) for each in requirements()] == official


@pytest.mark.parametrize("one", requirements(), ids=lambda one: one.id)
def test_what_is_said_of_a_requirement_can_be_looked_up(one: Requirement) -> None:
    assert one.about
    for test in one.tests:
        path, _, name = test.partition("::")
        assert name in names_in(path), f"{test} is not there"
    for document in one.documents:
        assert (ROOT / document).is_file(), f"{document} is not there"
    shown = bool(one.tests or one.documents)
    assert shown != bool(one.why_not) or one.state == "not met"
    assert not (one.missing and one.why_not)


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(requirements()), "run `make docs`"
