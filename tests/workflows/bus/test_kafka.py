"""What the Kafka bus carries, by a real broker and PostgreSQL."""

from __future__ import annotations

import json
import time

import pytest

from accord.workflows.core.events import TaskSucceeded, decode_event
from tests.workflows.bus.carrying import Carrying, answer, task, until


@pytest.mark.req("W-08")
async def test_a_task_reaches_a_bridge_and_its_result_the_run(carrying: Carrying) -> None:
    bus = await carrying.start()
    await carrying.dispatch(bus, task("r", "ask", time.time()))
    assert await carrying.count("tasks") == 1

    async def is_ready() -> bool:
        return await carrying.states() == {"r/ask": "ready"}

    await until(is_ready)
    await carrying.answer(bus, answer("r", "ask", "LOUD"))

    async def is_there() -> bool:
        return await carrying.inbox() == ["r/ask/1"]

    await until(is_there)
    [row] = await carrying.store.fetch("SELECT arrival FROM run_inbox")
    assert decode_event(row["arrival"]) == TaskSucceeded(at=2.0, task="ask", output="LOUD")

    async def is_forgotten() -> bool:
        return await carrying.count("outbox") == 0

    await until(is_forgotten)
