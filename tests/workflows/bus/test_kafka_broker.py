"""The Kafka bus while the broker is away or killed."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.workflows.bus.carrying import PATIENCE, Carrying, answer, task
from tools.kafka import Broker


@pytest.mark.req("W-08", "W-09")
async def test_a_killed_broker_loses_nothing(carrying: Carrying, kafka: Broker) -> None:
    executor = await carrying.start(role="executor")
    bridge = await carrying.start(role="bridge")
    loop = asyncio.get_running_loop()

    async def say(first: int, last: int) -> None:
        for n in range(first, last):
            await carrying.dispatch(executor, task(f"r{n % 7}", f"t{n}", time.time()))
            await carrying.answer(bridge, answer(f"r{n % 7}", f"t{n}"))

    await say(0, 100)
    saying = asyncio.create_task(say(100, 400))
    await loop.run_in_executor(None, kafka.kill)
    await saying
    assert await carrying.count("outbox WHERE published_at IS NULL") > 0
    await loop.run_in_executor(None, kafka.start)
    await carrying.until_count("tasks WHERE state = 'ready'", 400)
    await carrying.until_count("run_inbox", 400)
    await carrying.until_count("outbox", 0)
    assert await carrying.letters() == []


async def test_a_bus_starts_and_stops_without_a_broker(carrying: Carrying, kafka: Broker) -> None:
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, kafka.kill)
    try:
        bus = await carrying.start()
        await carrying.dispatch(bus, task("r", "a", time.time()))
        async with asyncio.timeout(PATIENCE):
            await carrying.close(bus)
        bus = await carrying.start(check_seconds=0.2)
    finally:
        await loop.run_in_executor(None, kafka.start)
    await carrying.until_states({"r/a": "ready"})
