"""Marks are checked, gaps fail where they must, the report says what the run showed, and parts of the
suite are selected and measured as they should be."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests import compliance, purity, scheduling
from tests.compliance import Run, Shown
from tests.requirements import REQUIREMENTS
from tools.compliance_page import render


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """An empty suite that has our conftest."""
    pytester.makeconftest("from tests.conftest import *")
    pytester.makeini(
        "[pytest]\naddopts = -p no:asyncio -p no:hypothesispytest\n"
        "markers =\n  req(*ids): requirements\n  matrix: repetitions\n"
    )
    return pytester


def test_a_mark_with_an_unknown_id_fails_the_collection(suite: pytest.Pytester) -> None:
    suite.makepyfile("import pytest\n@pytest.mark.req('F-01', 'F-1')\ndef test_it(): pass")
    result = suite.runpytest()
    assert result.ret is pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*::test_it: tests/requirements.py lists no requirement 'F-1'; did you mean F-*"]
    )


def test_a_mark_without_any_id_fails_the_collection(suite: pytest.Pytester) -> None:
    suite.makepyfile("import pytest\n@pytest.mark.req()\ndef test_it(): pass")
    result = suite.runpytest()
    assert result.ret is pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*::test_it: tests/requirements.py lists no requirement ''"])


def test_a_mark_with_known_ids_is_fine(suite: pytest.Pytester) -> None:
    suite.makepyfile("import pytest\n@pytest.mark.req('F-01', 'RPC-4a')\ndef test_it(): pass")
    suite.runpytest().assert_outcomes(passed=1)


MATRIX = """
    import pytest
    @pytest.mark.req("F-01")
    @pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.matrix)])
    def test_most(n): pass
    @pytest.mark.req("F-02")
    @pytest.mark.matrix
    def test_repetition(): pass
    def test_whole(requirement_marks):
        print("shown:", *requirement_marks.ids(), requirement_marks.partial)
"""


@pytest.fixture
def results(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file with the outcomes of a complete run of the suite in `pytester`."""
    monkeypatch.setattr(compliance, "ROOT", pytester.path)
    monkeypatch.setattr(compliance, "RESULTS", tmp_path / "requirements.json")
    return tmp_path / "requirements.json"


def test_a_run_without_repetitions_is_complete(suite: pytest.Pytester, results: Path) -> None:
    suite.makepyfile(MATRIX)
    result = suite.runpytest_inprocess("-s", "-m", "not matrix")
    result.assert_outcomes(passed=2, deselected=2)
    result.stdout.fnmatch_lines(["*shown: F-01 None*"])
    run = msgspec.json.decode(results.read_bytes(), type=Run)
    assert [test.requirements for test in run.tests.values()] == [["F-01"]]


@pytest.mark.parametrize("option", ["-mnot req", "-kmost or whole", "--unit"])
def test_a_run_of_anything_less_is_not(suite: pytest.Pytester, results: Path, option: str) -> None:
    suite.makepyfile(MATRIX)
    suite.runpytest_inprocess(option)
    assert not results.exists()


