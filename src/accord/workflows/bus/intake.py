"""Stores messages that arrive from topics, in batches, one transaction each.

Messages may arrive in any order and any number of times. `consumer` reads them from the topics.

External programs start, cancel and signal runs by messages; the access control of the broker
decides who may send them. A request to start a run names a user of this installation, who needs the
right to run workflows. The workflow and its input are validated as for other callers. A request
that cannot be fulfilled becomes a dead letter.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, assert_never
from uuid import UUID, uuid4, uuid5

from msgspec import UNSET, Struct

from accord.operations.auth.storage import find_user_row
from accord.operations.context import RULES
from accord.store.store import Row, Store, StoreUnavailableError, Transaction
from accord.workflows.bus.bus import DeferredHandoff, EnvelopeError, LocalExecutor, LocalWorker
from accord.workflows.bus.envelope import (
    CancelRun,
    RunRequest,
    SignalRun,
    StartRun,
    TaskAnswered,
    TaskCancelled,
    TaskSent,
    message_of,
    read_answer,
    read_request,
    read_to_bridge,
)
from accord.workflows.bus.outbox import RejectedMessage, TopicRecord, store_rejected
from accord.workflows.bus.topics import MAX_MESSAGE_BYTES, TopicNames
from accord.workflows.core.events import CancelRequested, SignalReceived
from accord.workflows.core.rules import input_problem
from accord.workflows.metrics import BusMetrics, SpanRecorder
from accord.workflows.storage.definitions import Definitions, UnknownWorkflowError
from accord.workflows.storage.messages import RunMessage, delete_arrived, deliver
from accord.workflows.storage.runs import NewRun, Starter, create_run, run_exists
from accord.workflows.storage.tasks import (
    BY_INDEX,
    cancel_tasks,
    end_unbegun,
    finish_tasks,
    make_ready,
    unknown_tasks,
)

_NAMESPACE: Final = UUID("2f4d6a86-0a3c-5c55-8d3f-1c5b6f3d9e02")


def requested_run_id(message_id: str) -> str:
    """Return the run id for a start request without one, derived from the message id."""
    return str(uuid5(_NAMESPACE, message_id))


async def fulfil_request(
    db: Transaction, definitions: Definitions, request: RunRequest, at: float
) -> bool:
    """Carry out a request of an external program; return False if it is a duplicate.

    Raise EnvelopeError if it cannot be fulfilled, for example for an unknown workflow.
    """
    match request:
        case StartRun():
            return await _start_run(db, definitions, request, at)
        case CancelRun():
            run_id = await _existing_run(db, request.run_id)
            event = CancelRequested(at=at, by=request.by, reason=request.reason)
            await deliver(db, [RunMessage(f"{run_id}/asked/{request.message_id}", run_id, event)])
        case SignalRun():
            run_id = await _existing_run(db, request.run_id)
            id = request.message_id if request.id is UNSET else request.id
            signal = SignalReceived(at=at, name=request.name, id=id, payload=request.payload)
            await deliver(db, [RunMessage(f"{run_id}/asked/{request.message_id}", run_id, signal)])
        case _:
            assert_never(request)
    return True


async def _start_run(
    db: Transaction, definitions: Definitions, request: StartRun, at: float
) -> bool:
    try:
        version, program = await definitions.startable(db, request.workflow, request.version)
    except UnknownWorkflowError as error:
        raise EnvelopeError("unknown_workflow", str(error)) from None
    problem = input_problem(program.definition, request.input)
    if problem is not None:
        raise EnvelopeError("invalid_input", problem)
    run = NewRun(
        id=requested_run_id(request.message_id) if request.run_id is None else str(request.run_id),
        workflow=request.workflow,
        version=version,
        input=request.input,
        starter=await _starter(db, request.started_by),
        origin="bus",
        at=at,
        correlation_id=request.correlation_id,
        traceparent=request.traceparent,
    )
    return await create_run(db, run)


async def _starter(db: Transaction, name: str) -> Starter:
    row = await find_user_row(db, name)
    if row is None or not row["active"]:
        raise EnvelopeError("unknown_user", f"there is no user {name[:80]!r}, or not any more")
    if row["role"] not in RULES["run"].roles:
        raise EnvelopeError("forbidden", f"a {row['role']} may not run workflows")
    return Starter(user_id=row["id"], username=row["username"])


async def _existing_run(db: Transaction, id: UUID) -> str:
    if not await run_exists(db, str(id)):
        raise EnvelopeError("unknown_run", f"there is no run {id}")
    return str(id)


log = logging.getLogger("accord.workflows.bus")

TRIES: Final = 5
"""How often storing a single message is attempted before it becomes a dead letter."""
DELAYS: Final = (0.1, 5.0)
"""The shortest and the longest delay between attempts to store messages, in seconds."""

RECENT_SECONDS: Final = 3_600.0
"""The age at which a message for an unknown task stops being an error.

