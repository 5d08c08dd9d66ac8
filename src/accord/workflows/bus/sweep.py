"""Sends again what vanished on its way: a topic can be emptied, deleted or made anew, and there may
be nobody who reads a partition.

That is a task that stays `published` with no message in the outbox, and a result whose message was
published and never arrived. Each is published once more. Where that does not help, it goes by the
tables, which both ends share; should its messages arrive after all, they say nothing new.
"""

from __future__ import annotations

from typing import Final, cast

from accord.store.store import Row, Store, Transaction
from accord.workflows.bus import outbox
from accord.workflows.bus.envelope import message_of, read_answer, task_sent
from accord.workflows.bus.errors import EnvelopeError
from accord.workflows.bus.outbox import outgoing
from accord.workflows.core.events import decode_command
from accord.workflows.storage.inbox import Message, deliver
from accord.workflows.storage.outbox import (
    forget_arrived,
    publish_again,
    publish_lost,
    read_lost,
)
from accord.workflows.storage.task_changes import mark_lost_tasks, release_lost_tasks
from accord.workflows.storage.tasks import Call, NewTask

LANE: Final = "kafka-sweep"
MOST: Final = 1_000
"""How many of each at a time."""


async def sweep(store: Store, topic: str, *, now: float, seconds: float) -> int:
    """Send again what did not arrive within `seconds`, tasks in `topic`; how many."""

    async def work(db: Transaction) -> int:
        return (
            await release_lost_tasks(db, now, seconds, MOST)
            + await _publish_tasks(db, topic, now, seconds)
            + await _deliver_results(db, seconds)
            + await publish_lost(db, seconds, MOST)
        )

    return await store.transact(work, lane=LANE)


async def _publish_tasks(db: Transaction, topic: str, now: float, seconds: float) -> int:
    tasks = [_task(row) for row in await mark_lost_tasks(db, now, seconds, MOST)]
    tasks.sort(key=lambda task: task.at)
    await outbox.put(db, [outgoing(topic, task_sent(task)) for task in tasks])
    return len(tasks)


async def _deliver_results(db: Transaction, seconds: float) -> int:
    """A result that cannot be read here, as a newer version wrote it, goes by its topic again."""
    arrived: list[tuple[int, str]] = []
    messages: list[Message] = []
    unread: list[int] = []
    for row in await read_lost(db, seconds, MOST):
        try:
            messages.append(message_of(read_answer(row["message"].encode())))
        except EnvelopeError:
            unread.append(row["id"])
        else:
            arrived.append((row["id"], row["message_id"]))
    await deliver(db, messages)
    await forget_arrived(db, arrived)
    if unread:
        await publish_again(db, unread)
    return len(arrived) + len(unread)


def _task(row: Row) -> NewTask:
    return NewTask(
        run_id=row["run_id"],
        command=cast("Call", decode_command(row["command"].encode())),
        at=row["created_at"],
        traceparent=row["traceparent"],
        correlation_id=row["correlation_id"],
    )
