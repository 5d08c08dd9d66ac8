"""Histories as they are kept: a row for each decision, with the events of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct, json

from accord.operations.context import Database
from accord.store.store import Engine, ReadTransaction, Transaction
from accord.workflows.core.errors import NewerSchemaError
from accord.workflows.core.events import Event, decode_event
from accord.workflows.core.state import SCHEMA
from accord.workflows.storage.bulk import IN_TEXTS, Insertion, as_parameter

WAKE: Final = "run_history"
"""The channel on which watchers hear that something happened in some run."""

_INSERTION: Final = Insertion(
    "run_history",
    {"run_id": "text", "sequence": "integer", "count": "integer", "events": "text"},
)
_READ: Final = """
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

_LATEST: Final = 253_402_300_799.0
"""The end of the year 9999."""


class _Head(Struct):
    schema: int = SCHEMA


_ENCODER: Final = json.Encoder()
_EVENTS: json.Decoder[list[Event]] = json.Decoder(list[Event])
_HEADS: json.Decoder[list[_Head]] = json.Decoder(list[_Head])


class UnreadEvent(Struct, frozen=True):
    """An event that this release does not know, or that is damaged."""

    type: str
    at: float
    detail: dict[str, Any]


class RunHistoryRow(Struct, frozen=True):
    """The events of one decision; `sequence` is the number of the first, from 1."""

    run_id: str
    sequence: int
    count: int
    events: str


async def append_history(db: Transaction, entries: Iterable[RunHistoryRow]) -> None:
    """Record events. Raise ConstraintError if another executor recorded first."""
    rows = [(each.run_id, each.sequence, each.count, each.events) for each in entries]
    if rows:
        await _INSERTION.run(db, rows)
        await db.notify(WAKE)


async def read_history(db: ReadTransaction, run_id: str, after: int = 0) -> list[tuple[int, Event]]:
    """Return the events after number `after`, with numbers. Raise NewerSchemaError."""
    rows = await db.fetch(_READ, run_id, after)
    numbered = [
        (number, event)
        for row in rows
        for number, event in enumerate(decode_events(row["events"]), row["sequence"])
    ]
    return [(number, event) for number, event in numbered if number > after]


async def read_recorded(
    db: ReadTransaction, run_id: str, after: int = 0
) -> list[tuple[int, Event | UnreadEvent]]:
    """Return the events for display; unreadable events as they are stored."""
    rows = await db.fetch(_READ, run_id, after)
    numbered = [
        (number, event)
        for row in rows
        for number, event in enumerate(_recorded(row["events"]), row["sequence"])
    ]
    return [(number, event) for number, event in numbered if number > after]


async def last_number(db: Database, run_id: str) -> int:
    """Return the number of the last event of a run; 0 if there is none."""
    [row] = await db.fetch(_LAST_NUMBER, run_id)
    return int(row["applied"])


async def read_progress(
    db: Database, engine: Engine, run_ids: Iterable[str]
) -> dict[str, tuple[str, int]]:
    """Return the status of runs, and the numbers of their last events."""
    rows = await db.fetch(_PROGRESS[engine], as_parameter(run_ids))
    return {row["id"]: (row["status"], row["applied"]) for row in rows}


def _recorded(text: str) -> Sequence[Event | UnreadEvent]:
    try:
        return decode_events(text)
    except (NewerSchemaError, msgspec.DecodeError):
        pass
    try:
        kept = json.decode(text, type=list[dict[str, Any]])
    except (msgspec.DecodeError, RecursionError):
        return [UnreadEvent("unreadable", 0.0, {})]
    return [_one_recorded(each) for each in kept]


def _one_recorded(kept: dict[str, Any]) -> Event | UnreadEvent:
    try:
        return decode_event(json.encode(kept))
    except (NewerSchemaError, msgspec.DecodeError):
        at, kind = kept.get("at"), kept.get("type")
        time = float(at) if isinstance(at, int | float) and 0 <= at <= _LATEST else 0.0
        return UnreadEvent(kind if isinstance(kind, str) else "unreadable", time, kept)


def encode_events(events: Sequence[Event]) -> str:
    """Encode the events of one row."""
    return _ENCODER.encode(events).decode()


def decode_events(text: str) -> list[Event]:
    """Return the events of one row.

    Raise NewerSchemaError, and msgspec.DecodeError for an invalid event.
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
