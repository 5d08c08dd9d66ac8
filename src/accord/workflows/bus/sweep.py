"""Publishes again what vanished on its way: a topic can be emptied, deleted or made anew.

A task that stays `published` with no message in the outbox, and a result whose message was
published and never arrived. Each is tried again after twice as long as the time before: where
nobody receives for hours, nothing is gained by many copies.
"""

from __future__ import annotations

from typing import Final, cast

from accord.store.clock import NOW
from accord.store.store import Row, Store, Transaction
from accord.workflows.bus import outbox
from accord.workflows.bus.envelope import task_sent
from accord.workflows.bus.outbox import outgoing
from accord.workflows.core.commands import decode_command
from accord.workflows.storage.tasks import Call, NewTask

LANE: Final = "kafka-sweep"
MOST: Final = 1_000
"""How many of each at a time."""

# `due` has no other meaning before a task is ready.
_TASKS: Final = """
UPDATE tasks SET due = 2 * $1::double precision - created_at
WHERE id IN (
    SELECT id FROM tasks
    WHERE state = 'published' AND created_at < $1 - $2::double precision AND due < $1
        AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.message_id = tasks.id)
    ORDER BY created_at LIMIT $3 FOR UPDATE SKIP LOCKED
)
RETURNING id, run_id, command, traceparent, correlation_id, created_at
"""
_RESULTS: Final = f"""
UPDATE outbox SET published_at = NULL, swept = swept + 1
WHERE id IN (
    SELECT id FROM outbox
    WHERE published_at < {NOW["postgresql"]} - $1::double precision * power(2, least(swept, 10))
    ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
)
"""


async def sweep(store: Store, topic: str, *, now: float, seconds: float) -> int:
    """Publish again what did not arrive within `seconds`, tasks in `topic`; how many."""

    async def work(db: Transaction) -> int:
        tasks = [_task(row) for row in await db.fetch(_TASKS, now, seconds, MOST)]
        tasks.sort(key=lambda task: task.at)
        await outbox.put(db, [outgoing(topic, task_sent(task)) for task in tasks])
        results = await db.execute(_RESULTS, seconds, MOST)
        if results:
            await db.notify(outbox.WAKE)
        return len(tasks) + results

    return await store.transact(work, lane=LANE)


def _task(row: Row) -> NewTask:
    return NewTask(
        run_id=row["run_id"],
        command=cast("Call", decode_command(row["command"].encode())),
        at=row["created_at"],
        traceparent=row["traceparent"],
        correlation_id=row["correlation_id"],
    )
