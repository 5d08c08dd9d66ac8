"""The rows of tasks: calls of agents, tools, methods, operations, plugins.

Executors and buses insert, finish, cancel and continue tasks; workers take, change and release
them; the API lists them as the calls of a run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, json

from accord.store.store import DATABASE_CLOCK, Engine, ReadTransaction, Row, Store, Transaction
from accord.workflows.core.events import (
    CallAgent,
    CallMethod,
    CallOperation,
    CallPlugin,
    CallTool,
    Command,
    TaskSucceeded,
    encode_command,
)
from accord.workflows.storage.bulk import IN_TEXTS, Insertion, as_parameter
from accord.workflows.storage.messages import RunMessage

Kind: TypeAlias = Literal["agent", "operation", "tool", "method", "plugin"]
Call: TypeAlias = CallAgent | CallOperation | CallTool | CallMethod | CallPlugin
InitialState: TypeAlias = Literal["published", "ready"]

FIRST_FENCE: Final = 1
"""The fence of a task that is inserted with an owner."""
FIRST_GROUP: Final = 1
"""The attempt group of a call that is made for the first time."""

WAKE: Final = "tasks_ready"
"""The notification channel that announces ready and cancelled tasks."""

COLUMNS: Final = """
id, run_id, task, kind, target, command, cancelled, fence, attempt, attempt_group, remote_task,
remote_context, continuation, continued, traceparent, correlation_id
"""

_GROUP: Final = {
    engine: f"SELECT max(attempt_group) AS attempt_group FROM tasks WHERE id {many.format('$1')}"
    for engine, many in IN_TEXTS.items()
}
_INSERTION: Final = Insertion(
    "tasks",
    {
        "id": "text",
        "run_id": "text",
        "task": "text",
        "kind": "text",
        "target": "text",
        "command": "text",
        "state": "text",
        "owner": "text",
        "fence": "integer",
        "attempt_group": "integer",
        "traceparent": "text",
        "correlation_id": "text",
        "created_at": "double precision",
    },
    "ON CONFLICT (id) DO NOTHING",
)


class NewTask(Struct, frozen=True, kw_only=True):
    """A task to insert."""

    run_id: str
    command: Call
    at: float
    attempt_group: int = FIRST_GROUP
    traceparent: str = ""
    correlation_id: str = ""

    @property
    def id(self) -> str:
        return task_id(self.run_id, self.command.task)


def task_id(run_id: str, task: str) -> str:
    """Return the id of a task, made of the run's id and the task's name; agents see it, too."""
    return f"{run_id}/{task}"


async def insert_tasks(db: Transaction, tasks: Iterable[NewTask], state: InitialState) -> None:
    """Insert tasks without an owner, skipping ids that exist.

    A task that was cancelled before it was inserted has a row already. So it is skipped here, and
    never begins.
    """
    await _INSERTION.run(db, [_row(each, state, None, 0) for each in tasks])


async def insert_owned(db: Transaction, tasks: Iterable[NewTask], owner: str) -> None:
    """Insert tasks that are running, with this owner."""
    await _INSERTION.run(db, [_row(each, "running", owner, FIRST_FENCE) for each in tasks])


def _row(
    task: NewTask, state: InitialState | Literal["running"], owner: str | None, fence: int
) -> tuple[object, ...]:
    command = task.command
    kind, target = kind_and_target(command)
    return (
        task.id, task.run_id, command.task, kind, target, encode_command(command).decode(), state,
        owner, fence, task.attempt_group, task.traceparent, task.correlation_id, task.at,
    )  # fmt: skip


async def attempt_groups(
    db: ReadTransaction, engine: Engine, run_id: str, commands: Iterable[Command]
) -> dict[str, int]:
    """Return the attempt group of each repeated call, by the name of the new task."""
    groups: dict[str, int] = {}
    for command in commands:
        if isinstance(command, Call) and command.resumes:
            ids = [task_id(run_id, name) for name in _rounds(command)]
            [row] = await db.fetch(_GROUP[engine], as_parameter(ids))
            groups[command.task] = row["attempt_group"] or FIRST_GROUP
    return groups


def _rounds(command: Call) -> Iterator[str]:
    """Yield the names of the step's earlier tasks that may have made the repeated call."""
    first, last = (int(name.partition("@")[2] or 1) for name in (command.resumes, command.task))
    for number in range(first, last):
        yield command.step if number == 1 else f"{command.step}@{number}"


