"""Callers that leave: what they called is on record, and is done as a whole or not at all."""

from __future__ import annotations

import asyncio

import pytest

from tests.hub.world import World


@pytest.mark.req("H-17")
async def test_a_write_whose_caller_leaves_is_on_record_and_done_once_or_not_at_all(
    world: World,
) -> None:
    calls = [asyncio.create_task(world.call("create_epic", title=f"{n}")) for n in range(40)]
    await asyncio.sleep(0)
    for call in calls[::2]:
        call.cancel()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [isinstance(each, asyncio.CancelledError) for each in results] == [True, False] * 20
    outcomes = [record.outcome for record in world.trail.records]
    assert outcomes.count("cancelled") == 20
    await world.call("create_epic", title="last")
    found = await world.call("list_epics", limit=100, sort="reference_id")
    assert found.total == 1 + outcomes.count("done")
    assert [each.reference_id for each in found.items] == [
        f"EP-{number:03d}" for number in range(1, found.total + 1)
    ]
    kept = {each.title for each in found.items}
    assert kept >= {f"{number}" for number in range(1, 40, 2)}
