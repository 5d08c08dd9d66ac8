"""The database did what it was asked, and was killed before it could say so."""

from __future__ import annotations

import pytest

from accord.workflows.core.events import TaskSucceeded
from tests.workflows.bridge.test_worker import Hands, call
from tests.workflows.bridge.yard import until, working

TAKEN = """
UPDATE tasks SET state = 'running', owner = $2, fence = fence + 1 WHERE id = $1 RETURNING id
"""


@pytest.mark.req("W-09")
async def test_a_task_whose_taking_nobody_heard_of_is_done_all_the_same(migrated_url: str) -> None:
    hands = Hands()
    async with working(migrated_url, {"agent": hands}, poll=0.1) as yard:
        [other] = await yard.give(call("other", "wait"))
        await until(lambda: _called(hands, 1))
        yard.membership.lost.set()  # it takes nothing for the moment
        [id] = await yard.give(call("t"))
        await yard.store.write(TAKEN, id, yard.membership.id)
        yard.membership.lost.clear()
        told = await yard.told(id)
        hands.gate.set()
        await yard.told(other)
    assert isinstance(told, TaskSucceeded)
    assert [task.id for task in hands.called] == [other, id]


async def _called(hands: Hands, number: int) -> bool:
    return len(hands.called) >= number
