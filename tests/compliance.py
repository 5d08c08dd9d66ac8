"""The pytest plugin behind requirement marks.

It refuses marks that `tests/requirements.py` does not list, knows which tests show which
requirement, and leaves the outcomes of a complete run in `.results/requirements.json`, from
which `make compliance` writes its page.
"""

from __future__ import annotations

import platform
from collections.abc import Generator, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from tests.requirements import REQUIREMENTS

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / ".results" / "requirements.json"
BENCHMARKS = ROOT / "docs" / "benchmarks.json"

WITHOUT_REPETITION = "not matrix"
"""The expression of marks that `make test` gives: tests marked `matrix` show no requirement that others do not."""

Outcome = Literal["passed", "failed", "skipped", "not run"]


class Shown(msgspec.Struct):
    """One test, the requirements it shows, and how it went."""

    requirements: list[str]
    outcome: Outcome = "not run"


class Run(msgspec.Struct):
    """What a run of the suite showed."""

    python: str
    tests: dict[str, Shown]


class StoredBenchmarks(msgspec.Struct):
    """The part of docs/benchmarks.json that says which requirements the measured run proves."""

    proves: list[str]


def proven_by_benchmarks() -> frozenset[str] | None:
    """The ids that the stored benchmark run proves, None when there is no such run."""
    if not BENCHMARKS.exists():
        return None
    return frozenset(msgspec.json.decode(BENCHMARKS.read_bytes(), type=StoredBenchmarks).proves)


class Marks:
    """Follows one session; `shown` maps node ids to tests, `partial` says why it is no whole.
    The tests marked `matrix` repeat what others show: a run without them is a whole, and a
    requirement that only they show is unproven.

    Where several processes share the tests (pytest-xdist), each collects all of them and tells
    with its reports what a test shows; the one that gathers the reports leaves the outcomes.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.shown: dict[str, Shown] = {}
        self.partial = _selection(config)
        self._gathers = not hasattr(config, "workerinput")

    def ids(self) -> frozenset[str]:
        """Every requirement that a collected test shows."""
        return frozenset(id for test in self.shown.values() for id in test.requirements)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        unknown: list[str] = []
        for item in items:
            ids = [id for mark in item.iter_markers("req") for id in mark.args or ("",)]
            unknown += [_refusal(item.nodeid, id) for id in ids if id not in REQUIREMENTS]
            if ids:
                self.shown[item.nodeid] = Shown(ids)
        if unknown:
            raise pytest.UsageError("\n".join(unknown))

    def pytest_deselected(self, items: Iterable[pytest.Item]) -> None:
        for item in items:
            self.shown.pop(item.nodeid, None)
            if item.get_closest_marker("matrix") is None:
                self.partial = self.partial or "tests were deselected"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        test = self.shown.get(item.nodeid)
        if test is not None:
            vars(report)["requirements"] = test.requirements  # sent to who gathers, as all of it
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        ids: list[str] | None = getattr(report, "requirements", None)
        if ids is None:
            return
        test = self.shown.setdefault(report.nodeid, Shown(ids))
        if test.outcome == "failed":
            return
        if report.when == "call" or report.outcome != "passed":
            test.outcome = report.outcome

    def pytest_sessionfinish(self) -> None:
        if self.partial or not self.shown or not self._gathers:
            return
        RESULTS.parent.mkdir(exist_ok=True)
        run = Run(platform.python_version(), dict(sorted(self.shown.items())))
        RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(run)))


def _selection(config: pytest.Config) -> str | None:
    """Why this session is a part of the suite only, None for the whole."""
    for option in ("keyword", "markexpr", "ignore", "ignore_glob", "lf", "collectonly", "unit"):
        if config.getoption(option, None) not in (None, "", False, [], WITHOUT_REPETITION):
            return f"pytest was given --{option}"
    whole = {ROOT, ROOT / "tests"}
    parts = [arg for arg in config.args if Path(arg).resolve() not in whole]
    return f"pytest was given {parts[0]}" if parts else None


def _refusal(nodeid: str, id: str) -> str:
    close = get_close_matches(id, REQUIREMENTS, n=2)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    return f"{nodeid}: tests/requirements.py lists no requirement {id!r}{hint}"