def kind_and_target(command: Call) -> tuple[Kind, str]:
    """Return the kind and the target of a call, as stored in its row."""
    match command:
        case CallAgent():
            return "agent", command.agent
        case CallOperation():
            return "operation", command.operation
        case CallTool():
            return "tool", command.target.server
        case CallMethod():
            return "method", command.target.url
        case CallPlugin():
            return "plugin", command.plugin


BY_INDEX: Final = """
SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)
"""
"""An SQL statement that turns off sequential scans until the end of a transaction.

PostgreSQL caches plans. A plan made while a table is small would scan the table, and would still do
so when the table has grown.
"""

# If there is no such task yet, this leaves a tombstone, so that it never begins. A task that asks
# for input becomes ready again: the worker that takes it cancels it at the agent.
_CANCEL: Final = """
INSERT INTO tasks (id, run_id, task, kind, target, command, state, cancelled, outcome, created_at)
VALUES ($1, $2, $3, 'agent', '', '', 'done', 1, 'cancelled', 0)
ON CONFLICT (id) DO UPDATE SET cancelled = 1, due = 0,
    state = CASE tasks.state WHEN 'asking' THEN 'ready' ELSE tasks.state END
WHERE tasks.state <> 'done'
"""

# Find rows by their ids, whatever the statistics say: `state || ''` keeps the index on the state
# out of the plan.
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

# Lock in the order of ids, so that two consumers with the same messages cannot deadlock.
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

# Before a task is ready, `due` is the time at which it was published again.
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


async def finish_tasks(db: Transaction, messages: Iterable[RunMessage]) -> None:
    """Mark the tasks whose successes are among these messages as done."""
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
    """Mark tasks as cancelled, even if their rows do not exist yet, and wake the workers."""
    rows = [(each, *_parts(each)) for each in sorted(task_ids)]
    if rows:
        await db.execute_many(_CANCEL, rows)
        await db.notify(WAKE)


async def continue_tasks(db: Transaction, rows: Sequence[tuple[Any, ...]]) -> None:
    """Store the input for tasks that asked for it; a row has a task's id and the input as JSON."""
    if rows:
        await db.execute_many(_CONTINUE, rows)


async def make_ready(db: Transaction, task_ids: Sequence[str]) -> int:
    """Mark published tasks as ready because their messages arrived; return their number."""
    made = await db.execute(_MAKE_READY, task_ids)
    if made:
        await db.notify(WAKE)
    return made


async def unknown_tasks(db: Transaction, task_ids: Sequence[str]) -> set[str]:
    """Return the ids for which no task exists."""
    return {row["id"] for row in await db.fetch(_UNKNOWN, task_ids)}


async def end_unbegun(db: Transaction, task_ids: Sequence[str], now: float) -> None:
    """Mark these cancelled tasks as done if they are still published, so never began."""
    await db.execute(_END_UNBEGUN, task_ids, now)


async def mark_lost_tasks(db: Transaction, now: float, seconds: float, limit: int) -> list[Row]:
    """Mark tasks whose messages did not arrive within `seconds`, and return the tasks.

    The caller publishes their messages once more.
    """
    return await db.fetch(_MARK_LOST, now, seconds, limit)


async def release_lost_tasks(db: Transaction, now: float, seconds: float, limit: int) -> int:
    """Make tasks ready whose second message did not arrive either; return their number."""
    made = await db.execute(_RELEASE_LOST, now, seconds, limit)
    if made:
        await db.notify(WAKE)
    return made


def _parts(task_id: str) -> tuple[str, str]:
    run_id, _, task = task_id.partition("/")
    return run_id, task


