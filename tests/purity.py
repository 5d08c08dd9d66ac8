"""Which modules are pure: all of `accord.jsonrpc` beside those that drive it, all of
`accord.a2a.protocol`, `accord.mcp.protocol`, `accord.hub.domain` and `accord.workflows.core`.

Their own tests cover them completely. `pytest --cov --pure-cov` runs every test once and measures
only those. Run as a program, this module prints the pure files, for coverage's `--include`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Protocol

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = (
    "accord/jsonrpc",
    "accord/a2a/protocol",
    "accord/mcp/protocol",
    "accord/hub/domain",
    "accord/workflows/core",
)
TESTS = (
    "tests/jsonrpc/",
    "tests/conformance/",
    "tests/a2a/golden/",
    "tests/a2a/protocol/",
    "tests/a2a/test_client.py",
    "tests/mcp/protocol/",
    "tests/hub/domain/",
    "tests/workflows/core/",
)
"""The tests that cover the pure modules: no line counts as covered because of other tests."""


class Coverage(Protocol):
    """A measurement that can be paused: the controller of pytest-cov."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class PureCoverage:
    """A pytest plugin that measures the tests of pure modules only.

    Coverage makes everything twice as slow, so it pauses otherwise, also while the files of other
    tests are imported. The code outside of functions runs once, when a module is imported: the
    process in which pytest-cov starts first, which is not one of xdist's workers, imports all pure
    modules.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._measuring = True

    @pytest.hookimpl(trylast=True)  # pytest-cov starts in xdist's workers when their sessions do
    def pytest_sessionstart(self) -> None:
        if not hasattr(self._config, "workerinput"):
            for file in pure_files():
                import_module(_name(file))
        self._measure(False)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        self._measure(collector.nodeid.startswith(TESTS))
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._measure(item.nodeid.startswith(TESTS))
        return (yield)

    def _measure(self, wanted: bool) -> None:
        if wanted == self._measuring:
            return
        self._measuring = wanted
        coverage = self._coverage()
        if wanted:
            coverage.resume()
        else:
            coverage.pause()

    def _coverage(self) -> Coverage:
        plugin = self._config.pluginmanager.get_plugin("_cov")
        if plugin is None:
            raise pytest.UsageError("--pure-cov needs --cov")
        found: Coverage = plugin.cov_controller
        return found


def driving_modules() -> frozenset[str]:
    """The dotted names of the modules with a loop, a clock or a log; pyproject.toml lists them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = (contract for contract in contracts if contract.get("id") == "driving")
    return frozenset(contract["protected_modules"])


def pure_files() -> list[Path]:
    """The files of the pure modules, relative to the project."""
    driving = driving_modules()
    files = [file for package in PACKAGES for file in (ROOT / "src" / package).rglob("*.py")]
    relative = [file.relative_to(ROOT) for file in sorted(files)]
    return [file for file in relative if _name(file) not in driving]


def _name(file: Path) -> str:
    """Return the dotted name of the module in a file of `src`, relative to the project."""
    return ".".join(file.with_suffix("").parts[1:]).removesuffix(".__init__")


if __name__ == "__main__":
    print(",".join(map(str, pure_files())))
