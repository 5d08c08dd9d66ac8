"""Every requirement whose package exists is shown by something."""

from __future__ import annotations

import pytest

from tests.compliance import Marks, proven_by_benchmarks
from tests.requirements import REQUIREMENTS


def test_every_requirement_is_shown_by_a_test(requirement_marks: Marks) -> None:
    if requirement_marks.partial:
        pytest.skip(f"only on a run of the whole suite: {requirement_marks.partial}")
    shown = requirement_marks.ids()
    unproven = [
        f"{requirement.id} {requirement.text}"
        for requirement in REQUIREMENTS.values()
        if requirement.proof == "tests" and requirement.due and requirement.id not in shown
    ]
    assert not unproven, "no test shows\n" + "\n".join(unproven)


def test_every_requirement_about_speed_is_proven_by_the_stored_benchmark_run() -> None:
    due = {r.id for r in REQUIREMENTS.values() if r.proof == "benchmarks" and r.due}
    proven = proven_by_benchmarks()
    if proven is None:
        pytest.skip(f"docs/benchmarks.json is missing: {', '.join(sorted(due))} are unproven")
    assert due - proven == set()
