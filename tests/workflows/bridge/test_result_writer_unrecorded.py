"""Successes that a bus sends without a transaction: the rows of their tasks. PostgreSQL, as such
a bus needs it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from accord.store import Store, open_store
from accord.workflows.bridge.task import ClaimedTask, Outcome, Progress, TaskSuccess, Terms
from accord.workflows.bridge.worker import TaskWorker
from accord.workflows.bus.bus import EmbeddedBus
from accord.workflows.core.events import CallAgent
from accord.workflows.storage.leases import Membership
from accord.workflows.storage.messages import RunMessage
from accord.workflows.storage.tasks import finish_tasks
from tests.store.cluster import Cluster
from tests.workflows.bridge.yard import Yard, until


class Crier(EmbeddedBus):
    """Tells, and keeps what it told; `after` is called by the test."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[RunMessage] = []
        self.afters: list[Callable[[bool], None]] = []
        self.takes = True

    def send_success(self, message: RunMessage, after: Callable[[bool], None]) -> int:
        if not self.takes:
            return 0
        self.told.append(message)
        self.afters.append(after)
        return 100


class Agent:
    """A caller that counts."""

    def __init__(self) -> None:
        self.called: list[str] = []

    async def terms(self, target: str) -> Terms:
        return Terms()

    async def call(self, task: ClaimedTask, progress: Progress) -> Outcome:
        self.called.append(task.id)
        return TaskSuccess(output="done")

    async def cancel(self, task: ClaimedTask) -> None:
        raise AssertionError("nothing is cancelled")


@pytest.fixture
async def store(cluster: Cluster, migrated_database: str) -> AsyncIterator[Store]:
    made = cluster.database(template=migrated_database)
    async with open_store(made, durable=False) as opened:
        yield opened
    cluster.drop(made)


@pytest.fixture
async def crier() -> Crier:
    return Crier()


@pytest.fixture
async def agent() -> Agent:
    return Agent()


@pytest.fixture
async def yard(store: Store, crier: Crier, agent: Agent) -> AsyncIterator[Yard]:
    membership = Membership(store, "bridge")
    await membership.start()
    worker = TaskWorker(store, membership, crier, {"agent": agent}, poll=0.05)
    await worker.start()
    try:
        yield Yard(store, membership, worker)
    finally:
        await worker.close()
        await membership.close()


async def told(crier: Crier, number: int = 1) -> None:
    async def look() -> bool:
        return len(crier.told) >= number

    await until(look)


async def several_looks(yard: Yard) -> None:
    """By the time that another is told, the worker has looked at its rows."""
    await asyncio.sleep(0.3)


async def test_what_was_told_is_not_asked_again_and_its_row_is_left_to_whoever_records_it(
    yard: Yard, crier: Crier, agent: Agent
) -> None:
    id = await yard.ask("a")
    await told(crier)
    crier.afters[0](True)
    assert yard.worker.in_flight == 0
    await several_looks(yard)
    assert (agent.called, await yard.arrivals(id)) == ([id], [])
    assert (await yard.row(id))["state"] == "running"
    await yard.store.transact(lambda db: finish_tasks(db, crier.told))
    row = await yard.row(id)
    assert (row["state"], row["outcome"], row["owner"], row["attempt"]) == (
        *("done", "success", None),
        1,
    )
    await several_looks(yard)
    assert agent.called == [id]


async def test_what_could_not_be_told_goes_by_the_tables(
    yard: Yard, crier: Crier, agent: Agent
) -> None:
    id = await yard.ask("a")
    await told(crier)
    crier.afters[0](False)
    assert (await yard.told(id)).output == "done"
    assert (await yard.in_state(id, "done"))["outcome"] == "success"
    crier.takes = False
    other = await yard.ask("a")
    assert (await yard.told(other)).output == "done"
    assert agent.called == [id, other]


async def test_what_was_told_and_never_recorded_is_written_after_a_while(
    yard: Yard, crier: Crier, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.workflows.bridge.result_writer.REWRITE_SECONDS", 0.1)
    id = await yard.ask("a")
    await told(crier)
    crier.afters[0](True)
    assert (await yard.told(id)).output == "done"
    assert (await yard.in_state(id, "done"))["outcome"] == "success"
    assert agent.called == [id]


async def test_who_is_closed_writes_what_is_not_recorded(
    yard: Yard, crier: Crier, agent: Agent
) -> None:
    ids = [await yard.ask("a") for _ in range(3)]
    await told(crier, 3)
    crier.afters[0](True)
    crier.afters[1](True)
    recorded = [each for each in crier.told if each.run_id][:1]
    await yard.store.transact(lambda db: finish_tasks(db, recorded))
    await yard.worker.close()
    states = {id: (await yard.row(id))["state"] for id in ids}
    assert states == dict.fromkeys(ids, "done")
    first = recorded[0].id.removesuffix("/done")
    arrived = {id: len(await yard.arrivals(id)) for id in ids}
    assert arrived == {id: 0 if id == first else 1 for id in ids}


async def test_a_task_that_was_cancelled_meanwhile_ends_as_cancelled(
    yard: Yard, crier: Crier
) -> None:
    command = CallAgent(task="one", step="one", agent="a")
    [id] = await yard.give(command)
    await told(crier)
    crier.afters[0](True)
    await yard.cancel(id)
    await yard.store.transact(lambda db: finish_tasks(db, crier.told))
    assert (await yard.in_state(id, "done"))["outcome"] == "cancelled"
