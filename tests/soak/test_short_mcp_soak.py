"""The soak of MCP of `make soak`, in seconds: a few hundred clients leave nothing behind either."""

from __future__ import annotations

import pytest

from tests.soak.mcp.kinds import WEIGHTS
from tests.soak.mcp.page import render
from tests.soak.mcp.run import McpSize, soak

BOTH_LOOPS = True


@pytest.mark.req("M-17")
async def test_hundreds_of_clients_of_both_eras_leave_nothing_behind() -> None:
    said: list[str] = []
    size = McpSize(visits=300, restarts=3, programs=3)
    report = await soak("this loop", size, said.append, slices=2)
    assert report.faults == []
    assert sum(map(sum, (each.values() for each in report.kinds.values()))) == size.visits
    assert all(len(kinds) > len(WEIGHTS) // 2 for kinds in report.kinds.values())
    assert report.programs == {"closed": 1, "killed": 1, "told to go": 1}
    assert report.calls_over_restarts > 100
    assert said[-1].startswith("3 programs")
    assert "| came back |" in render([report])
