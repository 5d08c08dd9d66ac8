"""The histories of runs, one row per decision, and the loading of runs from them.

A run is loaded from its latest snapshot and the events since. A problem is the reason why a run
cannot be decided on or shown; it is stored in the run's row until it is resolved.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct, json

from accord.operations.context import Database
from accord.store.store import Engine, ReadTransaction, Row, StoreError, Transaction
from accord.workflows.core.definition import Definition
from accord.workflows.core.errors import NewerSchemaError
from accord.workflows.core.events import Event, decode_event
from accord.workflows.core.machine import fold
from accord.workflows.core.program import Block, Program
from accord.workflows.core.state import FINAL, SCHEMA, State, decode_state
from accord.workflows.storage.bulk import IN_TEXTS, Insertion, as_parameter
from accord.workflows.storage.definitions import Definitions, UnknownRunError, UnknownWorkflowError
from accord.workflows.storage.leases import shard_of
from accord.workflows.storage.runs import NewRun, Starter

HISTORY_WAKE: Final = "run_history"
"""The notification channel that announces new events of runs."""

_INSERTION: Final = Insertion(
    "run_history",
    {"run_id": "text", "sequence": "integer", "count": "integer", "events": "text"},
)
_READ_HISTORY: Final = """
SELECT sequence, events FROM run_history
WHERE run_id = $1 AND sequence >= coalesce(
    (SELECT max(sequence) FROM run_history WHERE run_id = $1 AND sequence <= $2), 0)
ORDER BY sequence
"""

_LAST: Final = """
(SELECT h.sequence + h.count - 1 FROM run_history h WHERE h.run_id = {run}
    ORDER BY h.sequence DESC LIMIT 1)
"""
_LAST_NUMBER: Final = f"SELECT COALESCE({_LAST.format(run='$1')}, 0) AS applied"
_PROGRESS: Final = {
    engine: f"""
    SELECT r.id, r.status, COALESCE({_LAST.format(run="r.id")}, 0) AS applied FROM runs r
    WHERE r.id {IN_TEXTS[engine].format("$1")}
    """
    for engine in IN_TEXTS
}

_MAX_TIME: Final = 253_402_300_799.0
"""The end of the year 9999, in seconds since 1970."""


class _Head(Struct):
    schema: int = SCHEMA


_ENCODER: Final = json.Encoder()
_EVENTS: json.Decoder[list[Event]] = json.Decoder(list[Event])
_HEADS: json.Decoder[list[_Head]] = json.Decoder(list[_Head])


class UnreadEvent(Struct, frozen=True):
    """An event that this release cannot decode, with its stored fields."""

    type: str
    at: float
    detail: dict[str, Any]


class RunHistoryRow(Struct, frozen=True):
    """The events of one decision; `sequence` is the number of the first, counted from 1."""

    run_id: str
    sequence: int
    count: int
    events: str


async def append_history(db: Transaction, entries: Iterable[RunHistoryRow]) -> None:
    """Add rows to histories.

    Raise ConstraintError if another executor has recorded events with the same numbers.
    """
    # The number of the first event is part of the key: two executors cannot record the same one.
    rows = [(each.run_id, each.sequence, each.count, each.events) for each in entries]
    if rows:
        await _INSERTION.run(db, rows)
        await db.notify(HISTORY_WAKE)


async def read_history(db: ReadTransaction, run_id: str, after: int = 0) -> list[tuple[int, Event]]:
    """Return the events after number `after`, each with its number.

    Raise NewerSchemaError if a newer release wrote one, msgspec.DecodeError if one is invalid.
    """
    rows = await db.fetch(_READ_HISTORY, run_id, after)
    numbered = [
        (number, event)
        for row in rows
        for number, event in enumerate(decode_events(row["events"]), row["sequence"])
    ]
    return [(number, event) for number, event in numbered if number > after]


async def read_recorded(
    db: ReadTransaction, run_id: str, after: int = 0
) -> list[tuple[int, Event | UnreadEvent]]:
    """Return the events after number `after` for display, each with its number.

    Events that this release cannot decode are returned as UnreadEvent.
    """
    rows = await db.fetch(_READ_HISTORY, run_id, after)
    numbered = [
        (number, event)
        for row in rows
        for number, event in enumerate(_stored_events(row["events"]), row["sequence"])
    ]
    return [(number, event) for number, event in numbered if number > after]


async def last_number(db: Database, run_id: str) -> int:
    """Return the number of a run's last event; 0 if it has none."""
    [row] = await db.fetch(_LAST_NUMBER, run_id)
    return int(row["applied"])


async def read_progress(
    db: Database, engine: Engine, run_ids: Iterable[str]
) -> dict[str, tuple[str, int]]:
    """Return the status of each run, and the number of its last event."""
    rows = await db.fetch(_PROGRESS[engine], as_parameter(run_ids))
    return {row["id"]: (row["status"], row["applied"]) for row in rows}


