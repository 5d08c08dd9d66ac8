"""The soak of `make soak-hub`, in seconds: callers of the whole system leave nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak.hub.page import render
from tests.soak.hub.run import soak


@pytest.mark.timeout(120)
@pytest.mark.req("H-03")
async def test_callers_of_the_whole_system_leave_nothing_behind(tmp_path: Path) -> None:
    said: list[str] = []
    report = await soak(tmp_path, "", 5, said.append)
    assert set(report.after.left.values()) == {0}
    assert report.errors == []
    before, after = report.before.held, report.after.held
    assert (after.tasks, after.threads) == (before.tasks, before.threads)
    assert sum(report.visits.values()) > 30
    assert report.operations > 100
    assert said[-1].endswith("slice 10 of 10")
    assert "| revoked |" in render([report])
