"""Tasks that an executor gives to a worker of its own process, on both engines."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from accord.workflows.bridge.task import ClaimedTask, Outcome, Progress, TaskSuccess, Terms
from accord.workflows.core.events import CallAgent, CallOperation
from accord.workflows.storage.tasks import Call, NewTask, insert_owned
from tests.workflows.bridge.yard import RUN, Yard, until, working


class Agent:
    """A caller that keeps what it was asked."""

    def __init__(self) -> None:
        self.called: list[ClaimedTask] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def terms(self, target: str) -> Terms:
        return Terms(concurrency=4)

    async def call(self, task: ClaimedTask, progress: Progress) -> Outcome:
        self.called.append(task)
        await self.gate.wait()
        return TaskSuccess(output="done")

    async def cancel(self, task: ClaimedTask) -> None:
        raise AssertionError("nothing is cancelled")


@pytest.fixture
async def agent() -> Agent:
    return Agent()


@pytest.fixture
async def yard(migrated_url: str, agent: Agent) -> AsyncIterator[Yard]:
    async with working(migrated_url, {"agent": agent}, poll=0.05) as yard:
        yield yard


def task_of(name: str, **options: Any) -> NewTask:
    command: Call = CallAgent(task=name, step=name, agent="a", input="hello", **options)
    return NewTask(run_id=RUN, command=command, at=time.time(), correlation_id="c-7")


async def record(yard: Yard, *tasks: NewTask) -> None:
    await yard.store.transact(lambda db: insert_owned(db, tasks, yard.worker.handoff.owner))


async def test_what_is_given_is_begun_without_being_taken(yard: Yard, agent: Agent) -> None:
    tasks = [task_of("one"), task_of("two")]
    assert yard.worker.handoff.claim(tasks) == tasks
    await record(yard, *tasks)
    yard.worker.handoff.give(tasks)
    for task in tasks:
        assert (await yard.told(task.id)).output == "done"
        row = await yard.in_state(task.id, "done")
        assert (row["fence"], row["owner"], row["outcome"]) == (1, None, "success")
    assert [each.correlation_id for each in agent.called] == ["c-7", "c-7"]


async def test_what_was_claimed_is_not_begun_before_it_is_given(yard: Yard, agent: Agent) -> None:
    task = task_of("one")
    yard.worker.handoff.claim([task])
    await record(yard, task)
    other = await yard.ask("a")  # by the time that it is done the worker has looked at the table
    await yard.told(other)
    await asyncio.sleep(0.2)
    assert [each.id for each in agent.called] == [other]
    yard.worker.handoff.give([task])
    await yard.told(task.id)
    await asyncio.sleep(0.2)
    assert [each.id for each in agent.called] == [other, task.id]


async def test_what_was_recorded_and_never_given_is_found(yard: Yard, agent: Agent) -> None:
    task = task_of("one")
    yard.worker.handoff.claim([task])
    await record(yard, task)
    yard.worker.handoff.drop([task])
    await yard.told(task.id)
    row = await yard.in_state(task.id, "done")
    assert (row["fence"], [each.fence for each in agent.called]) == (2, [2])


async def test_no_more_is_claimed_than_there_is_room_for(yard: Yard, agent: Agent) -> None:
    agent.gate.clear()
    first = await yard.ask("a")  # now it is known how many the agent takes
    await until(lambda: _done(bool(agent.called)))
    tasks = [task_of(f"t{number}") for number in range(8)]
    assert yard.worker.handoff.claim(tasks) == tasks[:5]
    agent.gate.set()
    await yard.told(first)


async def test_kinds_that_nobody_calls_are_not_claimed(yard: Yard) -> None:
    command = CallOperation(task="one", step="one", operation="get_run", input={})
    assert yard.worker.handoff.claim([NewTask(run_id=RUN, command=command, at=1.0)]) == []


async def test_nothing_is_claimed_while_the_lease_may_be_over(yard: Yard) -> None:
    yard.membership.lost.set()
    assert yard.worker.handoff.claim([task_of("one")]) == []
    yard.membership.lost.clear()


async def test_who_is_closed_claims_nothing(yard: Yard) -> None:
    await yard.worker.close()
    assert yard.worker.handoff.claim([task_of("one")]) == []


async def _done(done: bool) -> bool:
    return done
