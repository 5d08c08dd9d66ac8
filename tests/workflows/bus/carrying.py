"""Buses on one database and one broker, and what tests look at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any
from uuid import uuid4

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)
from msgspec import json

from accord.store import Store
from accord.store.store import Row
from accord.workflows.bus import topics
from accord.workflows.bus.kafka import KafkaBus
from accord.workflows.bus.topics import TopicNames, TopicShape
from accord.workflows.core.events import CallAgent, TaskSucceeded
from accord.workflows.storage.messages import RunMessage
from accord.workflows.storage.tasks import NewTask
from tests.patience import PATIENCE as PATIENCE

PARTITIONS = 4
QUIET = {"log_level": 0}


def new_names() -> TopicNames:
    """Topics that nobody else uses."""
    prefix = f"test-{uuid4().hex[:12]}"
    return TopicNames(
        tasks=f"{prefix}.tasks",
        results=f"{prefix}.results",
        runs=f"{prefix}.runs",
        events=f"{prefix}.events",
        dead_letters=f"{prefix}.dead-letters",
    )


async def workflow(store: Store) -> None:
    """Something to start, and somebody who may."""
    await store.execute(
        "INSERT INTO workflows (name, version, definition, created_by, created_at)"
        " VALUES ('greet', 1, $1, '', '')",
        '{"name":"greet","input":{"type":"object","required":["who"]},'
        '"steps":[{"type":"wait","name":"pause","for":1}]}',
    )
    for name, role, active in (("ann", "User", 1), ("cay", "Commenter", 1), ("old", "User", 0)):
        await store.execute(
            "INSERT INTO users (id, username, username_key, role, active, created_at, updated_at)"
            " VALUES ($1, $2, $2, $3, $4, '', '')",
            f"id-of-{name}", name, role, active,
        )  # fmt: skip


class Carrying:
    """Buses that share a database and topics."""

    def __init__(self, store: Store, servers: str, names: TopicNames) -> None:
        self.store = store
        self.servers = servers
        self.names = names
        self._open: list[KafkaBus] = []

    async def __aenter__(self) -> Carrying:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for bus in self._open:
            await bus.close()

    def bus(self, **options: Any) -> KafkaBus:
        """One that is not started: it hands over, and carries nothing."""
        chosen = {"shape": TopicShape(partitions=PARTITIONS), "lease_seconds": 2.0, **options}
        return KafkaBus(self.store, self.servers, names=self.names, **chosen)

    async def start(self, **options: Any) -> KafkaBus:
        bus = self.bus(**options)
        await bus.start()
        self._open.append(bus)
        return bus

    async def close(self, bus: KafkaBus) -> None:
        self._open.remove(bus)
        await bus.close()

    async def dispatch(self, bus: KafkaBus, *tasks: NewTask) -> None:
        await self.store.transact(lambda db: bus.dispatch(db, tasks), lane="test-executor")

    async def answer(self, bus: KafkaBus, *messages: RunMessage) -> None:
        await self.store.transact(lambda db: bus.answer(db, messages), lane="test-bridge")

    async def cancel(self, bus: KafkaBus, *ids: str) -> None:
        await self.store.transact(lambda db: bus.cancel(db, ids), lane="test-executor")

    async def states(self) -> dict[str, str]:
        rows = await self.store.fetch("SELECT id, state FROM tasks ORDER BY id")
        return {row["id"]: row["state"] for row in rows}

    async def count(self, sql: str) -> int:
        [row] = await self.store.fetch(f"SELECT count(*) AS count FROM {sql}")
        count: int = row["count"]
        return count

    async def inbox(self) -> list[str]:
        rows = await self.store.fetch("SELECT message_id FROM run_inbox ORDER BY id")
        return [row["message_id"] for row in rows]

    async def letters(self) -> list[tuple[str, str]]:
        rows = await self.store.fetch("SELECT topic, code FROM dead_letters ORDER BY created_at")
        return [(row["topic"].partition(".")[2], row["code"]) for row in rows]

    async def until(self, condition: Callable[[], bool]) -> None:
        async def holds() -> bool:
            return condition()

        await until(holds)

    async def until_states(self, expected: dict[str, str]) -> None:
        async def holds() -> bool:
            return await self.states() == expected

        await until(holds)

    async def until_inbox(self, *expected: str) -> None:
        async def holds() -> bool:
            return await self.inbox() == list(expected)

        await until(holds)

    async def until_count(self, sql: str, expected: int) -> None:
        async def holds() -> bool:
            return await self.count(sql) == expected

        await until(holds)

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.servers, **QUIET})

    def make_topic(self, name: str, partitions: int, config: dict[str, str]) -> None:
        admin = self.admin()
        [made] = admin.create_topics([NewTopic(name, partitions, 1, config=config)]).values()
        made.result(PATIENCE)

    def alter_topic(self, name: str, setting: str, value: str) -> None:
        entry = ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
        admin = self.admin()
        [done] = admin.incremental_alter_configs([resource]).values()
        done.result(PATIENCE)

    def refuses(self, topic: str, value: bytes) -> bool:
        """Return True if the broker refuses a message."""
        errors: list[KafkaError | None] = []
        producer = Producer({"bootstrap.servers": self.servers, **QUIET})
        producer.produce(topic, value, on_delivery=lambda error, _: errors.append(error))
        assert producer.flush(PATIENCE) == 0
        return errors[0] is not None

    def delete_topic(self, name: str) -> None:
        admin = self.admin()
        [done] = admin.delete_topics([name]).values()
        done.result(PATIENCE)

    async def publish_by_hand(self, order: Callable[[list[Row]], list[Row]]) -> None:
        """Empty the outbox as a relay would that keeps no order, and repeats itself; there is one
        message in each row."""
        rows = await self.store.fetch("SELECT * FROM outbox ORDER BY id")
        assert all(row["topic"] for row in rows)
        producer = Producer({"bootstrap.servers": self.servers, **QUIET})
        await self.make_topics()
        for row in order(rows):
            producer.produce(row["topic"], row["message"], row["run_id"])
        assert producer.flush(PATIENCE) == 0
        await self.store.execute("DELETE FROM outbox")

    async def make_topics(self) -> None:
        shape = TopicShape(partitions=PARTITIONS)
        await asyncio.get_running_loop().run_in_executor(
            None, topics.ensure_topics, self.admin(), self.names, shape
        )

    def ask(self, *messages: dict[str, Any], key: str = "k") -> None:
        self.say(self.names.runs, *(json.encode(each) for each in messages), key=key)

    def say(self, topic: str, *values: bytes, key: str = "k") -> None:
        """Publish as somebody else would."""
        producer = Producer(
            {"bootstrap.servers": self.servers, "message.max.bytes": 2_000_000, **QUIET}
        )
        for value in values:
            producer.produce(topic, value, key)
        assert producer.flush(PATIENCE) == 0

    async def heard(self, topic: str, count: int | None = None) -> list[Any]:
        """The first messages of a topic, or all there are now, as somebody else reads them."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, _heard, self.servers, topic, count)


