"""Rows of tasks: taken, changed and released by workers, and listed as the calls of a run.

Every change carries the fence that the row had when it was taken: where somebody else took it
since, nothing is changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, Literal

from msgspec import Struct, json

from accord.store.store import NOW, Engine, Row, Store, Transaction
from accord.workflows.storage.lists import IN_TEXTS, as_parameter
from accord.workflows.storage.task_changes import BY_INDEX
from accord.workflows.storage.tasks import COLUMNS, Kind

_SKIP: Final[dict[Engine, str]] = {"sqlite": "", "postgresql": "FOR UPDATE SKIP LOCKED"}
"""What others are taking at the same time is left to them; on SQLite nobody else is."""
_TAKE: Final = {
    engine: f"""
UPDATE tasks SET state = 'running', owner = $1, fence = fence + 1
WHERE id IN (
    SELECT id FROM tasks
    WHERE state = 'ready' AND due <= $2 AND kind {among.format("$3")}
        AND (cancelled = 1 OR NOT target {among.format("$4")})
    ORDER BY created_at LIMIT $5 {_SKIP[engine]})
RETURNING {COLUMNS}
"""
    for engine, among in IN_TEXTS.items()
}
_TAKE_OVER: Final = {
    engine: f"""
UPDATE tasks SET owner = $1, fence = fence + 1
WHERE id IN (
    SELECT id FROM tasks
    WHERE state = 'running' AND owner <> $1 AND kind {among.format("$2")}
        AND owner NOT IN (SELECT id FROM members WHERE until > {NOW[engine]})
    LIMIT $3 {_SKIP[engine]})
RETURNING {COLUMNS}
"""
    for engine, among in IN_TEXTS.items()
}
_REGAIN: Final = f"""
UPDATE tasks SET fence = fence + 1 WHERE id = $1 AND fence = $2 AND owner = $3 AND state = 'running'
RETURNING {COLUMNS}
"""
# Rows are to be found by their ids, whatever the statistics say: the state is written so that no
# index has it, and PostgreSQL is given the ids once more, which it looks up one by one.
_CHANGES: Final = """
UPDATE tasks SET state = v.state, owner = v.owner, outcome = v.outcome, attempt = v.attempt,
    attempt_group = v.attempt_group, due = v.due, remote_task = v.remote_task,
    remote_context = v.remote_context, finished_at = v.finished_at,
    continuation = CASE v.continues WHEN 1 THEN tasks.continuation END
FROM {changes}
WHERE {found} AND tasks.id = v.id AND tasks.fence = v.fence AND tasks.state || '' = 'running'
RETURNING tasks.id
"""
_CHANGE: Final[dict[Engine, str]] = {
    "sqlite": _CHANGES.format(
        changes="""(
    SELECT value ->> 'id' AS id, value ->> 'fence' AS fence, value ->> 'state' AS state,
        value ->> 'owner' AS owner, value ->> 'outcome' AS outcome, value ->> 'attempt' AS attempt,
        value ->> 'attempt_group' AS attempt_group, value ->> 'due' AS due,
        value ->> 'remote_task' AS remote_task, value ->> 'remote_context' AS remote_context,
        value ->> 'finished_at' AS finished_at, value ->> 'continues' AS continues
    FROM json_each($1)) AS v""",
        found="true",
    ),
    "postgresql": _CHANGES.format(
        changes="""json_to_recordset($1::json) AS v (
    id text, fence integer, state text, owner text, outcome text, attempt integer,
    attempt_group integer, due double precision, remote_task text, remote_context text,
    finished_at double precision, continues integer)""",
        found="tasks.id = ANY($2::text[])",
    ),
}
# What came by a bus, and nobody has yet.
_RECORD: Final = f"""
UPDATE tasks SET state = 'running', owner = $1, fence = fence + 1, due = 0
WHERE id = ANY($2::text[]) AND state || '' = 'published'
RETURNING {COLUMNS}
"""
_HELD: Final = "SELECT id, fence, cancelled FROM tasks WHERE owner = $1 AND state = 'running'"
_CANCELLED: Final = f"{_HELD} AND cancelled = 1"


# What was cancelled before it came about is a row without a command.
_CALLS: Final = f"""
SELECT {COLUMNS}, state, due, outcome, created_at, finished_at FROM tasks
WHERE run_id = $1 AND command <> ''
"""
LIST_CALLS: Final = f"{_CALLS} AND (created_at, id) > ($2, $3) ORDER BY created_at, id LIMIT $4"
LIST_OPEN_CALLS: Final = (
    f"{_CALLS} AND state <> 'done' AND (created_at, id) > ($2, $3) ORDER BY created_at, id LIMIT $4"
)
CALLS_OF_STEP: Final = (
    f"{_CALLS} AND (task = $2 OR task LIKE $3 ESCAPE '!') ORDER BY created_at LIMIT 100"
)
COUNT_CALLS: Final = "SELECT COUNT(*) AS total FROM tasks WHERE run_id = $1 AND command <> ''"
COUNT_OPEN_CALLS: Final = f"{COUNT_CALLS} AND state <> 'done'"


class Change(Struct, frozen=True, kw_only=True):
    """How the row of a task is from now on, if it still has this fence and is still running."""

    id: str
    fence: int
    state: Literal["running", "asking", "ready", "done"]
    owner: str | None = None
    outcome: Literal["success", "error", "cancelled"] | None = None
    attempt: int
    attempt_group: int
    due: float = 0.0
    remote_task: str = ""
    remote_context: str = ""
    finished_at: float | None = None
    continues: int = 0
    """Whether the input that it got is still to be sent."""


class TaskRows:
    """The tasks of some kinds, as one member sees them."""

    def __init__(self, store: Store, kinds: Iterable[Kind]) -> None:
        self._store = store
        self._kinds = as_parameter(kinds)

    async def take(
        self, owner: str, *, now: float, most: int, besides: Collection[str]
    ) -> list[Row]:
        """Tasks that are ready, the oldest first; of the targets `besides` only those that nobody
        waits for any more. Raises StoreError."""
        sql = _TAKE[self._store.engine]
        return await self._store.write(sql, owner, now, self._kinds, as_parameter(besides), most)

    async def record(self, db: Transaction, owner: str, ids: Collection[str]) -> list[Row]:
        """Those of these tasks that were on their way, and are the owner's now. PostgreSQL only."""
        return await db.fetch(_RECORD, owner, sorted(ids))

    async def take_over(self, owner: str, *, most: int) -> list[Row]:
        """Tasks of those whose lease is over. Raises StoreError."""
        return await self._store.write(_TAKE_OVER[self._store.engine], owner, self._kinds, most)

    async def regain(self, owner: str, id: str, fence: int) -> list[Row]:
        """A task that `owner` took without hearing of it, if it still has this fence. Raises
        StoreError."""
        return await self._store.write(_REGAIN, id, fence, owner)

    async def held(self, owner: str) -> list[Row]:
        """The id, the fence and whether it is cancelled of every task that `owner` has."""
        return await self._store.fetch(_HELD, owner)

    async def cancelled(self, owner: str) -> list[Row]:
        """The same, of those that nobody waits for any more."""
        return await self._store.fetch(_CANCELLED, owner)

    async def change(self, db: Transaction, changes: Sequence[Change]) -> set[str]:
        """Change rows; the ids of those that could be changed."""
        parameters: list[Any] = [json.encode(changes).decode()]
        if db.engine == "postgresql":
            await db.fetch(BY_INDEX)
            parameters.append([each.id for each in changes])
        rows = await db.fetch(_CHANGE[db.engine], *parameters)
        return {row["id"] for row in rows}
