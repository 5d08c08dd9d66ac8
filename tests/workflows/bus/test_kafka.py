"""The Kafka bus, with a real broker and PostgreSQL."""

from __future__ import annotations

import json
import random
import string
import time
from pathlib import Path
from uuid import uuid4

import pytest

from accord.store import open_store
from accord.telemetry.metrics import Exposition
from accord.workflows.bus.bus import BusError, ReplayError, RunAnnouncement
from accord.workflows.bus.intake import requested_run_id
from accord.workflows.bus.kafka import KafkaBus
from accord.workflows.bus.outbox import republish
from accord.workflows.core.events import (
    Arrival,
    CancelRequested,
    RunStarted,
    SignalReceived,
    TaskAsked,
    TaskFailed,
    TaskSucceeded,
    decode_event,
)
from accord.workflows.core.state import Failure
from accord.workflows.storage.messages import RunMessage
from tests.patience import PATIENCE
from tests.workflows.bus.carrying import Carrying, answer, task

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.req("W-08")
async def test_a_task_reaches_a_bridge_and_its_result_the_run(carrying: Carrying) -> None:
    executor = await carrying.start(role="executor")
    bridge = await carrying.start(role="bridge")
    await carrying.dispatch(executor, task("r", "ask", time.time()))
    await carrying.until_states({"r/ask": "ready"})
    await carrying.answer(bridge, answer("r", "ask", "LOUD"))
    await carrying.until_inbox("r/ask/1")
    [row] = await carrying.store.fetch("SELECT arrival FROM run_inbox")
    assert decode_event(row["arrival"]) == TaskSucceeded(at=2.0, task="ask", output="LOUD")
    await carrying.until_count("outbox", 0)
    assert await carrying.count("dead_letters") == 0


async def test_a_success_is_told_at_once_and_ends_its_task_where_it_arrives(
    carrying: Carrying,
) -> None:
    bus = await carrying.start()
    await carrying.dispatch(bus, task("r", "ask", time.time()))
    await carrying.until_states({"r/ask": "ready"})
    told: list[bool] = []
    assert bus.send_success(answer("r", "ask", "LOUD"), told.append) > 0
    await carrying.until_inbox("r/ask/1")
    await carrying.until_states({"r/ask": "done"})
    await carrying.until(lambda: told == [True])
    assert bus.send_success(answer("r", "large", "x" * 1_000_001), told.append) == 0
    assert (
        bus.send_success(RunMessage("m", "r", CancelRequested(at=2.5, by="ann")), told.append) == 0
    )


async def test_every_outcome_arrives_as_it_was(carrying: Carrying) -> None:
    bus = await carrying.start()
    arrivals: list[Arrival] = [
        TaskSucceeded(at=2.5, task="a", output=1, data={"x": None}, artifacts=[2], attempts=3),
        TaskFailed(at=2.5, task="b", error=Failure("unreachable", "gone", "", [1]), attempts=2),
        TaskAsked(at=2.5, task="c", prompt={"which": "?"}),
        CancelRequested(at=2.5, by="ann"),
    ]
    messages = [RunMessage(f"m-{n}", "r", arrival) for n, arrival in enumerate(arrivals)]
    await carrying.answer(bus, *messages)
    await carrying.until_count("run_inbox", 4)
    rows = await carrying.store.fetch("SELECT arrival FROM run_inbox ORDER BY message_id")
    assert [decode_event(row["arrival"]) for row in rows] == arrivals


@pytest.mark.req("W-10")
async def test_messages_say_where_they_come_from(carrying: Carrying) -> None:
    bus = await carrying.start(role="executor")
    sent = task("r", "ask", 1.5, traceparent=TRACE, correlation_id="c-1")
    await carrying.dispatch(bus, sent)
    [message] = await carrying.heard(carrying.names.tasks, 1)
    assert message.key() == b"r"
    assert message.headers() == [
        ("message-id", b"r/ask"),
        ("correlation-id", b"c-1"),
        ("traceparent", TRACE.encode()),
    ]
    assert json.loads(message.value()) == {
        "type": "task",
        "schema": 1,
        "message_id": "r/ask",
        "run_id": "r",
        "task_id": "r/ask",
        "attempt_group": 1,
        "attempt": 1,
        "fence": 0,
        "kind": "agent",
        "agent": "shouter",
        "deadline": None,
        "input": {"text": "ask"},
        "correlation_id": "c-1",
        "traceparent": TRACE,
        "created_at": 1.5,
    }


async def test_a_cancelled_task_is_never_begun_whatever_arrives_first(carrying: Carrying) -> None:
    bus = carrying.bus()
    for name in ("early", "late"):
        await carrying.dispatch(bus, task("r", name, time.time()))
    await carrying.cancel(bus, "r/early")
    # As a reordering broker would have it: the cancellation of one, then both tasks.
    await carrying.publish_by_hand(lambda rows: sorted(rows, key=lambda row: -row["id"]))
    await carrying.start(role="bridge")
    await carrying.until_states({"r/early": "done", "r/late": "ready"})
    [row] = await carrying.store.fetch("SELECT cancelled, outcome FROM tasks WHERE id = 'r/early'")
    assert (row["cancelled"], row["outcome"]) == (1, "cancelled")