def _stored_events(text: str) -> Sequence[Event | UnreadEvent]:
    try:
        return decode_events(text)
    except (NewerSchemaError, msgspec.DecodeError):
        pass
    try:
        stored = json.decode(text, type=list[dict[str, Any]])
    except (msgspec.DecodeError, RecursionError):
        return [UnreadEvent("unreadable", 0.0, {})]
    return [_stored_event(each) for each in stored]


def _stored_event(stored: dict[str, Any]) -> Event | UnreadEvent:
    try:
        return decode_event(json.encode(stored))
    except (NewerSchemaError, msgspec.DecodeError):
        at, kind = stored.get("at"), stored.get("type")
        time = float(at) if isinstance(at, int | float) and 0 <= at <= _MAX_TIME else 0.0
        return UnreadEvent(kind if isinstance(kind, str) else "unreadable", time, stored)


def encode_events(events: Sequence[Event]) -> str:
    """Encode the events of one decision for its row."""
    return _ENCODER.encode(events).decode()


def decode_events(text: str) -> list[Event]:
    """Decode the events in one row.

    Raise NewerSchemaError if a newer release wrote one, msgspec.DecodeError if one is invalid.
    """
    try:
        events = _EVENTS.decode(text)
    except msgspec.ValidationError:
        _check(_HEADS.decode(text))
        raise
    except RecursionError:  # msgspec has no exception of its own for it
        raise msgspec.DecodeError("nested deeper than can be read") from None
    _check(events)
    return events


def _check(events: Iterable[Event] | Iterable[_Head]) -> None:
    newest = max((each.schema for each in events), default=SCHEMA)
    if newest > SCHEMA:
        raise NewerSchemaError(newest, SCHEMA)


MAX_PROBLEM_MESSAGE: Final = 1_000
"""The maximum length of a problem's message, in characters."""


class StoredProblem(Struct, frozen=True):
    """The reason why a run cannot be decided on or shown."""

    code: str
    message: str


def problem_of(error: Exception) -> StoredProblem:
    """Convert an exception to the stored problem of the run in which it occurred."""
    match error:
        case NewerSchemaError():
            code = "newer_schema"
            what = f"a newer release of Accord wrote to it, and is needed to continue it: {error}"
        case UnknownWorkflowError():
            code, what = "unknown_workflow", f"its workflow is missing: {error}"
        case msgspec.DecodeError():
            code, what = "unreadable", f"it cannot be read by this release: {error}"
        case StoreError():
            code, what = "not_stored", "the database refuses its next step; the log says why"
        case _:
            code = "internal_error"
            what = f"its next step fails with {type(error).__name__}; the log says more"
    return _problem(code, what)


def unreadable_message(error: Exception) -> StoredProblem:
    """Return the stored problem of a run with an inbox message that cannot be decoded."""
    return _problem("unreadable", f"a message for it cannot be read by this release: {error}")


def _problem(code: str, what: str) -> StoredProblem:
    # PostgreSQL keeps no NUL in texts.
    return StoredProblem(code, what.replace("\0", "")[:MAX_PROBLEM_MESSAGE])


def encode_problem(problem: StoredProblem) -> str:
    """Encode a problem for storage."""
    return msgspec.json.encode(problem).decode()


def decode_problem(text: str) -> StoredProblem:
    """Decode a stored problem."""
    return msgspec.json.decode(text, type=StoredProblem)


log = logging.getLogger("accord.workflows")

_SELECT_RUN: Final = """
SELECT id, workflow, version, shard, status, user_id, username, token_id, scopes, origin,
    parent_run, parent_task, correlation_id, traceparent, snapshot, snapshot_at, next_timer,
    problem, created_at, finished_at
"""
_POSTPONED: Final = """
SELECT {column} FROM run_inbox WHERE run_id = runs.id AND tries > 0 ORDER BY id LIMIT 1
"""
_READ_RUN: Final = f"""
{_SELECT_RUN}, ({_POSTPONED.format(column="problem")}) AS stuck,
    ({_POSTPONED.format(column="due")}) AS due
FROM runs WHERE id = $1
"""
_READ_RUNS: Final = {
    engine: f"{_SELECT_RUN}, NULL AS stuck, NULL AS due FROM runs WHERE id {many.format('$1')}"
    for engine, many in IN_TEXTS.items()
}
_READ_LATER: Final = {
    engine: f"""
    SELECT history.run_id, history.events
    FROM run_history AS history JOIN runs ON runs.id = history.run_id
    WHERE runs.id {IN_TEXTS[engine].format("$1")} AND history.sequence > runs.snapshot_at
    ORDER BY history.run_id, history.sequence
    """
    for engine in IN_TEXTS
}


