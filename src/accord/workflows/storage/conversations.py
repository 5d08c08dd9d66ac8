"""Runs as tasks of A2A: the context of each, and the messages in it as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from accord.store.store import ReadTransaction, Transaction

MAX_MESSAGES: Final = 200
"""How many messages of one run are read: the latest."""

_BEGIN: Final = """
INSERT INTO a2a_tasks (run_id, user_id, context_id, created_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (run_id) DO NOTHING
"""
_SAY: Final = "INSERT INTO a2a_messages (run_id, place, message) VALUES ($1, $2, $3)"
_CONTEXT: Final = "SELECT context_id FROM a2a_tasks WHERE run_id = $1"
_MESSAGES: Final = f"""
SELECT place, message FROM a2a_messages WHERE run_id = $1
ORDER BY place DESC LIMIT {MAX_MESSAGES}
"""
_LATEST: Final = """
SELECT r.workflow FROM a2a_tasks t JOIN runs r ON r.id = t.run_id
WHERE t.user_id = $1 AND t.context_id = $2
ORDER BY t.created_at DESC, t.run_id DESC LIMIT 1
"""
_EARLIER: Final = "SELECT workflow FROM runs WHERE id = $1 AND user_id = $2"


IS_OWN: Final = "SELECT id FROM runs WHERE id = $1 AND user_id = $2"
LIST_TASKS: Final = """
SELECT r.id, r.created_at FROM runs r LEFT JOIN a2a_tasks t ON t.run_id = r.id
WHERE r.user_id = $1 AND r.origin = 'a2a' AND ($2 = '' OR COALESCE(t.context_id, r.id) = $2)
    AND (r.created_at, r.id) < ($3, $4)
ORDER BY r.created_at DESC, r.id DESC LIMIT $5
"""
COUNT_TASKS: Final = """
SELECT COUNT(*) AS total FROM runs r LEFT JOIN a2a_tasks t ON t.run_id = r.id
WHERE r.user_id = $1 AND r.origin = 'a2a' AND ($2 = '' OR COALESCE(t.context_id, r.id) = $2)
"""


class TaskConversation(Struct, frozen=True):
    """The context of a run, and what was said in it."""

    context_id: str
    messages: tuple[str, ...] = ()
    """JSON, the oldest first."""
    next_place: int = 0


async def read_conversation(db: ReadTransaction, run_id: str) -> TaskConversation:
    """Return the conversation of a run; one that has none is a context of its own."""
    rows = await db.fetch(_MESSAGES, run_id)
    known = await db.fetch(_CONTEXT, run_id)
    context_id = str(known[0]["context_id"]) if known else run_id
    if not rows:
        return TaskConversation(context_id)
    messages = tuple(str(row["message"]) for row in reversed(rows))
    return TaskConversation(context_id, messages, int(rows[0]["place"]) + 1)


async def begin_conversation(
    db: Transaction, run_id: str, user_id: str, context_id: str, at: float
) -> None:
    """Put a run into a context."""
    await db.execute(_BEGIN, run_id, user_id, context_id, at)


async def add_messages(db: Transaction, run_id: str, place: int, messages: Sequence[str]) -> None:
    """Add what was said, from `place` on."""
    for offset, message in enumerate(messages):
        await db.execute(_SAY, run_id, place + offset, message)


async def latest_workflow(db: ReadTransaction, user_id: str, context_id: str) -> str | None:
    """Return the workflow that ran last in a context of this user."""
    rows = await db.fetch(_LATEST, user_id, context_id)
    # Before contexts were stored, that of a run was its id.
    rows = rows or await db.fetch(_EARLIER, context_id, user_id)
    return str(rows[0]["workflow"]) if rows else None
