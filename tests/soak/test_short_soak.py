"""The soak of `make soak`, in seconds: a few thousand calls leave nothing behind either."""

from __future__ import annotations

import pytest

from tests.soak.page import render
from tests.soak.run import Size, soak

BOTH_LOOPS = True


@pytest.mark.req("F-24")
async def test_thousands_of_calls_of_every_kind_leave_nothing_behind() -> None:
    said: list[str] = []
    size = Size(calls=6_000, come_and_go=200, hold=100)
    report = await soak("this loop", size, said.append, slices=2)
    assert report.faults == []
    assert sum(report.calls.values()) >= size.calls
    assert set(report.calls) == {"stdio", "tcp", "ws", "http"}
    assert min(report.kinds.values()) > 0
    assert len(report.kinds) == 13
    assert said[-1].startswith("100 connections held at once")
    assert "| called back |" in render([report])
