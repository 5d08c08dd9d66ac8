"""What is done about tasks that nobody waits for any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

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


async def cancel_tasks(db: Transaction, task_ids: Iterable[str]) -> None:
    """Nobody waits for these any more, whether they are there already or not."""
    rows = [(each, *_parts(each)) for each in sorted(task_ids)]
    if rows:
        await db.execute_many(_CANCEL, rows)
        await db.notify(WAKE)


def _parts(task_id: str) -> tuple[str, str]:
    run_id, _, task = task_id.partition("/")
    return run_id, task