_SKIP: Final[dict[Engine, str]] = {"sqlite": "", "postgresql": "FOR UPDATE SKIP LOCKED"}
"""A clause to skip rows that other workers are taking; not needed with SQLite's one writer."""
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
        AND owner NOT IN (SELECT id FROM members WHERE until > {DATABASE_CLOCK[engine]})
    LIMIT $3 {_SKIP[engine]})
RETURNING {COLUMNS}
"""
    for engine, among in IN_TEXTS.items()
}
_REGAIN: Final = f"""
UPDATE tasks SET fence = fence + 1 WHERE id = $1 AND fence = $2 AND owner = $3 AND state = 'running'
RETURNING {COLUMNS}
"""
# Find rows by their ids, whatever the statistics say: `state || ''` keeps the index on the state
# out of the plan, and PostgreSQL gets the ids a second time, to look them up one by one.
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
# Tasks whose messages came by a bus, and that have no owner yet.
_RECORD: Final = f"""
UPDATE tasks SET state = 'running', owner = $1, fence = fence + 1, due = 0
WHERE id = ANY($2::text[]) AND state || '' = 'published'
RETURNING {COLUMNS}
"""
_OWNED: Final = "SELECT id, fence, cancelled FROM tasks WHERE owner = $1 AND state = 'running'"
_CANCELLED: Final = f"{_OWNED} AND cancelled = 1"


# A task that was cancelled before it was inserted is a row without a command.
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


class TaskChange(Struct, frozen=True, kw_only=True):
    """New values for a task's row, applied only if the task is running with fence `fence`."""

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
    """1 if the stored answer to the agent's question must be kept because it is not sent yet; 0 to
    delete it."""


class TaskRows:
    """The rows of tasks of some kinds, for use by workers."""

    def __init__(self, store: Store, kinds: Iterable[Kind]) -> None:
        self._store = store
        self._kinds = as_parameter(kinds)

    async def take(
        self, owner: str, *, now: float, most: int, besides: Collection[str]
    ) -> list[Row]:
        """Take ready tasks, the oldest first.

        Targets in `besides` can take no more calls, so only their cancelled tasks are taken. Raise
        StoreError if the query fails.
        """
        sql = _TAKE[self._store.engine]
        return await self._store.write(sql, owner, now, self._kinds, as_parameter(besides), most)

    async def record(self, db: Transaction, owner: str, ids: Collection[str]) -> list[Row]:
        """Make `owner` the owner of published tasks, and return their rows. Needs PostgreSQL."""
        return await db.fetch(_RECORD, owner, sorted(ids))

    async def take_over(self, owner: str, *, most: int) -> list[Row]:
        """Take over running tasks of members whose lease has expired.

        Raise StoreError if the query fails.
        """
        return await self._store.write(_TAKE_OVER[self._store.engine], owner, self._kinds, most)

    async def regain(self, owner: str, id: str, fence: int) -> list[Row]:
        """Take again a task that `owner` took with this fence, and return its row.

        `owner` has not received the row, because the response of the database was lost. Raise
        StoreError if the query fails.
        """
        return await self._store.write(_REGAIN, id, fence, owner)

    async def owned(self, owner: str) -> list[Row]:
        """Return the id, fence and cancellation flag of each running task of `owner`."""
        return await self._store.fetch(_OWNED, owner)

    async def cancelled(self, owner: str) -> list[Row]:
        """Return the id, fence and cancellation flag of each cancelled task of `owner`."""
        return await self._store.fetch(_CANCELLED, owner)

    async def change(self, db: Transaction, changes: Sequence[TaskChange]) -> set[str]:
        """Apply changes; return the ids of tasks that still had the fence of their change."""
        parameters: list[Any] = [json.encode(changes).decode()]
        if db.engine == "postgresql":
            await db.fetch(BY_INDEX)
            parameters.append([each.id for each in changes])
        rows = await db.fetch(_CHANGE[db.engine], *parameters)
        return {row["id"] for row in rows}