def _heard(servers: str, topic: str, count: int | None) -> list[Any]:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": uuid4().hex,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **QUIET,
        }
    )
    if count is None:
        places = [TopicPartition(topic, n) for n in range(PARTITIONS)]
        ends = [consumer.get_watermark_offsets(each, PATIENCE) for each in places]
        count = sum(end - begin for begin, end in ends)
    consumer.subscribe([topic])
    found: list[Any] = []
    deadline = time.monotonic() + PATIENCE
    while len(found) < count and time.monotonic() < deadline:
        found += [each for each in consumer.consume(count, 0.2) if each.error() is None]
    consumer.close()
    return found


async def until(
    condition: Callable[[], Coroutine[Any, Any, bool]], patience: float = PATIENCE
) -> None:
    """Look again and again: what is waited for happens in the database."""
    async with asyncio.timeout(patience):
        while not await condition():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)


def task(run_id: str, name: str, at: float = 1.0, text: str | None = None, **more: Any) -> NewTask:
    command = CallAgent(task=name, step=name, agent="shouter", input={"text": text or name})
    return NewTask(run_id=run_id, command=command, at=at, **more)


def answer(run_id: str, name: str, output: Any = None) -> RunMessage:
    event = TaskSucceeded(at=2.0, task=name, output=output)
    return RunMessage(f"{run_id}/{name}/1", run_id, event)
