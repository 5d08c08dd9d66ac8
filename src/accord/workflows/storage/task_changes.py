"""What a run says about tasks that were given out: to stop, or to go on with some input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec import json

from accord.store.store import Transaction
from accord.workflows.storage.tasks import WAKE

# Where there is no such task yet this leaves a tombstone, so that it is never begun. One that asks
# for input is ready again: whoever takes it next tells the agent.
_CANCEL: Final = """
INSERT INTO tasks (id, run_id, task, kind, target, command, state, cancelled, outcome, created_at)
VALUES ($1, $2, $3, 'agent', '', '', 'done', 1, 'cancelled', 0)
ON CONFLICT (id) DO UPDATE SET cancelled = 1, due = 0,
    state = CASE tasks.state WHEN 'asking' THEN 'ready' ELSE tasks.state END
WHERE tasks.state <> 'done'
"""
_CONTINUE: Final = """
UPDATE tasks SET state = 'ready', due = 0, continuation = $2, continued = continued + 1
WHERE id = $1 AND state = 'asking'
"""


async def cancel_tasks(db: Transaction, task_ids: Iterable[str]) -> None:
    """Nobody waits for these any more, whether they are there already or not."""
    rows = [(each, *_parts(each)) for each in sorted(task_ids)]
    if rows:
        await db.execute_many(_CANCEL, rows)
        await db.notify(WAKE)


async def continue_tasks(db: Transaction, inputs: Iterable[tuple[str, Any]]) -> None:
    """Give tasks that ask the input that they need: pairs of an id and a payload."""
    rows = [(id, json.encode(payload).decode()) for id, payload in sorted(inputs, key=_first)]
    if rows:
        await db.execute_many(_CONTINUE, rows)
        await db.notify(WAKE)


def _parts(task_id: str) -> tuple[str, str]:
    run_id, _, task = task_id.partition("/")
    return run_id, task


def _first(pair: tuple[str, Any]) -> str:
    return pair[0]
