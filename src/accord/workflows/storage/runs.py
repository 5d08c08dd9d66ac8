"""The rows of runs, of approvals, and of conversations with A2A clients.

All runs are created here, no matter who starts them. Here are also the removal of old runs, and the
queries that count unfinished work for metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, get_args

from msgspec import Struct, json

from accord.operations.context import Caller, random_hex
from accord.store.store import DATABASE_CLOCK, ReadTransaction, Row, Transaction
from accord.workflows.core.events import RunStarted, encode_event
from accord.workflows.core.state import RunStatus
from accord.workflows.storage.leases import shard_of
from accord.workflows.storage.messages import INBOX_WAKE, RunMessage, deliver

Origin: TypeAlias = Literal[
    "rest", "rpc", "mcp", "cli", "web", "a2a", "schedule", "webhook", "event", "bus", "workflow"
]

_INSERT: Final = """
INSERT INTO runs (id, workflow, version, shard, user_id, username, token_id, scopes, origin,
    parent_run, parent_task, correlation_id, traceparent, created_at, cause, chain)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
ON CONFLICT (id) DO NOTHING
"""
_CREATE: Final = f"""
WITH made AS ({_INSERT} RETURNING id, shard)
INSERT INTO run_inbox (message_id, run_id, shard, arrival) SELECT $17, id, shard, $18 FROM made
"""
"""The statement with which PostgreSQL inserts a run and its first message at once."""
_CHAIN: Final = """
WITH RECURSIVE up (id, parent_run, chain) AS (
    SELECT id, parent_run, chain FROM runs WHERE id = $1
    UNION ALL
    SELECT runs.id, runs.parent_run, runs.chain FROM runs JOIN up ON runs.id = up.parent_run
)
SELECT max(chain) AS chain FROM up
"""


_EXISTS: Final = "SELECT 1 AS found FROM runs WHERE id = $1"
_DECIDED: Final = """
UPDATE runs SET status = $2, next_timer = $3, finished_at = $4, problem = NULL WHERE id = $1
"""
_SNAPSHOT: Final = """
UPDATE runs SET status = $2, next_timer = $3, finished_at = $4, problem = NULL, snapshot = $5,
    snapshot_at = $6
WHERE id = $1
"""
_OPEN_APPROVAL: Final = """
INSERT INTO approvals (run_id, task, step, approvers, deadline, created_at, shown)
VALUES ($1, $2, $3, $4, $5, $6, $7)
"""
_CLOSE_APPROVAL: Final = "UPDATE approvals SET state = 'closed' WHERE run_id = $1 AND task = $2"
_HOLD: Final = "UPDATE runs SET problem = $2 WHERE id = $1"
_POSTPONE_TIMER: Final = "UPDATE runs SET problem = $2, next_timer = $3 WHERE id = $1"
_LISTED: Final = """
SELECT id, workflow, version, status, username, origin, parent_run, correlation_id, created_at,
    finished_at
FROM runs
"""
CHILDREN: Final = """
SELECT id, workflow, version, status, parent_task FROM runs WHERE parent_run = $1
ORDER BY created_at, id LIMIT 1000
"""
STARTER: Final = """
SELECT workflow, version, user_id, username, token_id, scopes, correlation_id, traceparent
FROM runs WHERE id = $1
"""
OPEN_APPROVALS: Final = """
SELECT a.run_id, a.task, a.step, a.approvers, a.deadline, a.created_at, r.workflow, r.version,
    r.username, a.shown