def test_only_the_tests_of_pure_modules_are_measured(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    class Controller:
        def pause(self) -> None:
            said.append("pause")

        def resume(self) -> None:
            said.append("resume")

    class Plugin:
        cov_controller = Controller()

        def pytest_runtest_logstart(self, nodeid: str) -> None:
            said.append(nodeid.partition("::")[2])

    monkeypatch.setattr(purity, "TESTS", ("test_pure.py",))
    suite.makepyfile(test_other="def test_a(): pass\ndef test_b(): pass")
    suite.makepyfile(test_pure="def test_c(): pass\ndef test_d(): pass")
    plugin = Plugin()
    monkeypatch.setattr(purity.PureCoverage, "_coverage", lambda self: plugin.cov_controller)
    suite.inline_run("--pure-cov", plugins=[plugin]).assertoutcome(passed=4)
    collected = said.index("test_a")
    assert said[:collected] == ["pause", "resume", "pause"]
    assert said[collected:] == ["test_a", "test_b", "resume", "test_c", "test_d"]


def test_a_unit_test_that_reaches_outside_the_process_fails(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduling, "UNIT", ("test_unit.py",))
    suite.makepyfile(test_other="def test_it(): pass")
    suite.makepyfile(
        test_unit="""
            import sqlite3
            def test_outside(): sqlite3.connect(":memory:")
            def test_inside(): pass
            def test_database(url): pass
        """
    )
    result = suite.runpytest_inprocess("--unit", ".")
    result.assert_outcomes(passed=1, failed=1, deselected=3)
    result.stdout.fnmatch_lines(["*sqlite3.connect in test_unit.py::test_outside*"])


SKIPS = """
    import pytest
    def test_missing(): pytest.skip("node is missing")
    @pytest.mark.skipif(True, reason="only on Windows")
    def test_elsewhere(): pass
    @pytest.mark.xfail(reason="known", strict=True)
    def test_known(): assert False
"""


def test_a_skip_is_a_skip_on_a_desk(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    suite.makepyfile(SKIPS)
    suite.runpytest().assert_outcomes(skipped=2, xfailed=1)


def test_a_skip_for_something_missing_fails_under_ci(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    suite.makepyfile(SKIPS)
    result = suite.runpytest()
    result.assert_outcomes(failed=1, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(["skipped, which CI=true does not allow: node is missing"])


def test_a_module_skipped_for_something_missing_fails_under_ci(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    suite.makepyfile("import pytest\npytest.importorskip('no_such_module')")
    result = suite.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["skipped, which CI=true does not allow: *no_such_module*"])


def test_the_report_gives_each_requirement_its_tests_and_their_worst_outcome() -> None:
    run = Run(
        "3.11.7",
        {
            "tests/test_a.py::test_x[1]": Shown(["F-01", "RPC-4a"], "passed"),
            "tests/test_a.py::test_x[2]": Shown(["F-01"], "failed"),
            "tests/test_b.py::test_y": Shown(["F-01", "F-24"], "passed"),
            "tests/test_b.py::test_z": Shown(["F-02"], "skipped"),
            "tests/test_c.py::test_x[1]": Shown(["F-04"], "passed"),
            "tests/test_c.py::test_x[2]": Shown(["F-04"], "skipped"),
            "tests/test_c.py::test_y": Shown(["F-05"], "passed"),
            "tests/test_c.py::test_z": Shown(["F-05"], "skipped"),
        },
    )
    lines = render(run, frozenset({"F-21", "F-24"})).splitlines()
    outcomes = {
        id: tuple(line.rstrip(" |").split(" | ")[2:])
        for line in lines
        if (id := line.split(" | ")[0].strip("| ")) in REQUIREMENTS
    }
    benchmarks = "[the stored benchmark run](benchmarks.md)"
    assert list(outcomes) == list(REQUIREMENTS)
    assert outcomes["RPC-4a"] == ("1 test", "passed")
    assert outcomes["F-01"] == ("2 tests", "failed")
    assert outcomes["F-02"] == ("1 test", "skipped")
    assert outcomes["F-04"] == ("1 test", "passed")
    assert outcomes["F-05"] == ("2 tests", "passed, 1 skipped")
    assert outcomes["F-03"] == ("nothing", "unproven")
    assert outcomes["F-21"] == (benchmarks, "passed")
    assert outcomes["F-24"] == (f"{benchmarks}, 1 test", "passed")
    assert outcomes["F-25"] == (benchmarks, "unproven")
    listed = lines.index("### F-01")
    assert lines[listed + 2 : listed + 6] == [
        REQUIREMENTS["F-01"].text,
        "",
        "- `tests/test_a.py::test_x` (2 cases): failed",
        "- `tests/test_b.py::test_y`: passed",
    ]
