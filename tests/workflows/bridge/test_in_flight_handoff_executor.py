"""An executor and a worker of one process, on both engines: what came of tasks is recorded with what
follows from it, and goes by the inbox only where it must."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from accord.a2a.protocol.errors import DefiniteError
from accord.store import Store, open_store
from accord.store.store import Transaction
from accord.workflows.bridge.task import ClaimedTask, Outcome, Progress, TaskSuccess, Terms
from accord.workflows.bridge.worker import TaskWorker
from accord.workflows.bus.bus import EmbeddedBus
from accord.workflows.executor.executor import Executor
from accord.workflows.storage.leases import Membership
from accord.workflows.storage.messages import RunMessage
from tests.workflows.executor.world import begin, outcome, save, until_finished

THREE = {
    "name": "three",
    "steps": [
        {"name": name, "type": "agent", "agent": "a", "input": "${input}"}
        for name in ("first", "second", "third")
    ],
    "output": "${steps.third.output}",
}


class Watched(EmbeddedBus):
    """Knows what went by the inbox."""

    def __init__(self) -> None:
        super().__init__()
        self.answered: list[str] = []

    async def answer(self, db: Transaction, messages: Sequence[RunMessage]) -> None:
        self.answered += [each.id for each in messages]
        await super().answer(db, messages)


class Agent:
    """Says again what it is told, unless that is bad."""

    async def terms(self, target: str) -> Terms:
        return Terms()

    async def call(self, task: ClaimedTask, progress: Progress) -> Outcome:
        said = getattr(task.command, "input", None)
        if said == "bad" and task.task == "second":
            raise DefiniteError("bad_input", "no")
        return TaskSuccess(output=said)

    async def cancel(self, task: ClaimedTask) -> None:
        raise AssertionError("nothing is cancelled")


class Process:
    def __init__(self, store: Store, bus: Watched, executor: Executor) -> None:
        self.store = store
        self.bus = bus
        self.executor = executor

    async def result(self, input: object) -> tuple[str, object]:
        [run] = await begin(self.store, "three", input)
        await until_finished(self.store, [run])
        return await outcome(self.store, run)


@pytest.fixture
async def process(migrated_url: str) -> AsyncIterator[Process]:
    async with open_store(migrated_url, durable=False) as store:
        await save(store, THREE)
        member, bus = Membership(store, "executor"), Watched()
        await member.start()
        worker = TaskWorker(store, member, bus, {"agent": Agent()})
        executor = Executor(store, bus, member, local_worker=bus.lend(worker.handoff))
        await executor.start()
        bus.join(local_executor=executor)
        await worker.start()
        yield Process(store, bus, executor)
        await worker.close()
        await executor.close()
        await member.close()


@pytest.mark.req("W-08")
async def test_successes_are_decided_on_without_lying_in_an_inbox(process: Process) -> None:
    assert await process.result("fine") == ("completed", "fine")
    assert process.bus.answered == []
    rows = await process.store.fetch("SELECT DISTINCT state, outcome, owner FROM tasks")
    assert [tuple(row) for row in rows] == [("done", "success", None)]


@pytest.mark.req("W-08")
async def test_many_runs_at_once_end_all(process: Process) -> None:
    runs = await begin(process.store, "three", "fine", count=60)
    await until_finished(process.store, runs)
    assert {await outcome(process.store, run) for run in runs} == {("completed", "fine")}
    [row] = await process.store.fetch("SELECT COUNT(*) AS total FROM tasks WHERE state <> 'done'")
    assert row["total"] == 0


async def test_failures_go_by_the_inbox(process: Process) -> None:
    status, _ = await process.result("bad")
    assert status == "failed"
    assert [each.rpartition("/")[0].partition("/")[2] for each in process.bus.answered] == [
        "second"
    ]


async def test_what_no_executor_here_decides_on_goes_by_the_inbox(process: Process) -> None:
    process.executor.is_its_own = lambda run_id: False  # type: ignore[method-assign]
    assert await process.result("fine") == ("completed", "fine")
    assert len(process.bus.answered) == 3
