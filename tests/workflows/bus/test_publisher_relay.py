"""The relay publishes all committed messages, whatever is killed, deleted or late."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest
from msgspec import json

from accord.store import Store
from accord.workflows.bus import outbox
from accord.workflows.bus.bus import RunAnnouncement
from accord.workflows.bus.outbox import OutboxMessage, sweep
from accord.workflows.storage.leases import Lease
from tests.patience import PATIENCE
from tests.workflows.bus.carrying import Carrying, answer, task

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ROOT = Path(__file__).parent.parent.parent.parent
INSERT = "INSERT INTO outbox (topic, run_id, message_id, message) VALUES ($1, $2, $3, $4)"


async def test_a_transaction_that_commits_late_is_published_all_the_same(
    carrying: Carrying, postgres_url: str
) -> None:
    await carrying.start(role="bridge")
    topic = carrying.names.events
    slow = await asyncpg.connect(postgres_url)
    try:
        transaction = slow.transaction()
        await transaction.start()
        await slow.execute(INSERT, topic, "r", "early", '"early"')
        await carrying.store.transact(
            lambda db: outbox.put_messages(db, [OutboxMessage(topic, "r", "late", '"late"')])
        )
        assert [each.value() for each in await carrying.heard(topic, 1)] == [b'"late"']
        await carrying.until_count("outbox", 0)
        await transaction.commit()
    finally:
        await slow.close()
    assert [each.value() for each in await carrying.heard(topic, 2)] == [b'"late"', b'"early"']
    await carrying.until_count("outbox", 0)


async def test_what_one_run_sends_is_published_in_order(carrying: Carrying) -> None:
    bus = carrying.bus()
    sent = [(run, f"{n:03}") for n in range(200) for run in ("a", "b", "c")]
    for run, name in sent:
        await carrying.dispatch(bus, task(run, name))
    await carrying.start(role="executor")
    heard = [each.value() for each in await carrying.heard(carrying.names.tasks, len(sent))]
    ids = [json.decode(value)["task_id"].split("/") for value in heard]
    for run in ("a", "b", "c"):
        assert [name for of, name in ids if of == run] == [f"{n:03}" for n in range(200)]


async def test_what_one_process_handed_over_together_another_publishes_as_it_was(
    carrying: Carrying,
) -> None:
    quiet = carrying.bus()
    tasks = [task(f"r{n}", "ask", traceparent=TRACE, correlation_id=f"c-{n}") for n in range(3)]
    told = RunAnnouncement("r0", 4, '[{"type":"run_started"}]', 7.5, "c-0")
    await carrying.store.transact(lambda db: quiet.dispatch(db, tasks, [told]))
    assert await carrying.count("outbox WHERE count = 4") == 1
    await carrying.start(role="executor")
    heard = {each.key(): each for each in await carrying.heard(carrying.names.tasks, 3)}
    for n in range(3):
        message = heard[f"r{n}".encode()]
        assert json.decode(message.value())["task_id"] == f"r{n}/ask"
        assert message.headers() == [
            ("message-id", f"r{n}/ask".encode()),
            ("correlation-id", f"c-{n}".encode()),
            ("traceparent", TRACE.encode()),
        ]
    [event] = await carrying.heard(carrying.names.events, 1)
    assert json.decode(event.value())["events"] == [{"type": "run_started"}]
    await carrying.until_count("outbox", 0)


@pytest.mark.req("W-09")
async def test_a_relay_killed_before_it_deletes_publishes_twice_and_loses_nothing(
    carrying: Carrying, postgres_url: str
) -> None:
    await carrying.make_topics()
    quiet = carrying.bus()
    await carrying.dispatch(quiet, *(task("r", f"t{n}", time.time()) for n in range(20)))
    holding = await asyncpg.connect(postgres_url)
    try:
        transaction = holding.transaction()
        await transaction.start()
        # Rows can be read, and not deleted.
        await holding.execute("LOCK TABLE outbox IN SHARE MODE")
        with _process(carrying, postgres_url) as process:
            await carrying.heard(carrying.names.tasks, 20)
            process.kill()
            process.wait()
        await transaction.rollback()
    finally:
        await holding.close()
    assert await carrying.count("outbox WHERE count = 20") == 1
    bus = await carrying.start(role="bridge")
    assert len(await carrying.heard(carrying.names.tasks, 40)) == 40
    await carrying.until_count("outbox", 0)
    await carrying.until_states({f"r/t{n}": "ready" for n in range(20)})
    await carrying.until(lambda: bus.metrics.consumed[carrying.names.tasks] == 40)
    # The one that was killed may have received some, and not said so to the broker.
    assert bus.metrics.duplicates[carrying.names.tasks] >= 20


async def test_one_process_at_a_time_publishes(store: Store) -> None:
    first, second = (Lease(store, "relay", seconds=0.3) for _ in range(2))
    assert await first.take()
    assert first.is_held
    assert not await second.take()
    await first.release()
    assert await second.take()
    assert not await first.take()
    async with asyncio.timeout(PATIENCE):
        while not await first.take():  # noqa: ASYNC110 - it ends by the clock of the database
            await asyncio.sleep(0.05)
    assert not second.is_held


@pytest.mark.req("W-09")
async def test_a_task_that_vanished_is_published_again(carrying: Carrying) -> None:
    bus = carrying.bus()
    await carrying.dispatch(bus, *(task("r", f"t{n}", time.time()) for n in range(10)))
    await carrying.store.execute("DELETE FROM outbox")  # published, and then the topic was emptied
    await carrying.start(role="bridge", sweep_seconds=1.0)
    await carrying.until_states({f"r/t{n}": "ready" for n in range(10)})


@pytest.mark.req("W-09")
async def test_a_result_that_vanished_is_published_again(carrying: Carrying) -> None:
    publishing = await carrying.start(role="bridge", sweep_seconds=1.0)
    await carrying.answer(publishing, *(answer("r", f"t{n}") for n in range(10)))
    await carrying.until_count("outbox WHERE published_at IS NOT NULL", 10)
    carrying.delete_topic(carrying.names.results)
    await carrying.start(role="executor", sweep_seconds=1.0, check_seconds=0.5)
    await carrying.until_count("run_inbox", 10)
    await carrying.until_count("outbox", 0)


@pytest.mark.req("W-09")
async def test_a_task_that_vanished_twice_is_handed_over_by_its_table(carrying: Carrying) -> None:
    bus = carrying.bus()
    await carrying.dispatch(bus, task("r", "ask", at=1_000.0))
    topic = carrying.names.tasks

    async def swept(now: float) -> int:
        count = await sweep(carrying.store, topic, now=now, seconds=60.0)
        await carrying.store.execute("DELETE FROM outbox")
        return count

    assert await sweep(carrying.store, topic, now=2_000.0, seconds=60.0) == 0  # it waits already
    await carrying.store.execute("DELETE FROM outbox")
    assert [await swept(now) for now in (1_050.0, 1_061.0, 1_100.0, 1_120.0)] == [0, 1, 0, 0]
    assert await carrying.states() == {"r/ask": "published"}
    assert [await swept(now) for now in (1_122.0, 1_300.0)] == [1, 0]
    assert await carrying.states() == {"r/ask": "ready"}


@pytest.mark.req("W-09")
async def test_a_result_that_vanished_twice_is_delivered_by_its_table(carrying: Carrying) -> None:
    bus = carrying.bus()
    await carrying.answer(bus, answer("r", "ask"), answer("r", "newer"))
    newer = "UPDATE outbox SET message = $1 WHERE message_id = 'r/newer/1'"
    await carrying.store.execute(newer, '{"schema":99}')

    async def swept() -> int:
        await carrying.store.execute("UPDATE outbox SET published_at = 1.0")
        return await sweep(carrying.store, carrying.names.tasks, now=0.0, seconds=60.0)

    unpublished = "outbox WHERE published_at IS NULL"
    assert await swept() == 2
    assert (await carrying.count(unpublished), await carrying.inbox()) == (2, [])
    for _ in range(2):
        await swept()
        # What cannot be read here may be read by another.
        assert (await carrying.count(unpublished), await carrying.inbox()) == (1, ["r/ask/1"])


@pytest.mark.req("W-08")
async def test_consumers_go_on_where_a_topic_was_deleted_and_made_anew(carrying: Carrying) -> None:
    bus = await carrying.start(sweep_seconds=2.0, check_seconds=0.5)
    await carrying.dispatch(bus, *(task("r", f"a{n}", time.time()) for n in range(50)))
    await carrying.until_count("tasks WHERE state = 'ready'", 50)
    carrying.delete_topic(carrying.names.tasks)
    await carrying.dispatch(bus, *(task("r", f"b{n}", time.time()) for n in range(20)))
    await carrying.until_count("tasks WHERE state = 'ready'", 70)
    assert await carrying.count("dead_letters") == 0


@pytest.mark.req("W-08")
async def test_a_topic_that_was_made_anew_is_read_from_its_beginning(carrying: Carrying) -> None:
    start = {
        "schema": 1, "type": "start", "workflow": "greet", "started_by": "ann",
        "input": {"who": "Bea"},
    }  # fmt: skip
    await carrying.start(role="executor", check_seconds=3.0)
    carrying.ask(*({**start, "message_id": f"a-{n}"} for n in range(30)))
    await carrying.until_count("runs", 30)
    carrying.delete_topic(carrying.names.runs)
    await carrying.make_topics()
    # More than the old one had: its offsets are there in the new one, too.
    carrying.ask(*({**start, "message_id": f"b-{n}"} for n in range(60)))
    await carrying.until_count("runs", 90)


@contextmanager
def _process(carrying: Carrying, url: str) -> Iterator[subprocess.Popen[bytes]]:
    names = json.encode(carrying.names).decode()
    program = Path(__file__).with_name("relay_program.py")
    command = [sys.executable, str(program), url, carrying.servers, names]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
