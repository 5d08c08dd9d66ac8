"""What is done about tasks that nobody waits for any more, and about those whose success is
recorded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec import json

from accord.store.store import Engine, Transaction
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


def _parts(task_id: str) -> tuple[str, str]:
    run_id, _, task = task_id.partition("/")
    return run_id, task