If the database has no such task, a younger message becomes a dead letter. An older message is
dropped as a duplicate, because its run may have been removed.
"""

IncomingEnvelope: TypeAlias = TaskSent | TaskCancelled | TaskAnswered | RunRequest


class _Readable(Struct, frozen=True):
    """A message from a topic that could be decoded, with its envelope."""

    record: TopicRecord
    envelope: IncomingEnvelope


class _IntakeCounts(Struct, frozen=True):
    """The result of storing a batch of messages.

    It has the rejected messages, the number of duplicates by topic, and the tasks that were taken.
    """

    given_up: list[RejectedMessage]
    duplicates: Counter[str]
    taken: list[Row]
    """The rows of the tasks that the local worker took."""


class Intake:
    """A receiver that stores the messages of one consumer."""

    def __init__(
        self,
        store: Store,
        names: TopicNames,
        metrics: BusMetrics,
        *,
        deferred: Callable[[], DeferredHandoff | None],
        local_worker: Callable[[], LocalWorker | None],
        local_executor: Callable[[], LocalExecutor | None],
        now: Callable[[], float],
        spans: SpanRecorder | None = None,
    ) -> None:
        self._store = store
        self._deferred = deferred
        self._local_worker = local_worker
        self._local_executor = local_executor
        self._names = names
        self._metrics = metrics
        self._now = now
        self._spans = spans
        self._definitions = Definitions()
        self._lane = f"kafka-intake-{uuid4()}"

    async def receive(self, records: Sequence[TopicRecord]) -> None:
        """Store a batch; return when every message is stored or has become a dead letter."""
        letters: list[RejectedMessage] = []
        read: list[_Readable] = []
        for record in records:
            try:
                read.append(_Readable(record, self._read(record)))
            except EnvelopeError as error:
                letters.append(RejectedMessage(record, error.code, str(error)))
        self._tell_spans(read)
        read = await self._decide(self._begin(read))
        try:
            await self._store_messages(read, letters)
        except Exception as error:  # a bad message fails them all, in ways only the store knows
            if not read:
                raise
            log.warning("%d messages are stored one by one: %s", len(read), error)
            await self._store_messages([], letters)
            for each in read:
                await self._store_alone(each)

    def _tell_spans(self, read: Sequence[_Readable]) -> None:
        """Record tracing spans for the time that messages spent in the broker."""
        if self._spans is None:
            return
        for record, envelope in _of(read, TaskSent | TaskAnswered):
            self._spans.tell(
                f"process {record.topic}",
                began=envelope.created_at,
                traceparent=envelope.traceparent,
                place="consumer",
                attributes={
                    "messaging.system": "kafka",
                    "messaging.operation.type": "process",
                    "messaging.destination.name": record.topic,
                    "messaging.message.id": envelope.message_id,
                    "accord.run.id": envelope.run_id,
                },
            )

    def _begin(self, read: list[_Readable]) -> list[_Readable]:
        """Begin the deferred tasks that these messages announce; return the other messages."""
        deferred = self._deferred()
        if deferred is None:
            return read
        ids = [task.task_id for _, task in _of(read, TaskSent)]
        begun = deferred.arrive(ids) if ids else set()
        if not begun:
            return read
        self._metrics.consumed[self._names.tasks] += len(begun)
        # A second message of the same task is stored, where it counts as a duplicate.
        return [each for each in read if not _is_first(each, begun)]

    async def _decide(self, read: list[_Readable]) -> list[_Readable]:
        """Have the local executor decide on successes; return the messages not recorded by it."""
        local_executor = self._local_executor()
        if local_executor is None:
            return read
        offered = {
            each.envelope.message_id: message_of(each.envelope)
            for each in read
            # A result with a row in the outbox is stored by the transaction that removes the row.
            if isinstance(each.envelope, TaskAnswered)
            and each.envelope.status == "success"
            and each.record.row is None
            and local_executor.is_its_own(each.envelope.run_id)
        }
        if not offered:
            return read
        recorded = await local_executor.decide_on(list(offered.values()))
        left = [
            each
            for each in read
            # The same result may have come twice, once with a row.
            if each.record.row is not None or each.envelope.message_id not in recorded
        ]
        self._metrics.consumed[self._names.results] += len(read) - len(left)
        return left

    def _read(self, record: TopicRecord) -> IncomingEnvelope:
        if len(record.value) > MAX_MESSAGE_BYTES:
            text = (
                f"message of {len(record.value):,} bytes is over the limit of {MAX_MESSAGE_BYTES:,}"
            )
            raise EnvelopeError("too_large", text)
        if record.topic == self._names.tasks:
            return read_to_bridge(record.value)
        if record.topic == self._names.results:
            return read_answer(record.value)
        return read_request(record.value)

    async def _store_messages(
        self, read: Sequence[_Readable], letters: Sequence[RejectedMessage]
    ) -> None:
        """Store messages, retrying while the database is unavailable.

        Raise any other error that a message causes.
        """
        if not read and not letters:
            return
        delay, max_delay = DELAYS
        while True:
            try:
                stored = await self._store_now(read, letters)
            except StoreUnavailableError as error:
                log.warning("messages wait for the database: %s", error)
                await asyncio.sleep(delay)
                delay = min(delay * 2, max_delay)
            else:
                self._count(read, stored)
                return

    async def _store_now(
        self, read: Sequence[_Readable], letters: Sequence[RejectedMessage]
    ) -> _IntakeCounts:
        local_worker = self._local_worker()
        if local_worker is None:
            return await self._transact(read, letters, None, [])
        sent = [(task.task_id, task.kind, task.agent) for _, task in _of(read, TaskSent)]
        reserved = local_worker.reserve(sent) if sent else []
        try:
            stored = await self._transact(read, letters, local_worker, reserved)
        except BaseException:
            local_worker.release(reserved)
            raise
        local_worker.begin(reserved, stored.taken)
        return stored

    async def _transact(
        self,
        read: Sequence[_Readable],
        letters: Sequence[RejectedMessage],
        local_worker: LocalWorker | None,
        reserved: Sequence[str],
    ) -> _IntakeCounts:
        async def work(db: Transaction) -> _IntakeCounts:
            await db.fetch(BY_INDEX)
            taken = (
                await local_worker.record(db, reserved)
                if local_worker is not None and reserved
                else []
            )
            return await self._store_all(db, read, _IntakeCounts(list(letters), Counter(), taken))

        return await self._store.transact(work, lane=self._lane)

    async def _store_alone(self, read: _Readable) -> None:
        delay, max_delay = DELAYS
        reason = ""
        for _ in range(TRIES):
            try:
                await self._store_messages([read], [])
                return
            except Exception as error:  # noqa: BLE001 - it becomes a dead letter
                log.warning("%s cannot be stored: %s", read.record.place, error)
                reason = str(error)
                await asyncio.sleep(delay)
                delay = min(delay * 2, max_delay)
        await self._store_messages([], [RejectedMessage(read.record, "failed", reason, TRIES)])

    async def _store_all(
        self, db: Transaction, read: Sequence[_Readable], stored: _IntakeCounts
    ) -> _IntakeCounts:
        await self._cancel(db, _of(read, TaskCancelled))
        await self._make_ready(db, _of(read, TaskSent), stored)
        await self._deliver(db, _of(read, TaskAnswered))
        for record, request in _of(read, StartRun | CancelRun | SignalRun):
            await self._grant(db, record, request, stored)
        await store_rejected(db, self._names.dead_letters, stored.given_up, self._now())
        return stored

    async def _make_ready(
        self, db: Transaction, sent: Sequence[tuple[TopicRecord, TaskSent]], stored: _IntakeCounts
    ) -> None:
        ids = sorted({task.task_id for _, task in sent})
        taken = {row["id"] for row in stored.taken}
        others = [id for id in ids if id not in taken]
        made = await make_ready(db, others) if others else 0
        made += len(taken)
        if made == len(sent):
            return
        unknown = await unknown_tasks(db, ids)
        oldest = self._now() - RECENT_SECONDS
        lost = [
            record for record, task in sent if task.task_id in unknown and task.created_at > oldest
        ]
        stored.given_up.extend(
            RejectedMessage(record, "unknown_task", "there is no such task") for record in lost
        )
        stored.duplicates[self._names.tasks] += len(sent) - made - len(lost)

    async def _cancel(
        self, db: Transaction, cancelled: Sequence[tuple[TopicRecord, TaskCancelled]]
    ) -> None:
        if cancelled:
            ids = sorted({task.task_id for _, task in cancelled})
            await end_unbegun(db, ids, self._now())
            await cancel_tasks(db, ids)

    async def _deliver(
        self, db: Transaction, answered: Sequence[tuple[TopicRecord, TaskAnswered]]
    ) -> None:
        await deliver(db, [message_of(answer) for _, answer in answered])
        # The transaction that wrote a row of the outbox has finished the task, too.
        without_row = [message_of(answer) for record, answer in answered if record.row is None]
        await finish_tasks(db, without_row)
        await delete_arrived(
            db,
            [
                (record.row, answer.message_id)
                for record, answer in answered
                if record.row is not None
            ],
        )

    async def _grant(
        self, db: Transaction, record: TopicRecord, request: RunRequest, stored: _IntakeCounts
    ) -> None:
        try:
            if not await fulfil_request(db, self._definitions, request, self._now()):
                stored.duplicates[record.topic] += 1
        except EnvelopeError as error:
            stored.given_up.append(RejectedMessage(record, error.code, str(error)))

    def _count(self, read: Sequence[_Readable], stored: _IntakeCounts) -> None:
        self._metrics.consumed.update(each.record.topic for each in read)
        self._metrics.duplicates.update(stored.duplicates)
        self._metrics.dead_letters.update(letter.record.topic for letter in stored.given_up)


def _is_first(read: _Readable, of: set[str]) -> bool:
    """Return True for the first message of each task whose id is in `of`.

    Remove the id from `of`, so that later messages for the same task return False.
    """
    if not isinstance(read.envelope, TaskSent) or read.envelope.task_id not in of:
        return False
    of.discard(read.envelope.task_id)
    return True


def _of(read: Sequence[_Readable], kind: Any) -> list[tuple[TopicRecord, Any]]:
    return [(each.record, each.envelope) for each in read if isinstance(each.envelope, kind)]