async def test_a_running_task_hears_of_its_cancellation(carrying: Carrying) -> None:
    bus = await carrying.start()
    await carrying.dispatch(bus, task("r", "ask", time.time()))
    await carrying.until_states({"r/ask": "ready"})
    await carrying.store.execute("UPDATE tasks SET state = 'running'")
    await carrying.cancel(bus, "r/ask")
    await carrying.until_count("outbox", 0)
    [row] = await carrying.store.fetch("SELECT state, cancelled FROM tasks")
    assert (row["state"], row["cancelled"]) == ("running", 1)


async def test_what_is_too_large_for_the_broker_goes_by_the_database(carrying: Carrying) -> None:
    bus = carrying.bus()  # it carries nothing
    large = "x" * 1_000_001
    await carrying.dispatch(bus, task("r", "large", text=large), task("r", "small"))
    await carrying.answer(bus, answer("r", "a", large), answer("r", "b"))
    assert await carrying.states() == {"r/large": "ready", "r/small": "published"}
    assert await carrying.inbox() == ["r/a/1"]
    rows = await carrying.store.fetch("SELECT message_id FROM outbox ORDER BY id")
    assert [row["message_id"] for row in rows] == ["r/small", "r/b/1"]


async def test_what_the_broker_will_not_have_holds_nothing_up(carrying: Carrying) -> None:
    bus = await carrying.start()
    carrying.alter_topic(carrying.names.tasks, "max.message.bytes", "2000")
    noise = "".join(random.Random(7).choices(string.ascii_letters, k=50_000))  # not compressible
    await carrying.until(lambda: carrying.refuses(carrying.names.tasks, noise.encode()))
    await carrying.dispatch(
        bus, task("r", "large", time.time(), noise), task("r", "small", time.time())
    )
    await carrying.until_states({"r/large": "published", "r/small": "ready"})
    await carrying.until(lambda: bus.metrics.outbox == 1)
    await carrying.dispatch(bus, task("r", "next", time.time()))
    await carrying.until_states({"r/large": "published", "r/small": "ready", "r/next": "ready"})


async def test_decisions_are_told_in_a_topic(carrying: Carrying) -> None:
    bus = await carrying.start(role="executor")
    events = '[{"type":"run_started","at":1.0}]'
    told = RunAnnouncement("r", 4, events, 7.5, "c-1", TRACE)
    await carrying.store.transact(lambda db: bus.dispatch(db, [], [told]))
    [message] = await carrying.heard(carrying.names.events, 1)
    assert json.loads(message.value()) == {
        "type": "events",
        "schema": 1,
        "message_id": "r/4",
        "run_id": "r",
        "sequence": 4,
        "events": json.loads(events),
        "correlation_id": "c-1",
        "traceparent": TRACE,
        "created_at": 7.5,
    }


# What others may ask for


async def test_a_message_starts_a_run_once_as_a_person(carrying: Carrying) -> None:
    start = {
        "schema": 1, "type": "start", "message_id": "order-7", "workflow": "greet",
        "started_by": "ann", "input": {"who": "Bea"}, "correlation_id": "c-9",
    }  # fmt: skip
    bus = await carrying.start(role="executor")
    carrying.ask(start, start, {**start, "message_id": "order-8"})
    await carrying.until_count("runs", 2)
    await carrying.until(lambda: bus.metrics.duplicates[carrying.names.runs] == 1)
    [row] = await carrying.store.fetch(
        "SELECT workflow, version, user_id, username, origin, correlation_id FROM runs"
        " WHERE id = $1",
        requested_run_id("order-7"),
    )
    assert tuple(row) == ("greet", 1, "id-of-ann", "ann", "bus", "c-9")
    [inbox] = await carrying.store.fetch(
        "SELECT arrival FROM run_inbox WHERE run_id = $1", requested_run_id("order-7")
    )
    arrival = decode_event(inbox["arrival"])
    assert isinstance(arrival, RunStarted)
    assert arrival.input == {"who": "Bea"}


async def test_messages_signal_and_cancel_a_run(carrying: Carrying) -> None:
    run = str(uuid4())
    common = {"schema": 1, "run_id": run}
    await carrying.start(role="executor")
    carrying.ask(
        {**common, "type": "start", "message_id": "1", "workflow": "greet", "version": 1,
         "started_by": "ann", "input": {"who": "Bea"}},
        {**common, "type": "signal", "message_id": "2", "name": "paid", "payload": [1]},
        {**common, "type": "signal", "message_id": "3", "name": "paid", "id": "own"},
        {**common, "type": "cancel", "message_id": "4", "by": "ann", "reason": "no"},
        key=run,
    )  # fmt: skip
    await carrying.until_count("run_inbox", 4)
    rows = await carrying.store.fetch("SELECT arrival FROM run_inbox ORDER BY id")
    told = [decode_event(row["arrival"]) for row in rows][1:]
    at = [event.at for event in told]
    assert told == [
        SignalReceived(at=at[0], name="paid", id="2", payload=[1]),
        SignalReceived(at=at[1], name="paid", id="own"),
        CancelRequested(at=at[2], by="ann", reason="no"),
    ]