FROM approvals a JOIN runs r ON r.id = a.run_id
WHERE a.state = 'open' AND (a.created_at, a.run_id, a.task) > ($1, $2, $3)
ORDER BY a.created_at, a.run_id, a.task LIMIT $4
"""


class Starter(Struct, frozen=True, kw_only=True):
    """The user who started a run; the steps of the run call operations as this user."""

    user_id: str = ""
    username: str = ""
    token_id: str = ""
    scopes: str | None = None
    """The scopes of the token used, separated by spaces; None if no token was used."""


class NewRun(Struct, frozen=True, kw_only=True):
    """A run to create; its version is fixed and its input is valid."""

    id: str
    workflow: str
    version: int
    input: Any
    starter: Starter
    origin: Origin
    at: float
    parent_run: str | None = None
    parent_task: str | None = None
    depth: int = 0
    cause: str = ""
    """The id of the run whose change triggered this one; empty if there was none."""
    chain: int = 0
    """The number of preceding runs in the chain, each of which triggered the next."""
    correlation_id: str = ""
    traceparent: str = ""


async def create_run(db: Transaction, run: NewRun) -> bool:
    """Create a run with its first message; return False if the id exists already."""
    first = _first_message(run)
    if db.engine == "postgresql":
        arrival = encode_event(first.arrival).decode()
        made = await db.execute(_CREATE, *_row(run), first.id, arrival)
        if made:
            await db.notify(INBOX_WAKE)
        return bool(made)
    made = await db.execute(_INSERT, *_row(run))
    if made:
        await deliver(db, [first])
    return bool(made)


async def create_runs(db: Transaction, runs: Sequence[NewRun]) -> None:
    """Create runs with their first messages; existing ids are skipped."""
    if runs:
        await db.execute_many(_INSERT, [_row(each) for each in runs])
        await deliver(db, [_first_message(each) for each in runs])


def _row(run: NewRun) -> tuple[object, ...]:
    starter = run.starter
    return (
        run.id, run.workflow, run.version, shard_of(run.id),
        starter.user_id, starter.username, starter.token_id, starter.scopes, run.origin,
        run.parent_run, run.parent_task, run.correlation_id, run.traceparent, run.at,
        run.cause, run.chain,
    )  # fmt: skip


def _first_message(run: NewRun) -> RunMessage:
    started = RunStarted(at=run.at, input=run.input, depth=run.depth)
    return RunMessage(f"{run.id}/started", run.id, started)


async def chain_after(db: ReadTransaction, run_id: str) -> int:
    """Return the chain length of a new run that is triggered by run `run_id`.

    It is 0 if `run_id` is empty, because no run triggers the new one.
    """
    if not run_id:
        return 0
    [row] = await db.fetch(_CHAIN, run_id)
    return int(row["chain"] or 0) + 1


async def run_exists(db: ReadTransaction, run_id: str) -> bool:
    """Return True if a run with this id exists."""
    return bool(await db.fetch(_EXISTS, run_id))


async def count_rows(db: ReadTransaction, values: Mapping[str, Any]) -> int:
    """Return the number of runs that have these values, given by column."""
    where = _where(values) or "1 = 1"
    [count] = await db.fetch(f"SELECT COUNT(*) AS total FROM runs WHERE {where}", *values.values())
    total: int = count["total"]
    return total


async def list_rows(
    db: ReadTransaction, values: Mapping[str, Any], before: tuple[float, str], limit: int
) -> list[Row]:
    """Return the newest runs that match and precede the key `before`.

    `values` are the required values by column, `before` the creation time and id of a run.
    """
    where, place = _where(values), len(values)
    return await db.fetch(
        f"{_LISTED} WHERE {where and where + ' AND '}"
        f"(created_at, id) < (${place + 1}, ${place + 2})"
        f" ORDER BY created_at DESC, id DESC LIMIT {limit}",
        *values.values(),
        *before,
    )


def _where(values: Mapping[str, Any]) -> str:
    return " AND ".join(f"{column} = ${place}" for place, column in enumerate(values, 1))


async def update_runs(db: Transaction, rows: Sequence[tuple[Any, ...]]) -> None:
    """Update the rows of runs after decisions: id, status, next timer, time of the end."""
    if rows:
        await db.execute_many(_DECIDED, rows)


async def store_snapshots(db: Transaction, rows: Sequence[tuple[Any, ...]]) -> None:
    """Update the rows of runs after decisions, with a snapshot and its last event's number."""
    if rows:
        await db.execute_many(_SNAPSHOT, rows)


async def hold_run(db: Transaction, run_id: str, problem: str) -> None:
    """Store the problem that prevents decisions on a run."""
    await db.execute(_HOLD, run_id, problem)


async def postpone_timer(db: Transaction, run_id: str, problem: str, until: float) -> None:
    """Postpone a run's timer that could not be decided on, and store the problem."""
    await db.execute(_POSTPONE_TIMER, run_id, problem, until)


