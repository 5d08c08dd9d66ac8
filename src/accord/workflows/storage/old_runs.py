"""Runs that ended long ago, with all that belongs to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import json

from accord.store.store import Reading, Transaction

AT_ONCE: Final = 20
"""Runs that are removed in one transaction."""

_COLUMNS: Final = (
    *("id", "workflow", "version", "status", "user_id", "username", "token_id", "scopes"),
    *("origin", "parent_run", "parent_task", "cause", "chain", "correlation_id", "traceparent"),
    *("created_at", "finished_at"),
)
# A child stays as long as its parent; and what somebody just wrote to is not old.
_FROM_OLD: Final = """
FROM runs r LEFT JOIN runs p ON p.id = r.parent_run
WHERE r.finished_at < $1 AND (p.id IS NULL OR p.finished_at < $1)
    AND NOT EXISTS (SELECT 1 FROM run_inbox i WHERE i.run_id = r.id)
"""
_OLD: Final = f"""
SELECT {", ".join(f"r.{name}" for name in _COLUMNS)} {_FROM_OLD}
ORDER BY r.finished_at, r.id LIMIT {AT_ONCE}
"""
_HISTORY: Final = "SELECT events FROM run_history WHERE run_id = $1 ORDER BY sequence"
_STILL_OLD: Final = f"SELECT 1 {_FROM_OLD} AND r.id = $2"
_REMOVE: Final = (
    *(
        f"DELETE FROM {table} WHERE run_id = $1"
        for table in (
            *("run_history", "approvals", "tasks", "dead_letters", "webhook_deliveries"),
            *("a2a_tasks", "a2a_messages"),
        )
    ),
    "DELETE FROM runs WHERE id = $1",
)


async def read_old(db: Reading, before: float) -> list[dict[str, Any]]:
    """Return runs that ended before a time, each with its whole history; the first to end first."""
    runs = []
    for row in await db.fetch(_OLD, before):
        history = [
            event
            for decision in await db.fetch(_HISTORY, row["id"])
            for event in json.decode(decision["events"])
        ]
        runs.append({**{name: row[name] for name in _COLUMNS}, "history": history})
    return runs


async def remove_old(db: Transaction, ids: Sequence[str], before: float) -> None:
    """Remove runs, unless they or their parents were retried meanwhile."""
    for id in ids:
        if await db.fetch(_STILL_OLD, before, id):
            for statement in _REMOVE:
                await db.execute(statement, id)