async def test_what_cannot_be_granted_is_a_dead_letter(carrying: Carrying) -> None:
    start = {
        "schema": 1, "type": "start", "message_id": "1", "workflow": "greet",
        "started_by": "ann", "input": {"who": "Bea"},
    }  # fmt: skip
    await carrying.start(role="executor")
    carrying.ask(
        {**start, "workflow": "nobody's"},
        {**start, "version": 2},
        {**start, "input": {}},
        {**start, "started_by": "bob"},
        {**start, "started_by": "old"},
        {**start, "started_by": "cay"},
        {**start, "started_by": "a\0nn"},
        {"schema": 1, "type": "cancel", "message_id": "2", "run_id": str(uuid4()), "by": "ann"},
        {"schema": 1, "type": "cancel", "message_id": "2", "run_id": "7", "by": "ann"},
        {"schema": 1, "type": "dance", "message_id": "3"},
        start,
    )
    await carrying.until_count("runs", 1)
    assert sorted(await carrying.letters()) == [
        ("runs", "forbidden"),
        ("runs", "invalid_input"),
        *[("runs", "unknown_run")],
        *[("runs", "unknown_user")] * 2,
        *[("runs", "unknown_workflow")] * 2,
        *[("runs", "unreadable")] * 3,
    ]


async def test_a_dead_letter_is_told_and_can_be_published_again(carrying: Carrying) -> None:
    start = {
        "schema": 1, "type": "start", "message_id": "1", "workflow": "later",
        "started_by": "ann", "input": {"who": "Bea"},
    }  # fmt: skip
    await carrying.start(role="executor")
    carrying.ask(start)
    await carrying.until_count("dead_letters", 1)
    [told] = await carrying.heard(carrying.names.dead_letters, 1)
    body = json.loads(told.value())
    assert (body["topic"], body["code"]) == (carrying.names.runs, "unknown_workflow")
    assert json.loads(body["body"]) == start
    await carrying.store.execute("UPDATE workflows SET name = 'later'")
    await carrying.store.transact(lambda db: republish(db, body["message_id"]))
    await carrying.until_count("runs", 1)
    with pytest.raises(ReplayError, match="there is no dead letter 'x'"):
        await carrying.store.transact(lambda db: republish(db, "x"))


# How it is set up


async def test_sqlite_needs_no_kafka(migrated_file: Path) -> None:
    async with open_store(f"sqlite://{migrated_file}") as store:
        with pytest.raises(BusError, match="needs PostgreSQL"):
            KafkaBus(store, "127.0.0.1:9092")


async def test_options_that_kafka_does_not_know_are_refused(carrying: Carrying) -> None:
    bus = carrying.bus(options={"security.protocoll": "SSL"})
    with pytest.raises(BusError, match=r"with these options: .*security\.protocoll"):
        await bus.start()
    await bus.close()


async def test_topics_are_made_as_configured(carrying: Carrying) -> None:
    await carrying.start()
    admin = carrying.admin()
    found = admin.list_topics(timeout=PATIENCE).topics
    assert {len(found[name].partitions) for name in carrying.names.all()} == {4}


@pytest.mark.parametrize(
    ("partitions", "config", "problem"),
    [
        (2, {}, "has 2 partitions, and 4 are configured"),
        (4, {"retention.ms": "60000"}, "keeps messages for 60 s, and 3,600 are needed"),
        (4, {"retention.bytes": "1000"}, "forgets messages that nobody has read"),
        (4, {"cleanup.policy": "compact"}, "is compacted"),
        (4, {"max.message.bytes": "5000"}, "takes messages of 5,000 bytes"),
    ],
)
async def test_a_topic_that_would_lose_work_is_refused(
    carrying: Carrying, partitions: int, config: dict[str, str], problem: str
) -> None:
    carrying.make_topic(carrying.names.tasks, partitions, config)
    with pytest.raises(BusError, match=f"{carrying.names.tasks} {problem}"):
        await carrying.start()


async def test_what_happened_is_counted(carrying: Carrying) -> None:
    bus = await carrying.start()
    await carrying.dispatch(bus, task("r", "a", time.time()), task("r", "b", time.time()))
    await carrying.until_states({"r/a": "ready", "r/b": "ready"})
    await carrying.until(lambda: bus.metrics.consumed[carrying.names.tasks] == 2)
    await carrying.until(lambda: bus.metrics.published[carrying.names.tasks] == 2)
    page = Exposition()
    bus.metrics.write(page)
    lines = page.encode().decode().splitlines()
    topic = f'{{topic="{carrying.names.tasks}"}}'
    assert f"accord_bus_published_total{topic} 2" in lines
    assert f"accord_bus_consumed_total{topic} 2" in lines
    assert "accord_bus_outbox 0" in lines
