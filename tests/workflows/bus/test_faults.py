"""What clients of a broker and those who write to it can do wrong, done for real.

`make kafka-faults` does more of it: more changes of consumers, and a measurement."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import defaultdict

import pytest
from msgspec import json

from accord.store.store import Row
from accord.workflows.bus.kafka import KafkaBus
from tests.workflows.bus.carrying import Carrying, answer, task

REBALANCES = int(os.environ.get("ACCORD_REBALANCES", "6"))


@pytest.mark.req("W-08")
async def test_duplicates_and_disorder_change_nothing(carrying: Carrying) -> None:
    dice = random.Random(7)
    bus = carrying.bus()
    for n in range(500):
        await carrying.dispatch(bus, task(f"r{n % 9}", f"t{n}", time.time()))
        await carrying.answer(bus, answer(f"r{n % 9}", f"other{n}"))
    repeated = 0

    def order(rows: list[Row]) -> list[Row]:
        nonlocal repeated
        again = dice.sample(rows, len(rows) // 10)
        repeated = sum(row["topic"] == carrying.names.tasks for row in again)
        return sorted([*rows, *again], key=lambda _: dice.random())

    await carrying.publish_by_hand(order)
    bus = await carrying.start()
    await carrying.until(lambda: bus.metrics.consumed.total() == 1_100)
    assert await carrying.count("tasks WHERE state = 'ready'") == 500
    assert await carrying.count("run_inbox") == 500
    assert bus.metrics.duplicates[carrying.names.tasks] == repeated
    assert await carrying.count("dead_letters") == 0


@pytest.mark.req("W-08")
async def test_poison_is_put_aside_and_the_partition_moves_on(carrying: Carrying) -> None:
    now = time.time()
    good = {
        "type": "task", "schema": 1, "message_id": "r/x", "run_id": "r", "task_id": "r/x",
        "kind": "agent", "agent": "a", "created_at": now,
    }  # fmt: skip
    poison = [
        b"",
        b"\xff\xfe",
        b"{",
        b"[]",
        b"[" * 100_000,
        b'{"schema": 1}',
        json.encode({**good, "schema": 2}),
        json.encode({**good, "created_at": "now"}),
        json.encode({**good, "task_id": "r/unknown"}),
        json.encode({**good, "input": "x" * 1_000_000}),
    ]
    await carrying.store.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'never %', NEW.id; END $$"
    )
    await carrying.store.execute(
        "CREATE TRIGGER refuse BEFORE UPDATE ON tasks FOR EACH ROW"
        " WHEN (NEW.id = 'r/failing') EXECUTE FUNCTION refuse()"
    )
    bus = await carrying.start(role="bridge")
    carrying.say(carrying.names.tasks, *poison, key="r")
    await carrying.dispatch(bus, task("r", "failing", now), task("r", "good", now))
    await carrying.until_states({"r/failing": "published", "r/good": "ready"})
    await carrying.until_count("dead_letters", 11)
    rows = await carrying.store.fetch("SELECT code, attempts, run_id FROM dead_letters")
    letters = [(row["code"], row["attempts"], row["run_id"]) for row in rows]
    assert sorted(letters) == [
        ("failed", 5, "r"),
        ("newer_schema", 1, "r"),
        ("too_large", 1, "r"),
        ("unknown_task", 1, "r"),
        *[("unreadable", 1, "r")] * 7,
    ]
    told = await carrying.heard(carrying.names.dead_letters, 11)
    assert sorted(json.decode(each.value())["code"] for each in told) == [
        code for code, _, _ in sorted(letters)
    ]
    assert bus.metrics.dead_letters[carrying.names.tasks] == 11


@pytest.mark.req("W-08", "W-09")
async def test_consumers_come_and_go_and_every_run_keeps_its_order(carrying: Carrying) -> None:
    sender = await carrying.start(role="bridge")
    enough = asyncio.Event()
    sent: dict[str, list[str]] = defaultdict(list)

    async def flow() -> None:
        n = 0
        while not enough.is_set():
            messages = [answer(f"r{run}", f"t{n}") for run in range(8)]
            await carrying.answer(sender, *messages)
            for message in messages:
                sent[message.run_id].append(message.id)
            n += 1
            await asyncio.sleep(0.005)

    flowing = asyncio.create_task(flow())
    buses: list[KafkaBus] = [await carrying.start(role="executor")]
    for n in range(REBALANCES):
        buses.append(await carrying.start(role="executor"))
        await carrying.until(lambda: buses[-1].metrics.rebalances > 0)
        if n % 3:  # up to several at a time
            await carrying.close(buses.pop(0))
        if len(buses) > 3:
            await carrying.close(buses.pop(random.Random(n).randrange(len(buses))))
    enough.set()
    await flowing
    total = sum(map(len, sent.values()))
    await carrying.until_count("run_inbox", total)
    rows = await carrying.store.fetch("SELECT run_id, message_id FROM run_inbox ORDER BY id")
    received: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        received[row["run_id"]].append(row["message_id"])
    assert received == sent
    await carrying.until_count("outbox", 0)


async def test_many_messages_go_through_together(carrying: Carrying) -> None:
    count = 40_000 if "ACCORD_REBALANCES" in os.environ else 4_000
    quiet = carrying.bus()
    for first in range(0, count, 1_000):
        names = range(first, first + 1_000)
        await carrying.dispatch(quiet, *(task(f"r{n % 500}", f"t{n}", time.time()) for n in names))
    begun = time.monotonic()
    await carrying.start(role="bridge")
    await carrying.until_count("tasks WHERE state = 'ready'", count)
    seconds = time.monotonic() - begun
    print(f"{count / seconds:,.0f} messages a second from the outbox to ready tasks")
