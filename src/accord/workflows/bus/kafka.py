"""A bus over Kafka, for installations with PostgreSQL.

Messages are written to the outbox in the transaction that causes them; a relay publishes them.
Consumers pass arriving messages to the worker or the executor of their process, or else store them
in the shared tables, for example if the worker has no free slot.

    executor ── tasks, outbox ──> relay ── accord.tasks ──> consumer ──> tasks ── bridge
    executor <── run_inbox <── consumer <── accord.results <── bridge, or relay <── outbox ── bridge

A success is published directly, without the outbox. The bridge keeps it until an executor has
recorded it, which also marks the task's row as done. Other outcomes go through the outbox.

Messages that the broker loses are sent again (see `sweep`). Values that are too large for the
broker are passed through the database, which both sides share. SQLite is not supported, because an
installation with SQLite has one process and needs no bus.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from accord.store.store import Store, StoreError, Transaction
from accord.workflows.bus import envelope, outbox, topics
from accord.workflows.bus.bus import (
    BusError,
    DeferredHandoff,
    LocalExecutor,
    LocalWorker,
    RunAnnouncement,
    TopicError,
)
from accord.workflows.bus.consumer import TopicReader
from accord.workflows.bus.intake import Intake
from accord.workflows.bus.outbox import OutboxCache, OutboxMessage, outbox_message
from accord.workflows.bus.publisher import Publisher, Relay, ResultPublisher, kafka_message
from accord.workflows.bus.topics import (
    MAX_MESSAGE_BYTES,
    KnownTopic,
    TopicNames,
    TopicShape,
    read_address,
)
from accord.workflows.metrics import BusMetrics, SpanRecorder
from accord.workflows.storage.messages import RunMessage, deliver, outbox_length
from accord.workflows.storage.tasks import WAKE, NewTask, cancel_tasks, insert_tasks

log = logging.getLogger("accord.workflows.bus")

Role: TypeAlias = Literal["executor", "bridge", "both"]

NAMES: Final = TopicNames()
SHAPE: Final = TopicShape()
SWEEP_SECONDS: Final = 60.0
"""How long a message may take to arrive before it is treated as lost, in seconds."""
CHECK_SECONDS: Final = 10.0
"""The interval in seconds at which topics and their consumers are checked."""


class KafkaBus:
    """A `Bus` over Kafka.

    `role` (executor, bridge or both) determines which messages this process receives. The process
    publishes messages in any role.
    """

    def __init__(
        self,
        store: Store,
        servers: str,
        *,
        role: Role = "both",
        names: TopicNames = NAMES,
        shape: TopicShape = SHAPE,
        group: str = "accord",
        options: Mapping[str, Any] | None = None,
        lease_seconds: float = 10.0,
        sweep_seconds: float = SWEEP_SECONDS,
        check_seconds: float = CHECK_SECONDS,
        now: Callable[[], float] = time.time,
        spans: SpanRecorder | None = None,
    ) -> None:
        """Create a bus for the brokers `servers`, written `host:port,host:port`.

        `options` are settings of librdkafka, such as TLS and passwords. Raise BusError for SQLite.
        """
        if store.engine != "postgresql":
            raise BusError("the Kafka bus needs PostgreSQL: with SQLite there is one process")
        self.metrics = BusMetrics()
        self._local_worker: LocalWorker | None = None
        self._local_executor: LocalExecutor | None = None
        self._store = store
        self._config = {**(options or {}), "bootstrap.servers": servers, "log_level": 0}
        self._role = role
        self._names = names
        self._shape = shape
        self._group = group
        self._lease_seconds = lease_seconds
        self._sweep_seconds = sweep_seconds
        self._check_seconds = check_seconds
        self._now = now
        self._spans = spans
        self._deferred: DeferredHandoff | None = None
        self._topics: dict[str, KnownTopic] = {}
        self._outbox_cache = OutboxCache()
        self._result_publisher: ResultPublisher | None = None
        self._admin: AdminClient | None = None
        self._publisher: Publisher | None = None
        self._readers: list[TopicReader] = []
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    def at(
        cls,
        url: str,
        store: Store,
        *,
        role: Role,
        lease_seconds: float,
        spans: SpanRecorder | None = None,
    ) -> KafkaBus:
        """Create a bus from an address `kafka://host:port,…` (see `topics`).

        Raise BusError if the address is invalid, or the database is SQLite.
        """
        address = read_address(url)
        return cls(
            store,
            address.servers,
            role=role,
            names=address.names,
            shape=address.shape,
            group=address.group,
            options=address.options,
            lease_seconds=lease_seconds,
            spans=spans,
        )

    def join(
        self,
        *,
        local_worker: LocalWorker | None = None,
        local_executor: LocalExecutor | None = None,
    ) -> None:
        self._local_worker = local_worker or self._local_worker
        self._local_executor = local_executor or self._local_executor

    def lend(self, local_worker: LocalWorker) -> LocalWorker:
        self._deferred = DeferredHandoff(local_worker, self._reads_all_tasks)
        return self._deferred

    def _reads_all_tasks(self) -> bool:
        topic = self._names.tasks
        read = sum(reader.partitions_of(topic) for reader in self._readers)
        return topic in self._topics and read == self._topics[topic].partitions

    # Messages of a transaction

    async def dispatch(
        self,
        db: Transaction,
        tasks: Sequence[NewTask],
        decisions: Sequence[RunAnnouncement] = (),
        *,
        owned: Sequence[NewTask] = (),
    ) -> None:
        small: list[NewTask] = []
        large: list[NewTask] = []
        sent: list[OutboxMessage] = []
        for task in tasks:
            message = outbox_message(self._names.tasks, envelope.task_sent(task))
            if _fits(message.message):
                small.append(task)
                sent.append(message)
            else:
                large.append(task)
        for task in owned:
            message = outbox_message(self._names.tasks, envelope.task_sent(task))
            if _fits(message.message):
                sent.append(message)
            elif self._deferred is not None:
                self._deferred.leave_out(task)
        for decision in decisions:
            message = outbox_message(self._names.events, envelope.run_events(decision))
            if _fits(message.message):
                sent.append(message)
        await insert_tasks(db, small, "published")
        await self._put(db, sent)
        if large:
            await insert_tasks(db, large, "ready")
            await db.notify(WAKE)

    async def cancel(self, db: Transaction, task_ids: Sequence[str]) -> None:
        # In the tables too: a message can get lost, and no sweep publishes this one again.
        await cancel_tasks(db, task_ids)
        messages = [envelope.task_cancelled(id, self._now()) for id in task_ids]
        await self._put(db, [outbox_message(self._names.tasks, each) for each in messages])

    async def offer(self, messages: Sequence[RunMessage]) -> set[str]:
        """Return no ids, as this bus records no results directly.

        It publishes all results in their topic, where observers can read them.
        """
        return set()

    async def answer(self, db: Transaction, messages: Sequence[RunMessage]) -> None:
        small: list[OutboxMessage] = []
        direct: list[RunMessage] = []
        for message in messages:
            answered = envelope.task_answered(message)
            sent = None if answered is None else outbox_message(self._names.results, answered)
            if sent is None or not _fits(sent.message):
                direct.append(message)
            else:
                small.append(sent)
        await deliver(db, direct)
        await outbox.put_separately(db, small)

    def send_success(self, message: RunMessage, after: Callable[[bool], None]) -> int:
        answered = envelope.task_answered(message)
        if answered is None or self._result_publisher is None or not self._result_publisher.is_open:
            return 0
        sent = outbox_message(self._names.results, answered)
        if not _fits(sent.message):
            return 0
        self._result_publisher.send(kafka_message(sent), after)
        return len(sent.message)

    async def _put(self, db: Transaction, messages: Sequence[OutboxMessage]) -> None:
        self._outbox_cache.add(await outbox.put_messages(db, messages))

    async def _is_caught_up(self) -> bool:
        try:
            return await outbox_length(self._store) == 0
        except StoreError:
            return False

    # Start and close

    async def start(self) -> None:
        """Start publishing and receiving, and create the topics if the broker responds.

        Raise BusError if the options or existing topics cannot be used.
        """
        try:
            self._admin = AdminClient(self._config)
            self._publisher = Publisher(self._config)
        except KafkaException as error:
            raise BusError(f"Kafka cannot be used with these options: {error}") from None
        self._result_publisher = ResultPublisher(self._publisher, self.metrics, self._is_caught_up)
        try:
            await self._make_topics()
        except topics.BrokerUnreachableError as error:
            log.warning("the broker is away: %s", error)
        relay = Relay(
            self._store,
            self._publisher,
            self._names,
            self.metrics,
            self._outbox_cache,
            lease_seconds=self._lease_seconds,
            sweep_seconds=self._sweep_seconds,
            now=self._now,
        )
        self._open_readers()
        self._tasks = [
            asyncio.create_task(relay.run(), name="kafka-relay"),
            asyncio.create_task(self._watch_topics(), name="kafka-topics"),
        ]

    async def close(self) -> None:
        """Stop publishing and receiving.

        Unpublished messages stay in the outbox; messages that are not stored are read again later.
        """
        for task in self._tasks:
            task.cancel()
        if self._publisher is not None and self._result_publisher is not None:
            await asyncio.gather(self._publisher.close(), self._result_publisher.close())
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._close_readers()

    def _open_readers(self, recreated: Collection[str] = ()) -> None:
        self._readers = [
            self._reader(role, read, recreated)
            for role, read in (
                ("bridge", (self._names.tasks,)),
                ("executor", (self._names.results, self._names.runs)),
            )
            if self._role in (role, "both")
        ]
        for reader in self._readers:
            reader.start()

    def _reader(self, role: str, read: Sequence[str], recreated: Collection[str]) -> TopicReader:
        intake = Intake(
            self._store,
            self._names,
            self.metrics,
            deferred=lambda: self._deferred,
            local_worker=lambda: self._local_worker,
            local_executor=lambda: self._local_executor,
            now=self._now,
            spans=self._spans,
        )
        group = f"{self._group}-{role}"
        return TopicReader(
            self._config,
            group,
            read,
            intake.receive,
            self.metrics,
            check_seconds=self._check_seconds,
            recreated=recreated,
        )

    async def _close_readers(self) -> None:
        await asyncio.gather(*(reader.close() for reader in self._readers))

    async def _watch_topics(self) -> None:
        """Recreate deleted topics, and read recreated topics from the beginning.

        A consumer does not notice that a topic was recreated; it would continue at its old offset.
        """
        while True:
            await asyncio.sleep(self._check_seconds)
            before = self._topics
            try:
                await self._make_topics()
            except topics.BrokerUnreachableError as error:
                log.warning("the broker is away: %s", error)
            except TopicError as error:
                log.error("%s", error)
            except Exception:
                log.exception("topics cannot be looked at")
            recreated = [
                name
                for name, topic in self._topics.items()
                if name in before and before[name].id != topic.id
            ]
            if recreated:
                log.warning("read from their beginning, as they were made anew: %s", recreated)
                await self._close_readers()
                self._open_readers(recreated)

    async def _make_topics(self) -> None:
        loop = asyncio.get_running_loop()
        assert self._admin is not None
        self._topics = await loop.run_in_executor(
            None, topics.ensure_topics, self._admin, self._names, self._shape
        )


def _fits(message: str) -> bool:
    # No character takes more than four bytes: short texts need no encoding to be measured.
    return len(message) * 4 <= MAX_MESSAGE_BYTES or len(message.encode()) <= MAX_MESSAGE_BYTES
