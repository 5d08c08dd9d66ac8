"""The page about scale says what was measured."""

from __future__ import annotations

import re

from benchmarks.report import Row, Run, stored
from tools.scale_page import MARKED, PAGE, TABLES, Figures, render


def test_its_tables_are_those_of_the_stored_figures() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == render(page, Figures(stored())), "python -m tools.scale_page"
    assert {found["name"] for found in MARKED.finditer(page)} == set(TABLES)


def test_a_cost_that_doubles_doubles_the_cores() -> None:
    before, after = (_cores(microseconds) for microseconds in (250.0, 500.0))
    assert (before, after) == ("1.4", "2.8")


def _cores(microseconds: float) -> str:
    """Of executors, for a million runs an hour."""
    whats = ("engine's process", "database's processes")
    rows = [
        Row(group="workflow_steps", what=f"{on}: CPU of the {what}, one step", ours=each, unit="µs")
        for on in ("PostgreSQL", "Kafka and PostgreSQL")
        for what, each in zip(whats, (microseconds, 1.0), strict=True)
    ]
    broker = "Kafka and PostgreSQL: CPU of the broker, one step"
    rows.append(Row(group="workflow_steps", what=broker, ours=1.0, unit="µs"))
    table = TABLES["runs"](Figures(Run("2026-11-16", "3.11", "make bench", [], rows)))
    found = re.search(r"^\| 1,000,000 \| [0-9,]+ \| ([0-9.]+) ", table, re.MULTILINE)
    assert found is not None
    return found[1]
