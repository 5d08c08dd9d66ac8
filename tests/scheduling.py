"""Who runs what where several processes share the tests: a file each, and all that need a broker one
of them, so that there is one broker."""

from __future__ import annotations

from typing import Any, Final

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

BROKER: Final = ("tests/workflows/bus/", "tests/observe/")
"""Where most tests need one."""


class Scheduling(LoadFileScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "a broker" if file.startswith(BROKER) else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    return Scheduling(config, log)
