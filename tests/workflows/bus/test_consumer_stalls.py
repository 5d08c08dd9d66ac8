"""A consumer that does not get what the broker has is replaced."""

from __future__ import annotations

import asyncio
import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from msgspec import json

from accord.workflows.bus.consumer import TopicReader
from tests.workflows.bus.carrying import PATIENCE, QUIET, Carrying, task

START = {
    "schema": 1, "type": "start", "workflow": "greet", "started_by": "ann", "input": {"who": "Bea"},
}  # fmt: skip


class Deaf:
    """Has consumers fetch nothing, as one does that the library has forgotten about."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, now: bool, most: int = 1) -> None:
        """From now on, or only from when it is set; `most` of them, one after the other."""
        self.now = now
        self._most = most
        self._done: list[Consumer] = []
        assigned, look = TopicReader._assigned, TopicReader._look_at_lag

        def on_assign(
            reader: TopicReader, consumer: Consumer, partitions: list[TopicPartition]
        ) -> None:
            assigned(reader, consumer, partitions)
            if self._begins(consumer):
                consumer.incremental_assign(partitions)
                consumer.pause(partitions)

        def look_at_lag(reader: TopicReader, consumer: Consumer) -> None:
            look(reader, consumer)
            if consumer.assignment() and self._begins(consumer):
                consumer.pause(consumer.assignment())

        monkeypatch.setattr(TopicReader, "_assigned", on_assign)
        monkeypatch.setattr(TopicReader, "_look_at_lag", look_at_lag)

    @property
    def count(self) -> int:
        return len(self._done)

    def _begins(self, consumer: Consumer) -> bool:
        if not self.now or len(self._done) == self._most or consumer in self._done:
            return False
        self._done.append(consumer)
        return True


@pytest.mark.req("W-09")
async def test_a_consumer_that_fetches_nothing_from_the_start_is_replaced(
    carrying: Carrying, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaf = Deaf(monkeypatch, now=True)
    bus = await carrying.start(role="bridge", check_seconds=0.5)
    await carrying.dispatch(bus, *(task("r", f"t{n}", time.time()) for n in range(10)))
    await carrying.until_states({f"r/t{n}": "ready" for n in range(10)})
    assert (deaf.count, bus.metrics.stalls) == (1, 1)


@pytest.mark.req("W-09")
async def test_a_consumer_that_no_longer_fetches_is_replaced(
    carrying: Carrying, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaf = Deaf(monkeypatch, now=False)
    bus = await carrying.start(role="bridge", check_seconds=0.5)
    await carrying.dispatch(bus, task("r", "early", time.time()))
    await carrying.until_states({"r/early": "ready"})
    before = bus.metrics.stalls  # a slow machine may be taken for one
    deaf.now = True
    await carrying.until(lambda: deaf.count == 1)
    await carrying.dispatch(bus, task("r", "late", time.time()))
    await carrying.until_states({"r/early": "ready", "r/late": "ready"})
    assert bus.metrics.stalls == before + 1


async def test_consumers_are_not_replaced_again_and_again(
    carrying: Carrying, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaf = Deaf(monkeypatch, now=True, most=2)
    bus = await carrying.start(role="bridge", check_seconds=0.3)
    await carrying.dispatch(bus, task("r", "ask", time.time()))
    await carrying.until(lambda: deaf.count == 2)
    await asyncio.sleep(2.0)
    assert bus.metrics.stalls == 1


async def test_a_consumer_that_has_everything_stays(carrying: Carrying) -> None:
    bus = await carrying.start(check_seconds=0.2)
    await carrying.dispatch(bus, task("r", "ask", time.time()))
    await carrying.until_states({"r/ask": "ready"})
    producer = Producer({"bootstrap.servers": carrying.servers, "transactional.id": "t", **QUIET})
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    producer.produce(carrying.names.runs, json.encode({**START, "message_id": "m"}), "k")
    producer.commit_transaction(PATIENCE)  # which leaves a mark that nobody is given
    await carrying.until_count("runs", 1)
    before = bus.metrics.stalls
    await asyncio.sleep(2.0)
    assert bus.metrics.stalls == before
