"""The attack of `make soak-memory` by a smaller crowd: memory stays within its bound here too."""

from __future__ import annotations

import pytest

from tests.soak.memory.__main__ import MOST_GROWTH, render, soak

CROWD = 40


@pytest.mark.req("F-40", "H-40")
async def test_a_crowd_that_never_finishes_costs_little_memory() -> None:
    outcomes = await soak(CROWD)
    assert len(outcomes) == 9
    assert {each.name: each.growth for each in outcomes if each.growth > MOST_GROWTH} == {}
    assert min(each.asked for each in outcomes) > 0
    assert "a server of the library: TCP" in render(outcomes, CROWD)
