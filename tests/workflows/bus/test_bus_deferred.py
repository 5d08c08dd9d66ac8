"""Tasks that an executor gives to the worker of its own process by a real broker."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Any

import pytest

from accord.store.store import Row, Transaction
from accord.workflows.bus.bus import DeferredHandoff
from accord.workflows.bus.kafka import KafkaBus
from accord.workflows.core.events import CallOperation
from accord.workflows.storage.tasks import Kind, NewTask, insert_owned
from tests.workflows.bus.carrying import Carrying, task


class Worker:
    """Implements `Hands`; keeps what it was given."""

    owner = "me"

    def __init__(self) -> None:
        self.given: list[str] = []

    def claim(self, tasks: Sequence[NewTask]) -> list[NewTask]:
        return list(tasks)

    def give(self, tasks: Sequence[NewTask]) -> None:
        self.given += [each.id for each in tasks]

    def drop(self, tasks: Sequence[NewTask]) -> None: ...

    def reserve(self, tasks: Sequence[tuple[str, Kind, str]]) -> list[str]:
        return []

    async def record(self, db: Transaction, ids: Collection[str]) -> list[Row]:
        raise AssertionError("nothing was reserved")

    def begin(self, ids: Collection[str], rows: Sequence[Row]) -> None: ...

    def release(self, ids: Collection[str]) -> None: ...


async def give(carrying: Carrying, bus: KafkaBus, hands: Any, *tasks: NewTask) -> None:
    """As an executor does."""
    claimed = hands.claim(tasks)

    async def work(db: Transaction) -> None:
        await insert_owned(db, claimed, hands.owner)
        await bus.dispatch(db, [], owned=claimed)

    await carrying.store.transact(work, lane="test-executor")
    hands.give(claimed)


@pytest.mark.req("W-08")
async def test_what_is_given_by_the_broker_begins_when_its_message_arrives(
    carrying: Carrying,
) -> None:
    bus, worker = await carrying.start(), Worker()
    hands = bus.lend(worker)
    bus.join(local_worker=worker)
    tasks = [task(f"r{n}", "ask", time.time()) for n in range(20)]
    await carrying.until(lambda: hands.claim(tasks) == tasks)
    await give(carrying, bus, hands, *tasks)
    assert worker.given == []
    await carrying.until(lambda: sorted(worker.given) == sorted(each.id for each in tasks))
    heard = await carrying.heard(carrying.names.tasks, 20)
    assert {each.key().decode() for each in heard} == {each.run_id for each in tasks}
    assert set((await carrying.states()).values()) == {"running"}
    assert bus.metrics.duplicates[carrying.names.tasks] == 0


async def test_what_is_too_large_for_the_broker_begins_at_once(carrying: Carrying) -> None:
    bus, worker = await carrying.start(), Worker()
    hands = bus.lend(worker)
    large = task("r", "large", time.time(), "x" * 1_000_001)
    await carrying.until(lambda: hands.claim([large]) == [large])
    await give(carrying, bus, hands, large)
    assert worker.given == ["r/large"]


async def test_nothing_is_given_where_another_process_reads_messages(carrying: Carrying) -> None:
    first, worker = await carrying.start(role="bridge"), Worker()
    hands = first.lend(worker)
    asked = task("r", "ask", time.time())
    await carrying.until(lambda: hands.claim([asked]) == [asked])
    second = await carrying.start(role="bridge")
    await carrying.until(lambda: hands.claim([asked]) == [])
    await carrying.close(second)
    await carrying.until(lambda: hands.claim([asked]) == [asked])


async def test_what_has_no_message_does_not_wait_for_one() -> None:
    worker = Worker()
    hands = DeferredHandoff(worker, lambda: False)
    command = CallOperation(task="one", step="one", operation="get_run", input={})
    operation = NewTask(run_id="r", command=command, at=1.0)
    assert hands.claim([operation, task("r", "ask")]) == [operation]
    hands.give([operation])
    assert worker.given == ["r/one"]


async def test_a_task_begins_without_its_message_after_a_while(
    carrying: Carrying, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.workflows.bus.bus.BEGIN_ANYWAY_SECONDS", 0.1)
    worker = Worker()
    hands = DeferredHandoff(worker, lambda: True)
    asked = task("r", "ask")
    hands.give(hands.claim([asked]))
    assert worker.given == []
    await carrying.until(lambda: worker.given == ["r/ask"])
    assert hands.arrive(["r/ask"]) == set()
