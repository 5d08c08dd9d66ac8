"""What every test gets: requirement marks, and no silent gaps on continuous integration."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from accord.operations.runner import Runner
from tests.compliance import Marks
from tests.databases import (
    cluster as cluster,
    migrated_database as migrated_database,
    migrated_file as migrated_file,
    migrated_url as migrated_url,
    url as url,
)
from tests.kafka import kafka as kafka
from tests.purity import PureCoverage
from tests.scheduling import (
    UnitTests,
    pytest_xdist_make_scheduler as pytest_xdist_make_scheduler,
    turn,
)

ALLOWED_SKIP = "only on"
"""How the reason of a skip begins that is fine everywhere: `only on Python 3.12 and newer`."""

MEMORY_FOLDER = Path("/dev/shm")
MEMORY_NEEDED = 4 * 1024**3
"""Bytes that have to be free there: a complete run needs up to 2 GB."""


# How long an example takes says how busy the machine is. On CI Hypothesis asks for no more either.
settings.register_profile(
    "no time limits",
    settings.default,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("no time limits")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("accord")
    group.addoption(
        "--unit",
        action="store_true",
        help="run the tests that need no server, browser, broker, database or other program",
    )
    group.addoption(
        "--pure-cov",
        action="store_true",
        help="have --cov measure the tests of pure modules only",
    )


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell's background job: programs that tests start would not be interrupted either.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    _keep_temporary_files_in_memory()
    config.pluginmanager.register(Marks(config), "requirement-marks")
    if config.getoption("--unit"):
        config.pluginmanager.register(UnitTests(config), "unit-tests")
    if config.getoption("--pure-cov"):
        config.pluginmanager.register(PureCoverage(config), "pure-coverage")
    # Whatever a test has an operation do, it may do no more than clients are told.
    Runner.strict = True


def _keep_temporary_files_in_memory() -> None:
    """Set TMPDIR to a file system in memory, if there is a large one and nothing else was asked for.

    Each test of PostgreSQL copies and removes hundreds of files, which takes ten times as long on a
    disk. Programs that tests start inherit the setting, and so do xdist's workers.
    """
    if "TMPDIR" in os.environ or not os.access(MEMORY_FOLDER, os.W_OK):
        return
    with suppress(OSError):
        free = os.statvfs(MEMORY_FOLDER)
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        [available] = [int(it.split()[1]) for it in lines if it.startswith("MemAvailable:")]
        if min(free.f_bavail * free.f_frsize, available * 1024) >= MEMORY_NEEDED:
            os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY_FOLDER)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=turn)


def pytest_collection_finish() -> None:
    """Thousands of tests are many objects, which no collection of garbage has to look at again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def requirement_marks(pytestconfig: pytest.Config) -> Marks:
    plugin = pytestconfig.pluginmanager.get_plugin("requirement-marks")
    assert isinstance(plugin, Marks)
    return plugin


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse_gap(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_gap(report)
    return report


def _refuse_gap(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Under CI=true something that is missing fails the tests that need it."""
    if os.environ.get("CI") != "true" or not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = reason.removeprefix("Skipped: ")
    if not reason.startswith(ALLOWED_SKIP):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI=true does not allow: {reason}"
