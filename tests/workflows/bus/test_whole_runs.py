"""Whole runs: started by messages, decided by executors, worked on by a bridge, told in a topic."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec import json

from accord.workflows.bridge.task import ClaimedTask, Progress, TaskSuccess, Terms
from accord.workflows.bridge.worker import TaskWorker
from accord.workflows.bus.intake import requested_run_id
from accord.workflows.bus.kafka import KafkaBus
from accord.workflows.storage.leases import Membership
from tests.workflows.bus.carrying import Carrying
from tests.workflows.executor.world import executing, outcome, save
from tools.kafka import Broker

ASK = {"type": "agent", "agent": "shouter"}
REVIEW = {
    "name": "review",
    "steps": [
        {
            "name": "both",
            "type": "parallel",
            "branches": {
                "left": [{"name": "one", **ASK, "input": {"text": "${input.text}"}}],
                "right": [{"name": "two", **ASK, "input": {"text": "b"}}],
            },
        },
        {"name": "last", **ASK, "input": {"text": "${steps.one.output}"}},
    ],
}


class Shouter:
    """Implements `TaskCaller`; counts what it is asked."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    async def terms(self, target: str) -> Terms:
        return Terms()

    async def call(self, task: ClaimedTask, progress: Progress) -> TaskSuccess:
        self.calls[task.id] += 1
        return TaskSuccess(output=task.command.input["text"].upper() + "!")

    async def cancel(self, task: ClaimedTask) -> None:
        pass


@asynccontextmanager
async def bridging(carrying: Carrying, bus: KafkaBus, shouter: Shouter) -> AsyncIterator[None]:
    membership = Membership(carrying.store, "bridge")
    await membership.start()
    worker = TaskWorker(carrying.store, membership, bus, {"agent": shouter})
    await worker.start()
    bus.join(local_worker=worker.handoff)
    try:
        yield
    finally:
        await worker.close()
        await membership.close()


@pytest.mark.req("W-08", "W-09")
async def test_runs_asked_for_by_messages_end_though_the_broker_is_killed(
    carrying: Carrying, kafka: Broker
) -> None:
    await save(carrying.store, REVIEW)
    executor = await carrying.start(role="executor")
    bridge = await carrying.start(role="bridge")
    loop = asyncio.get_running_loop()
    shouter = Shouter()
    ids = [f"order-{n}" for n in range(60)]
    start = {
        "schema": 1, "type": "start", "workflow": "review", "started_by": "ann",
        "input": {"text": "a"},
    }  # fmt: skip
    async with (
        executing(carrying.store, bus=executor) as deciding,
        bridging(carrying, bridge, shouter),
    ):
        executor.join(local_executor=deciding)
        carrying.ask(*({**start, "message_id": id} for id in ids))
        await carrying.until(lambda: len(shouter.calls) > 20)
        await loop.run_in_executor(None, kafka.kill)
        await loop.run_in_executor(None, kafka.start)
        await carrying.until_count("runs WHERE status = 'completed'", 60)
        await carrying.until_count("outbox", 0)
    for id in ids:
        assert await outcome(carrying.store, requested_run_id(id)) == ("completed", "A!!")
    assert shouter.calls.total() == 180  # nobody was killed but the broker
    assert await carrying.count("dead_letters") == 0
    told = await carrying.heard(carrying.names.events)
    events = {
        (message["run_id"], message["sequence"]): message["events"]
        for message in (json.decode(each.value()) for each in told)
    }
    rows = await carrying.store.fetch("SELECT run_id, sequence, events FROM run_history")
    assert {(row["run_id"], row["sequence"]): json.decode(row["events"]) for row in rows} == events