async def open_approvals(db: Transaction, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert open approvals.

    Each of `rows` has run, task, step, approvers, deadline, time, and prompt (message and data).
    """
    if rows:
        await db.execute_many(_OPEN_APPROVAL, rows)


async def close_approvals(db: Transaction, rows: Sequence[tuple[Any, ...]]) -> None:
    """Mark approvals as closed; each of `rows` has the run and the task of an approval."""
    if rows:
        await db.execute_many(_CLOSE_APPROVAL, rows)


MAX_OLD_RUNS: Final = 20
"""The maximum number of runs removed in one transaction."""

_OLD_COLUMNS: Final = (
    *("id", "workflow", "version", "status", "user_id", "username", "token_id", "scopes"),
    *("origin", "parent_run", "parent_task", "cause", "chain", "correlation_id", "traceparent"),
    *("created_at", "finished_at"),
)
# A child stays as long as its parent, and a run stays while its inbox has messages.
_FROM_OLD: Final = """
FROM runs r LEFT JOIN runs p ON p.id = r.parent_run
WHERE r.finished_at < $1 AND (p.id IS NULL OR p.finished_at < $1)
    AND NOT EXISTS (SELECT 1 FROM run_inbox i WHERE i.run_id = r.id)
"""
_OLD: Final = f"""
SELECT {", ".join(f"r.{name}" for name in _OLD_COLUMNS)} {_FROM_OLD}
ORDER BY r.finished_at, r.id LIMIT {MAX_OLD_RUNS}
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


async def read_old(db: ReadTransaction, before: float) -> list[dict[str, Any]]:
    """Return runs that ended before a time, with their whole histories, the oldest end first."""
    runs = []
    for row in await db.fetch(_OLD, before):
        history = [
            event
            for decision in await db.fetch(_HISTORY, row["id"])
            for event in json.decode(decision["events"])
        ]
        runs.append({**{name: row[name] for name in _OLD_COLUMNS}, "history": history})
    return runs


async def remove_old(db: Transaction, ids: Sequence[str], before: float) -> None:
    """Remove runs with all their rows, unless they were retried in the meantime.

    A run also stays if its parent was retried.
    """
    for id in ids:
        if await db.fetch(_STILL_OLD, before, id):
            for statement in _REMOVE:
                await db.execute(statement, id)


MAX_COUNTED_LETTERS: Final = 10_000
"""The number of dead letters at which counting for the metrics stops."""

LIVE_STATUSES: Final = tuple(
    status for status in get_args(RunStatus) if status not in ("completed", "failed", "cancelled")
)
OPEN_TASK_STATES: Final = ("published", "ready", "running")

# One search of an index for each state: grouping would read all runs of the table.
COUNT_LIVE_RUNS: Final = " UNION ALL ".join(
    f"SELECT '{status}' AS label, COUNT(*) AS value FROM runs WHERE status = '{status}'"
    for status in LIVE_STATUSES
)
COUNT_OPEN_TASKS: Final = " UNION ALL ".join(
    f"SELECT '{state}' AS label, COUNT(*) AS value FROM tasks WHERE state = '{state}'"
    for state in OPEN_TASK_STATES
)
OLDEST_TASK: Final = "SELECT MIN(created_at) AS at FROM tasks WHERE state = 'ready' AND due <= $1"
COUNT_INBOX: Final = "SELECT COUNT(*) AS value FROM run_inbox"
OLDEST_MESSAGE: Final = "SELECT arrival FROM run_inbox ORDER BY id LIMIT 1"
OLDEST_TIMER: Final = "SELECT MIN(next_timer) AS at FROM runs WHERE next_timer <= $1"
COUNT_OPEN_APPROVALS: Final = "SELECT COUNT(*) AS value FROM approvals WHERE state = 'open'"
COUNT_DEAD_LETTERS: Final = f"""
SELECT kind AS label, COUNT(*) AS value FROM (
    SELECT kind FROM dead_letters WHERE replayed_at IS NULL LIMIT {MAX_COUNTED_LETTERS}
) AS kept GROUP BY kind
"""
COUNT_MEMBERS: Final = {
    engine: f"""
SELECT kind AS label, COUNT(*) AS value FROM members WHERE until > {now} GROUP BY kind
"""
    for engine, now in DATABASE_CLOCK.items()
}
COUNT_RUNS_SINCE: Final = " UNION ALL ".join(
    f"SELECT '{status}' AS status, COUNT(*) AS total FROM runs "
    f"WHERE status = '{status}' AND created_at >= $1"
    for status in get_args(RunStatus)
)


_HEX_DIGITS: Final = frozenset("0123456789abcdef")


def starter_of(caller: Caller) -> Starter:
    """Return the caller as the starter of a run, with the scopes of the caller's token."""
    scopes = " ".join(sorted(caller.scopes)) if caller.via == "token" else None
    return Starter(
        user_id=caller.user_id,
        username=caller.username,
        token_id=caller.token_id,
        scopes=scopes,
    )


def trace_of(caller: Caller) -> str:
    """Return the `traceparent` of a run that the caller starts."""
    return caller.traceparent or new_traceparent(caller.correlation_id)


def new_traceparent(correlation_id: str) -> str:
    """Return a `traceparent` (W3C Trace Context) for a run whose caller has none.

    Its trace id is the correlation id if that has the right form, otherwise random.
    """
    hexadecimal = len(correlation_id) == 32 and _HEX_DIGITS.issuperset(correlation_id)
    trace = correlation_id if hexadecimal else random_hex(16)
    return f"00-{trace}-{random_hex(8)}-01"


MAX_CONVERSATION_MESSAGES: Final = 200
"""How many of a run's latest messages are read."""

_INSERT_A2A_TASK: Final = """
INSERT INTO a2a_tasks (run_id, user_id, context_id, created_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (run_id) DO NOTHING
"""
_INSERT_A2A_MESSAGE: Final = "INSERT INTO a2a_messages (run_id, place, message) VALUES ($1, $2, $3)"
_CONTEXT_ID: Final = "SELECT context_id FROM a2a_tasks WHERE run_id = $1"
_A2A_MESSAGES: Final = f"""
SELECT place, message FROM a2a_messages WHERE run_id = $1
ORDER BY place DESC LIMIT {MAX_CONVERSATION_MESSAGES}
"""
_LATEST_WORKFLOW: Final = """
SELECT r.workflow FROM a2a_tasks t JOIN runs r ON r.id = t.run_id
WHERE t.user_id = $1 AND t.context_id = $2
ORDER BY t.created_at DESC, t.run_id DESC LIMIT 1
"""
_WORKFLOW_OF_OWN_RUN: Final = "SELECT workflow FROM runs WHERE id = $1 AND user_id = $2"


OWN_RUN: Final = "SELECT id FROM runs WHERE id = $1 AND user_id = $2"
LIST_A2A_TASKS: Final = """
SELECT r.id, r.created_at FROM runs r LEFT JOIN a2a_tasks t ON t.run_id = r.id
WHERE r.user_id = $1 AND r.origin = 'a2a' AND ($2 = '' OR COALESCE(t.context_id, r.id) = $2)
    AND (r.created_at, r.id) < ($3, $4)
ORDER BY r.created_at DESC, r.id DESC LIMIT $5
"""
COUNT_A2A_TASKS: Final = """
SELECT COUNT(*) AS total FROM runs r LEFT JOIN a2a_tasks t ON t.run_id = r.id
WHERE r.user_id = $1 AND r.origin = 'a2a' AND ($2 = '' OR COALESCE(t.context_id, r.id) = $2)
"""


class TaskConversation(Struct, frozen=True):
    """The A2A context id of a run, and the messages exchanged with the client."""

    context_id: str
    messages: tuple[str, ...] = ()
    """The messages as JSON texts, the oldest first."""
    next_place: int = 0


async def read_conversation(db: ReadTransaction, run_id: str) -> TaskConversation:
    """Return a run's conversation; if it has none, its context id is the run's id."""
    rows = await db.fetch(_A2A_MESSAGES, run_id)
    known = await db.fetch(_CONTEXT_ID, run_id)
    context_id = str(known[0]["context_id"]) if known else run_id
    if not rows:
        return TaskConversation(context_id)
    messages = tuple(str(row["message"]) for row in reversed(rows))
    return TaskConversation(context_id, messages, int(rows[0]["place"]) + 1)


async def begin_conversation(
    db: Transaction, run_id: str, user_id: str, context_id: str, at: float
) -> None:
    """Store the A2A context to which a run belongs."""
    await db.execute(_INSERT_A2A_TASK, run_id, user_id, context_id, at)


async def add_messages(db: Transaction, run_id: str, place: int, messages: Sequence[str]) -> None:
    """Store messages of a run's conversation; `place` is the number of the first of them."""
    for offset, message in enumerate(messages):
        await db.execute(_INSERT_A2A_MESSAGE, run_id, place + offset, message)


async def latest_workflow(db: ReadTransaction, user_id: str, context_id: str) -> str | None:
    """Return the workflow of a user's latest run in an A2A context; None if there is no run."""
    rows = await db.fetch(_LATEST_WORKFLOW, user_id, context_id)
    # Before contexts were stored, that of a run was its id.
    rows = rows or await db.fetch(_WORKFLOW_OF_OWN_RUN, context_id, user_id)
    return str(rows[0]["workflow"]) if rows else None
