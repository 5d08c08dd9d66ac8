"""Every requirement names a package that exists, and is shown by something."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.compliance import Marks, proven_by_benchmarks
from tests.requirements import REQUIREMENTS, Requirement, unique, unknown_packages
from tests.scheduling import NO_UNIT, SLOW, UNIT

ROOT = Path(__file__).parent.parent


@pytest.mark.req("Q-01")
def test_every_requirement_names_a_package_that_exists() -> None:
    assert unknown_packages(REQUIREMENTS.values()) == []


@pytest.mark.req("Q-01")
def test_a_package_that_does_not_exist_is_named_with_all_that_it_owes() -> None:
    renamed = [
        Requirement("X-01", "One thing.", "accord.no_such_package.module"),
        Requirement("X-02", "Another.", "accord.jsonrpc"),
        Requirement("X-03", "A third.", "accord.no_such_package.module", "benchmarks"),
        Requirement("X-04", "A fourth.", "accord.jsonrpc.no_such_module"),
    ]
    assert unknown_packages(renamed) == [
        "accord.no_such_package.module, which owes X-01, X-03",
        "accord.jsonrpc.no_such_module, which owes X-04",
    ]


@pytest.mark.req("Q-01")
def test_a_folder_that_lost_its_modules_is_no_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "left_behind" / "__pycache__").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    owed = Requirement("X-01", "One thing.", "left_behind")
    assert unknown_packages([owed]) == ["left_behind, which owes X-01"]


@pytest.mark.req("Q-01")
def test_an_id_that_is_listed_twice_is_refused() -> None:
    rows = [Requirement("X-01", "One thing.", "accord"), Requirement("X-01", "Other.", "accord")]
    with pytest.raises(ValueError, match=r"X-01 is listed twice in tests/requirements\.py"):
        unique(rows)


def test_folders_whose_tests_begin_first_and_those_with_unit_tests_exist() -> None:
    assert [place for place in (*SLOW, *UNIT, *NO_UNIT) if not (ROOT / place).exists()] == []


@pytest.mark.req("Q-01")
def test_every_requirement_is_shown_by_a_test(requirement_marks: Marks) -> None:
    if requirement_marks.partial:
        pytest.skip(f"only on a run of the whole suite: {requirement_marks.partial}")
    shown = requirement_marks.ids()
    unproven = [
        f"{requirement.id} {requirement.text}"
        for requirement in REQUIREMENTS.values()
        if requirement.proof == "tests" and requirement.id not in shown
    ]
    assert not unproven, "no test shows\n" + "\n".join(unproven)


def test_every_requirement_about_speed_is_proven_by_the_stored_benchmark_run() -> None:
    due = {r.id for r in REQUIREMENTS.values() if r.proof == "benchmarks"}
    proven = proven_by_benchmarks()
    if proven is None:
        pytest.skip(f"docs/benchmarks.json is missing: {', '.join(sorted(due))} are unproven")
    assert due - proven == set()
