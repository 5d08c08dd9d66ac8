"""Changes of tasks by executors and buses: success, cancellation, input for an agent, and messages
that arrived or were lost on the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import json

from accord.store.store import Engine, Row, Transaction
from accord.workflows.core.events import TaskSucceeded
from accord.workflows.storage.inbox import Message
from accord.workflows.storage.tasks import WAKE, task_id

BY_INDEX: Final = """
SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)
"""
"""A plan that is made while a table is small would read all of it, and is kept when it has grown.
For one transaction, of PostgreSQL."""

# Where there is no such task yet this leaves a tombstone, so that it is never begun. One that asks
# for input is ready again: whoever takes it next tells the agent.
_CANCEL: Final = """
INSERT INTO tasks (id, run_id, task, kind, target, command, state, cancelled, outcome, created_at)
VALUES ($1, $2, $3, 'agent', '', '', 'done', 1, 'cancelled', 0)
ON CONFLICT (id) DO UPDATE SET cancelled = 1, due = 0,
    state = CASE tasks.state WHEN 'asking' THEN 'ready' ELSE tasks.state END
WHERE tasks.state <> 'done'
"""

# Rows are to be found by their ids, whatever the statistics say: the state is written so that no
# index has it.
_FINISH: Final = """
UPDATE tasks SET state = 'done', owner = NULL, attempt = done.attempt, finished_at = done.at,
    outcome = CASE cancelled WHEN 1 THEN 'cancelled' ELSE 'success' END
FROM {done}
WHERE {found} AND tasks.id = done.id AND tasks.state || '' <> 'done'
"""
_FINISH_MANY: Final[dict[Engine, str]] = {
    "sqlite": _FINISH.format(
        done="""(
    SELECT value ->> 0 AS id, value ->> 1 AS at, value ->> 2 AS attempt FROM json_each($1)
) AS done""",
        found="true",
    ),
    "postgresql": _FINISH.format(
        done="unnest($1::text[], $2::double precision[], $3::integer[]) AS done (id, at, attempt)",
        found="tasks.id = ANY($1::text[])",
    ),
}


_CONTINUE: Final = """
UPDATE tasks SET state = 'ready', continuation = $2, continued = continued + 1, owner = NULL,
    due = 0
WHERE id = $1 AND state = 'asking'
"""

# In order, so that two consumers with the same messages wait for each other instead of being stuck.
_MAKE_READY: Final = """
WITH arrived AS (
    SELECT id FROM tasks WHERE id = ANY($1::text[]) AND state = 'published' ORDER BY id FOR UPDATE
)
UPDATE tasks SET state = 'ready', due = 0 FROM arrived WHERE tasks.id = arrived.id
"""
_UNKNOWN: Final = """
SELECT id FROM unnest($1::text[]) AS asked (id)
WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = asked.id)
"""
_END_UNBEGUN: Final = """
WITH arrived AS (
    SELECT id FROM tasks WHERE id = ANY($1::text[]) AND state = 'published' ORDER BY id FOR UPDATE
)
UPDATE tasks SET state = 'done', outcome = 'cancelled', finished_at = $2
FROM arrived WHERE tasks.id = arrived.id
"""

# `due` has no other meaning before a task is ready: it is when the task was published again.
_LOST: Final = """
SELECT id FROM tasks
WHERE state = 'published' AND {since} < $1 - $2::double precision AND {when}
    AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.message_id = tasks.id)
ORDER BY created_at LIMIT $3 FOR UPDATE SKIP LOCKED
"""
_MARK_LOST: Final = f"""
UPDATE tasks SET due = $1
WHERE id IN ({_LOST.format(since="created_at", when="due = 0")})
RETURNING id, run_id, command, traceparent, correlation_id, created_at
"""
_RELEASE_LOST: Final = f"""
UPDATE tasks SET state = 'ready', due = 0
WHERE id IN ({_LOST.format(since="due", when="due > 0")})
"""


async def finish_tasks(db: Transaction, messages: Iterable[Message]) -> None:
    """Those tasks whose success is among these messages are done, if they are not already."""
    done = {
        task_id(each.run_id, each.arrival.task): (each.arrival.at, each.arrival.attempts)
        for each in messages
        if isinstance(each.arrival, TaskSucceeded)
    }
    rows = [(id, *done[id]) for id in sorted(done)]
    if not rows:
        return
    if db.engine == "sqlite":
        parameters: list[Any] = [json.encode(rows).decode()]
    else:
        parameters = [*zip(*rows, strict=True)]
    await db.execute(_FINISH_MANY[db.engine], *parameters)


async def cancel_tasks(db: Transaction, task_ids: Iterable[str]) -> None:
    """Nobody waits for these any more, whether they are there already or not."""
    rows = [(each, *_parts(each)) for each in sorted(task_ids)]
    if rows:
        await db.execute_many(_CANCEL, rows)
        await db.notify(WAKE)


async def continue_tasks(db: Transaction, rows: Sequence[tuple[Any, ...]]) -> None:
    """Give input to tasks that ask for it; a row has the id of a task and its input as JSON."""
    if rows:
        await db.execute_many(_CONTINUE, rows)


async def make_ready(db: Transaction, task_ids: Sequence[str]) -> int:
    """Let anybody take these tasks, whose messages have arrived; return how many were waiting for
    them."""
    made = await db.execute(_MAKE_READY, task_ids)
    if made:
        await db.notify(WAKE)
    return made


async def unknown_tasks(db: Transaction, task_ids: Sequence[str]) -> set[str]:
    """Return the ids among these that no task has."""
    return {row["id"] for row in await db.fetch(_UNKNOWN, task_ids)}


async def end_unbegun(db: Transaction, task_ids: Sequence[str], now: float) -> None:
    """End cancelled tasks whose messages have not arrived yet."""
    await db.execute(_END_UNBEGUN, task_ids, now)


async def mark_lost_tasks(db: Transaction, now: float, seconds: float, limit: int) -> list[Row]:
    """Return tasks whose messages did not arrive within `seconds`, to be published once more."""
    return await db.fetch(_MARK_LOST, now, seconds, limit)


async def release_lost_tasks(db: Transaction, now: float, seconds: float, limit: int) -> int:
    """Let anybody take tasks that were published twice in vain; return how many."""
    made = await db.execute(_RELEASE_LOST, now, seconds, limit)
    if made:
        await db.notify(WAKE)
    return made


def _parts(task_id: str) -> tuple[str, str]:
    run_id, _, task = task_id.partition("/")
    return run_id, task
