"""The inboxes of runs: messages that arrived, and runs in which something is due."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from accord.store.store import Engine, ReadTransaction, Row, Transaction
from accord.workflows.core.events import Arrival, encode_event
from accord.workflows.storage.bulk import IN_NUMBERS, Insertion, as_parameter
from accord.workflows.storage.leases import shard_of

WAKE: Final = "run_inbox"
"""The channel on which executors hear that something arrived."""

MAX_MESSAGES: Final = 500
"""How many are read at once."""
MAX_BYTES: Final = 4 * 1024 * 1024
"""How many bytes of them; one may be larger."""
MAX_DELAY_SECONDS: Final = 60.0
"""How long a message waits at most before it is tried again."""

_INSERTION: Final = Insertion(
    "run_inbox",
    {"message_id": "text", "run_id": "text", "shard": "integer", "arrival": "text"},
    "ON CONFLICT (message_id) DO NOTHING",
)
_SIZE: Final[dict[Engine, str]] = {
    "sqlite": "length(CAST(arrival AS blob))",
    "postgresql": "octet_length(arrival)",
}
# A time to wait for that is too far away was written by a clock that has been put back since.
_READ: Final = {
    engine: f"""
    SELECT id, message_id, run_id, arrival, tries FROM (
        SELECT id, message_id, run_id, arrival, tries, sum({_SIZE[engine]}) OVER (ORDER BY id)
            - {_SIZE[engine]} AS before
        FROM (
            SELECT id, message_id, run_id, arrival, tries FROM run_inbox
            WHERE id > $2 AND shard {many.format("$1")}
                AND (due <= $3 OR due > $3 + {MAX_DELAY_SECONDS})
            ORDER BY id LIMIT {MAX_MESSAGES}
        ) AS first
    ) AS measured
    WHERE before < {MAX_BYTES} ORDER BY id
    """
    for engine, many in IN_NUMBERS.items()
}
_READ_DUE: Final = {
    engine: f"""
    SELECT id, next_timer FROM runs WHERE shard {many.format("$1")} AND next_timer <= $2
    ORDER BY next_timer LIMIT {MAX_MESSAGES}
    """
    for engine, many in IN_NUMBERS.items()
}
_DELETE: Final = {
    engine: f"DELETE FROM run_inbox WHERE id {many.format('$1')}"
    for engine, many in IN_NUMBERS.items()
}
_READ_POSTPONED: Final = f"""
SELECT id, message_id, run_id, arrival, tries FROM run_inbox WHERE run_id = $1 AND tries > 0
ORDER BY id LIMIT {MAX_MESSAGES}
"""
_POSTPONE: Final = """
UPDATE run_inbox SET tries = tries + 1, due = $2, problem = $3 WHERE id = $1
"""


class RunMessage(Struct, frozen=True):
    """A message for a run.

    A second message with the same id is dropped while the first is there; the machine ignores later
    ones.
    """

    id: str
    run_id: str
    arrival: Arrival
    traceparent: str = ""
    correlation_id: str = ""


class InboxMessage(Struct, frozen=True):
    """An undecoded message, in the inbox or offered by the bus."""

    id: int
    """Of its row; 0 where it has none."""
    message_id: str
    run_id: str
    arrival: str
    tries: int
    message: RunMessage | None = None
    """What was offered."""


async def deliver(db: Transaction, messages: Iterable[RunMessage]) -> None:
    """Put messages into the inboxes of runs, in order, and wake their executors."""
    rows = [
        (each.id, each.run_id, shard_of(each.run_id), encode_event(each.arrival).decode())
        for each in messages
    ]
    if rows:
        await _INSERTION.run(db, rows)
        await db.notify(WAKE)


async def read_messages(
    db: ReadTransaction, engine: Engine, shards: Iterable[int], after: int, now: float
) -> list[InboxMessage]:
    """Return the messages for runs of these shards, in order, from id `after` on.

    A message that commits late may have a smaller id than one that was seen already.
    """
    rows = await db.fetch(_READ[engine], as_parameter(shards), after, now)
    return [_received(row) for row in rows]


def _received(row: Row) -> InboxMessage:
    return InboxMessage(row["id"], row["message_id"], row["run_id"], row["arrival"], row["tries"])


async def read_postponed(db: ReadTransaction, run_id: str) -> list[InboxMessage]:
    """Return the postponed messages of a run, in order."""
    rows = await db.fetch(_READ_POSTPONED, run_id)
    return [_received(row) for row in rows]


async def read_due(
    db: ReadTransaction, engine: Engine, shards: Iterable[int], until: float
) -> dict[str, float]:
    """Return the runs of these shards in which something may be due, and when."""
    rows = await db.fetch(_READ_DUE[engine], as_parameter(shards), until)
    return {row["id"]: row["next_timer"] for row in rows}


async def delete_messages(
    db: Transaction, engine: Engine, messages: Iterable[InboxMessage]
) -> None:
    """Delete messages that were decided on, or given up."""
    ids = [each.id for each in messages if each.id]
    if ids:
        await db.execute(_DELETE[engine], as_parameter(ids))


async def postpone_messages(db: Transaction, rows: Sequence[tuple[int, float, str]]) -> None:
    """Try messages again later; a row has the id of a message, the time, and the problem."""
    await db.execute_many(_POSTPONE, rows)