class RunRow(Struct, frozen=True, kw_only=True):
    """A row of the table of runs.

    `status` is the status after the last decision. Nothing is due before `next_timer`.
    """

    id: str
    workflow: str
    version: int
    shard: int
    status: str
    starter: Starter
    origin: str
    parent_run: str | None
    parent_task: str | None
    correlation_id: str
    traceparent: str
    snapshot: str | None
    snapshot_at: int
    next_timer: float | None
    created_at: float
    finished_at: float | None
    problem: str | None = None
    """The problem of the run, as JSON; None if there is none."""
    stuck: str | None = None
    """The problem of the first postponed message, as JSON; only read by `load_run`."""
    due: float | None = None
    """The time at which the run's first postponed message is tried again."""


class LoadedRun(Struct, frozen=True):
    """A run with its row, program and state."""

    row: RunRow
    program: Program
    state: State
    unreadable: StoredProblem | None = None
    """The reason why the history cannot be read; the state then has only what the row shows."""

    @property
    def problem(self) -> StoredProblem | None:
        """The first problem that exists of these three, or None.

        The problem of the run, of its first postponed message, or of reading its history.
        """
        stored = self.row.problem or self.row.stuck
        return self.unreadable if stored is None else decode_problem(stored)


async def load_run(db: ReadTransaction, definitions: Definitions, run_id: str) -> LoadedRun:
    """Load a run with its state.

    If the history cannot be read, the state is derived from the row. Raise UnknownRunError if the
    run does not exist.
    """
    rows = await db.fetch(_READ_RUN, run_id)
    if not rows:
        raise UnknownRunError(run_id)
    row = run_row(rows[0])
    try:
        program = await definitions.get(db, row.workflow, row.version)
        later = await read_history(db, run_id, row.snapshot_at)
        return LoadedRun(row, program, fold(program, (event for _, event in later), _snapshot(row)))
    except StoreError:
        raise
    except Exception as error:  # whatever is wrong with a run, its row can be viewed
        log.debug("run %s cannot be read", run_id, exc_info=True)
        return _unreadable_run(row, problem_of(error))


def _unreadable_run(row: RunRow, problem: StoredProblem) -> LoadedRun:
    empty = Program(Definition(name=row.workflow, steps=()), Block((), {}), None, None, {})
    is_over = row.status in FINAL
    state = State(
        phase=row.status if is_over or row.status == "pending" else "running",  # type: ignore[arg-type]
        started_at=row.created_at,
        finished_at=row.finished_at,
        paused=row.status == "paused",
        idle=int(row.status == "waiting"),
    )
    return LoadedRun(row, empty, state, problem)


def begun_run(run: NewRun, program: Program) -> LoadedRun:
    """Return a run that was just created, without reading it from the database."""
    row = RunRow(
        id=run.id,
        workflow=run.workflow,
        version=run.version,
        shard=shard_of(run.id),
        status="pending",
        starter=run.starter,
        origin=run.origin,
        parent_run=run.parent_run,
        parent_task=run.parent_task,
        correlation_id=run.correlation_id,
        traceparent=run.traceparent,
        snapshot=None,
        snapshot_at=0,
        next_timer=None,
        created_at=run.at,
        finished_at=None,
    )
    return LoadedRun(row, program, State(input=run.input))


async def read_rows(db: ReadTransaction, engine: Engine, run_ids: Iterable[str]) -> list[RunRow]:
    """Return the rows of these runs, without runs that do not exist."""
    return [run_row(row) for row in await db.fetch(_READ_RUNS[engine], as_parameter(run_ids))]


async def read_later(
    db: ReadTransaction, engine: Engine, run_ids: Iterable[str]
) -> dict[str, list[str]]:
    """Return the encoded events since the snapshot of each run."""
    found: dict[str, list[str]] = {}
    for row in await db.fetch(_READ_LATER[engine], as_parameter(run_ids)):
        found.setdefault(row["run_id"], []).append(row["events"])
    return found


def restore_state(row: RunRow, program: Program, later: Sequence[str]) -> State:
    """Return the state of a run, from its snapshot and the encoded events since.

    Raise NewerSchemaError if a newer release wrote the data, msgspec.DecodeError if it is invalid.
    """
    events = (event for text in later for event in decode_events(text))
    return fold(program, events, _snapshot(row))


def _snapshot(row: RunRow) -> State | None:
    return None if row.snapshot is None else decode_state(row.snapshot.encode())


def run_row(row: Row) -> RunRow:
    """Build a RunRow from a row of the database."""
    values: dict[str, Any] = {name: row[name] for name in _PLAIN}
    return RunRow(starter=Starter(**{name: row[name] for name in _STARTER}), **values)


_STARTER: Final = Starter.__struct_fields__
_PLAIN: Final = tuple(name for name in RunRow.__struct_fields__ if name != "starter")
