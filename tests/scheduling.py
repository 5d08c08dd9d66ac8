"""Which tests run, in which order, and in which of xdist's processes.

Each file runs in one process, but for a few long ones, and all files that need a Kafka broker in the
same, so that there is one broker. Files that take long run first, so that no process is left with one alone.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any, Final
from zlib import crc32

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

SLOW: Final = (
    "tests/workflows/bus",
    "tests/observe",
    "tests/workflows/chaos",
    "tests/app/backup",
    "tests/web",
    "tests/scale",
    "tests/plugins",
    "tests/workflows",
    "tests/mcp/conformance",
    "tests/stranger",
    "tests/explorer",
    "tests/hub/system",
    "tests/hub/races",
    "tests/app",
    "tests/clients",
    "tests/mcp/interop",
    "tests/mcp/server/cluster",
    "tests/soak",
    "tests/test_docs.py",
)
"""The folders and files that run first."""

BROKER: Final = ("tests/workflows/bus/", "tests/observe/")
"""The folders in which most tests need a broker."""

SHARED: Final = ("tests/test_docs.py",)
"""Long files whose tests have nothing in common: all processes share them."""
PARTS: Final = 8

UNIT: Final = (
    "tests/a2a/golden/",
    "tests/a2a/protocol/",
    "tests/exposure/",
    "tests/fuzz/",
    "tests/hub/domain/",
    "tests/jsonrpc/",
    "tests/mcp/protocol/",
    "tests/openrpc/",
    "tests/schema/",
    "tests/workflows/core/",
)
"""The folders with unit tests."""
NO_UNIT: Final = (
    "tests/exposure/test_find_starlette.py",
    "tests/exposure/test_in_process_exposed.py",
    "tests/exposure/test_security.py",
    "tests/jsonrpc/methods/test_context.py",
    "tests/jsonrpc/protocol/test_errors.py",
    "tests/jsonrpc/runtime/test_observer.py",
    "tests/jsonrpc/runtime/test_dispatcher.py",
    "tests/openrpc/test_api.py",
    "tests/openrpc/test_generator.py",
    "tests/openrpc/test_live.py",
    "tests/openrpc/test_names.py",
    "tests/openrpc/test_validity.py",
    "tests/schema/test_schema_strings.py",
)
"""The files in these folders that start servers or other programs."""
SERVERS: Final = frozenset(("cluster", "kafka", "browser", "packages", "url", "migrated_url"))
"""The fixtures that start a server, open a database, or install packages."""
OUTSIDE: Final = frozenset(("subprocess.Popen", "os.posix_spawn", "socket.bind", "sqlite3.connect"))
"""The audit events that a unit test may not cause."""


def turn(item: pytest.Item) -> int:
    """Return the place of a test in the order of all."""
    path = item.nodeid.partition("::")[0]
    found = (number for number, place in enumerate(SLOW) if f"{path}/".startswith(f"{place}/"))
    return next(found, len(SLOW))


class Scheduling(LoadFileScheduling):  # type: ignore[misc]
    """An xdist scheduler that keeps each file, and all that need a broker, in one process."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if file in SHARED:
            return f"{file} {crc32(nodeid.encode()) % PARTS}"
        return "a broker" if file.startswith(BROKER) else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    return Scheduling(config, log)


class UnitTests:
    """A pytest plugin that selects unit tests, and fails those that reach outside the process.

    Without any path on the command line, other folders are not even collected.
    """

    def __init__(self, config: pytest.Config) -> None:
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args = [*UNIT]
        self._running = ""
        sys.addaudithook(self._watch)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        chosen = [item for item in items if is_unit(item)]
        others = [item for item in items if not is_unit(item)]
        if others:
            config.hook.pytest_deselected(items=others)
        items[:] = chosen

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._running = item.nodeid
        try:
            return (yield)
        finally:
            self._running = ""

    def _watch(self, event: str, _: object) -> None:
        if self._running and event in OUTSIDE:
            raise RuntimeError(
                f"{event} in {self._running}: a test that needs this belongs to `NO_UNIT` in "
                "tests/scheduling.py"
            )


def is_unit(item: pytest.Item) -> bool:
    """Return whether a test is in a folder of `UNIT` and uses no fixture of `SERVERS`."""
    fixtures: list[str] = getattr(item, "fixturenames", [])
    return (
        item.nodeid.startswith(UNIT)
        and not item.nodeid.startswith(NO_UNIT)
        and SERVERS.isdisjoint(fixtures)
    )
