"""Random definitions through the executor and the tables, with results in random order and double:
they come to what a plain recursive interpreter comes to, and their histories say all there is to
say."""

from __future__ import annotations

import asyncio
import heapq
import shutil
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec.structs import replace

from accord.store import Store, open_store
from accord.workflows.core.events import (
    ApprovalGiven,
    Arrival,
    SignalReceived,
    TaskFailed,
    TaskSucceeded,
    decode_command,
)
from accord.workflows.core.state import Failure
from accord.workflows.executor.run_cache import RunCache
from accord.workflows.storage.messages import INBOX_WAKE, RunMessage, deliver
from accord.workflows.storage.runs import NewRun, Starter, create_run
from tests.workflows.core.any_definition import Generated, generated
from tests.workflows.core.reference import Outcome, interpret
from tests.workflows.core.simulation import World
from tests.workflows.core.test_against_reference import SLOW, WORLDS, with_codes
from tests.workflows.executor.world import executing, folded, load, save, until

RUN = "the-run"
CHILD = {
    "name": "w",
    "steps": [{"name": "do", "type": "agent", "agent": "a", "input": "${input}"}],
}
TASKS = """
SELECT tasks.id, tasks.run_id, tasks.task, tasks.command, runs.parent_task
FROM tasks JOIN runs ON runs.id = tasks.run_id
"""
LEFT = "SELECT 1 FROM run_inbox UNION ALL SELECT 1 FROM runs WHERE next_timer <= $1"


class Driver:
    """One run in a world. All that is known of it stands in tables, and time is a number. What
    happens to a child is what happens to the one task that it has."""

    def __init__(self, store: Store, world: World) -> None:
        self.now = 0.0
        self.inputs: dict[str, Any] = {}
        self._store = store
        self._world = world
        self._noise = Random(f"{world.seed}/noise")
        self._coming: list[tuple[float, int, str, Arrival]] = []
        self._count = count()
        self._seen: set[str] = set()

    def clock(self) -> float:
        return self.now

    async def run(self, case: Generated) -> None:
        for name in case.signals:
            at = self._world.signal(name)
            self._expect(RUN, SignalReceived(at=at, name=name, id=name, payload=f"signal {name}"))
        run = NewRun(
            id=RUN,
            workflow="any",
            version=1,
            input=case.input,
            starter=Starter(),
            origin="rest",
            at=0.0,
        )
        await self._store.transact(lambda db: create_run(db, run))
        await self._settle()
        while not await self._is_finished():
            await self._go_on()
            await self._settle()

    async def _settle(self) -> None:
        """Until nothing is left to be decided on now; then everything that is wanted is known."""
        await until(self._is_quiet, pause=0.0)
        for row in await self._store.fetch(TASKS):
            if row["id"] not in self._seen:
                self._seen.add(row["id"])
                key = row["parent_task"] or row["task"]
                command = decode_command(row["command"].encode())
                self.inputs[key] = getattr(command, "input", None)
                self._expect(row["run_id"], self._answer(key, row["task"]))
        for row in await self._store.fetch("SELECT task FROM approvals"):
            if row["task"] not in self._seen:
                self._seen.add(row["task"])
                self._expect(RUN, self._decision(row["task"]))

    async def _go_on(self) -> None:
        """What comes next is a message, or a time."""
        [row] = await self._store.fetch("SELECT min(next_timer) AS at FROM runs")
        timer = row["at"]
        if self._coming and (timer is None or self._coming[0][0] <= timer):
            self.now, number, run, event = heapq.heappop(self._coming)
            message = RunMessage(str(number), run, event)
            await self._store.transact(lambda db: deliver(db, [message]))
        else:
            assert timer is not None, "the run waits for nothing"
            self.now = timer
            await self._store.notify(INBOX_WAKE)

    async def _is_quiet(self) -> bool:
        return not await self._store.fetch(LEFT, self.now)

    async def _is_finished(self) -> bool:
        query = "SELECT 1 FROM runs WHERE id = $1 AND finished_at IS NOT NULL"
        return bool(await self._store.fetch(query, RUN))

    def _answer(self, key: str, task: str) -> Arrival:
        fate = self._world.task(key)
        at = self.now + fate.seconds
        if fate.code is not None:
            return TaskFailed(at=at, task=task, error=Failure(fate.code, "it broke"))
        return TaskSucceeded(at=at, task=task, output=fate.output)

    def _decision(self, task: str) -> Arrival:
        fate = self._world.task(task)
        at = self.now + fate.seconds
        return ApprovalGiven(at=at, task=task, approved=fate.code is None, by="ann")

    def _expect(self, run: str, event: Arrival) -> None:
        for copy in range(1 + (self._noise.random() < self._world.noise)):
            at = event.at + copy * self._noise.random() * 5.0
            heapq.heappush(self._coming, (at, next(self._count), run, replace(event, at=at)))


@pytest.mark.req("W-07")
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[*SLOW, HealthCheck.function_scoped_fixture],
)
@given(case=generated(), world=WORLDS, held=st.sampled_from([0, 10_000]))
def test_any_run_through_the_tables_comes_to_what_the_reference_says(
    migrated_file: Path, tmp_path: Path, case: Generated, world: World, held: int
) -> None:
    async def run() -> tuple[Outcome, bool]:
        async with open_store(f"sqlite://{copy}", durable=False) as store:
            await save(store, case.definition)
            await save(store, CHILD, version=2)
            driver = Driver(store, world)
            async with executing(store, now=driver.clock, cache=RunCache(runs=held)) as executor:
                await driver.run(case)
            assert executor.metrics.undecided == executor.metrics.fenced == 0
            state = (await load(store, RUN)).state
            code = None if state.error is None else state.error.code
            inputs = with_codes(driver.inputs)
            came_to = Outcome(state.phase, with_codes(state.output), code, inputs)
            return came_to, state == await folded(store, RUN)

    copy = tmp_path / "case.db"
    for left in tmp_path.glob("case.db-*"):
        left.unlink() if left.is_file() else shutil.rmtree(left)
    shutil.copy(migrated_file, copy)
    assert asyncio.run(run()) == (interpret(case.definition, case.input, world), True)
