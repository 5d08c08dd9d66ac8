"""Runs as they begin. Everything that starts one does it here: people, parents, triggers, buses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from accord.store.store import Reading, Transaction
from accord.workflows.core.events import RunStarted, encode_event
from accord.workflows.storage.inbox import WAKE, Message, deliver
from accord.workflows.storage.shards import shard_of

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
"""The same with its first message, where that can be said at once."""
_CHAIN: Final = """
WITH RECURSIVE up (id, parent_run, chain) AS (
    SELECT id, parent_run, chain FROM runs WHERE id = $1
    UNION ALL
    SELECT runs.id, runs.parent_run, runs.chain FROM runs JOIN up ON runs.id = up.parent_run
)
SELECT max(chain) AS chain FROM up
"""


class Starter(Struct, frozen=True, kw_only=True):
    """Who starts a run, and with what rights: its steps act as them."""

    user_id: str = ""
    username: str = ""
    token_id: str = ""
    scopes: str | None = None
    """Of their token, separated by spaces; None where none was used."""


class NewRun(Struct, frozen=True, kw_only=True):
    """A run to be started. The version of the workflow is settled, and its input checked."""

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
    """The run whose writing started this one."""
    chain: int = 0
    """How many such there are before it."""
    correlation_id: str = ""
    traceparent: str = ""


async def create_run(db: Transaction, run: NewRun) -> bool:
    """Start a run; False where there is one with this id already."""
    first = _beginning(run)
    if db.engine == "postgresql":
        arrival = encode_event(first.arrival).decode()
        made = await db.execute(_CREATE, *_row(run), first.id, arrival)
        if made:
            await db.notify(WAKE)
        return bool(made)
    made = await db.execute(_INSERT, *_row(run))
    if made:
        await deliver(db, [first])
    return bool(made)


async def create_runs(db: Transaction, runs: Sequence[NewRun]) -> None:
    """Start runs that nobody has started before."""
    if runs:
        await db.execute_many(_INSERT, [_row(each) for each in runs])
        await deliver(db, [_beginning(each) for each in runs])


def _row(run: NewRun) -> tuple[object, ...]:
    who = run.starter
    return (
        run.id, run.workflow, run.version, shard_of(run.id),
        who.user_id, who.username, who.token_id, who.scopes, run.origin,
        run.parent_run, run.parent_task, run.correlation_id, run.traceparent, run.at,
        run.cause, run.chain,
    )  # fmt: skip


def _beginning(run: NewRun) -> Message:
    started = RunStarted(at=run.at, input=run.input, depth=run.depth)
    return Message(f"{run.id}/started", run.id, started)


async def chain_after(db: Reading, run_id: str) -> int:
    """How many runs led to one that this run's writing starts; 0 where no run wrote."""
    if not run_id:
        return 0
    [row] = await db.fetch(_CHAIN, run_id)
    return int(row["chain"] or 0) + 1
