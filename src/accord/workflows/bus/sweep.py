"""Sends again what vanished on its way: a topic can be emptied, deleted or made anew, and there may
be nobody who reads a partition.

That is a task that stays `published` with no message in the outbox, and a result whose message was
published and never arrived. Each is published once more. Where that does not help, it goes by the
tables, which both ends share; should its messages arrive after all, they say nothing new.
"""

from __future__ import annotations

from typing import Final, cast

from accord.store.clock import NOW
from accord.store.store import Row, Store, Transaction
from accord.workflows.bus import outbox
from accord.workflows.bus.envelope import message_of, read_answer, task_sent
from accord.workflows.bus.errors import EnvelopeError
from accord.workflows.bus.outbox import outgoing
from accord.workflows.core.events import decode_command
from accord.workflows.storage.inbox import Message, deliver
from accord.workflows.storage.tasks import WAKE, Call, NewTask

LANE: Final = "kafka-sweep"
MOST: Final = 1_000
"""How many of each at a time."""

_NOW: Final = NOW["postgresql"]
# `due` has no other meaning before a task is ready: it is when the task was published again.
_TASKS: Final = """
SELECT id FROM tasks
WHERE state = 'published' AND {since} < $1 - $2::double precision AND {when}
    AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.message_id = tasks.id)
ORDER BY created_at LIMIT $3 FOR UPDATE SKIP LOCKED
"""
_PUBLISH: Final = f"""
UPDATE tasks SET due = $1
WHERE id IN ({_TASKS.format(since="created_at", when="due = 0")})
RETURNING id, run_id, command, traceparent, correlation_id, created_at
"""
_READY: Final = f"""
UPDATE tasks SET state = 'ready', due = 0
WHERE id IN ({_TASKS.format(since="due", when="due > 0")})
"""
_RESULTS: Final = f"""
FROM outbox WHERE published_at < {_NOW} - $1::double precision AND swept {{times}}
ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
"""
_PUBLISH_RESULTS: Final = f"""
UPDATE outbox SET published_at = NULL, swept = swept + 1
WHERE id IN (SELECT id {_RESULTS.format(times="= 0")})
"""
_LATE_RESULTS: Final = f"SELECT id, message_id, message {_RESULTS.format(times='> 0')}"
_UNREAD: Final = "UPDATE outbox SET published_at = NULL WHERE id = ANY($1::bigint[])"


async def sweep(store: Store, topic: str, *, now: float, seconds: float) -> int:
    """Send again what did not arrive within `seconds`, tasks in `topic`; how many."""

    async def work(db: Transaction) -> int:
        return (
            await _hand_over_tasks(db, now, seconds)
            + await _publish_tasks(db, topic, now, seconds)
            + await _deliver_results(db, seconds)
            + await _publish_results(db, seconds)
        )

    return await store.transact(work, lane=LANE)


async def _publish_tasks(db: Transaction, topic: str, now: float, seconds: float) -> int:
    tasks = [_task(row) for row in await db.fetch(_PUBLISH, now, seconds, MOST)]
    tasks.sort(key=lambda task: task.at)
    await outbox.put(db, [outgoing(topic, task_sent(task)) for task in tasks])
    return len(tasks)


async def _hand_over_tasks(db: Transaction, now: float, seconds: float) -> int:
    made = await db.execute(_READY, now, seconds, MOST)
    if made:
        await db.notify(WAKE)
    return made


async def _publish_results(db: Transaction, seconds: float) -> int:
    published = await db.execute(_PUBLISH_RESULTS, seconds, MOST)
    if published:
        await db.notify(outbox.WAKE)
    return published


async def _deliver_results(db: Transaction, seconds: float) -> int:
    """A result that cannot be read here, as a newer version wrote it, goes by its topic again."""
    arrived: list[tuple[int, str]] = []
    messages: list[Message] = []
    unread: list[int] = []
    for row in await db.fetch(_LATE_RESULTS, seconds, MOST):
        try:
            messages.append(message_of(read_answer(row["message"].encode())))
        except EnvelopeError:
            unread.append(row["id"])
        else:
            arrived.append((row["id"], row["message_id"]))
    await deliver(db, messages)
    await outbox.forget_arrived(db, arrived)
    if unread:
        await db.execute(_UNREAD, unread)
        await db.notify(outbox.WAKE)
    return len(arrived) + len(unread)


def _task(row: Row) -> NewTask:
    return NewTask(
        run_id=row["run_id"],
        command=cast("Call", decode_command(row["command"].encode())),
        at=row["created_at"],
        traceparent=row["traceparent"],
        correlation_id=row["correlation_id"],
    )
