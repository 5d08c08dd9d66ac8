"""Stored messages: the inboxes of runs, the outbox of the bus, and dead letters.

The outbox, which needs PostgreSQL, has the messages that are not published yet. They are selected
by a mark, not by an id above the last one seen, because a transaction with a smaller id may commit
later.

Dead letters are failed tasks, and messages that could not be used. They are stored for people to
read and replay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from msgspec import Struct

from accord.store.store import DATABASE_CLOCK, Engine, ReadTransaction, Row, Store, Transaction
from accord.workflows.core.events import Arrival, encode_event
from accord.workflows.storage.bulk import IN_NUMBERS, Insertion, as_parameter
from accord.workflows.storage.leases import shard_of

INBOX_WAKE: Final = "run_inbox"
"""The notification channel that announces messages in inboxes."""

MAX_INBOX_MESSAGES: Final = 500
"""The maximum number of messages read by one query."""
MAX_INBOX_BYTES: Final = 4 * 1024 * 1024
"""The size in bytes at which a query stops reading messages; the last may exceed it."""
MAX_DELAY_SECONDS: Final = 60.0
"""The maximum delay before a postponed message is tried again."""

_MESSAGE_INSERTION: Final = Insertion(
    "run_inbox",
    {"message_id": "text", "run_id": "text", "shard": "integer", "arrival": "text"},
    "ON CONFLICT (message_id) DO NOTHING",
)
_BYTES: Final[dict[Engine, str]] = {
    "sqlite": "length(CAST(arrival AS blob))",
    "postgresql": "octet_length(arrival)",
}
# A due time beyond the longest delay was written by a clock that has been put back since.
_READ_MESSAGES: Final = {
    engine: f"""
    SELECT id, message_id, run_id, arrival, tries FROM (
        SELECT id, message_id, run_id, arrival, tries, sum({_BYTES[engine]}) OVER (ORDER BY id)
            - {_BYTES[engine]} AS before
        FROM (
            SELECT id, message_id, run_id, arrival, tries FROM run_inbox
            WHERE id > $2 AND shard {many.format("$1")}
                AND (due <= $3 OR due > $3 + {MAX_DELAY_SECONDS})
            ORDER BY id LIMIT {MAX_INBOX_MESSAGES}
        ) AS first
    ) AS measured
    WHERE before < {MAX_INBOX_BYTES} ORDER BY id
    """
    for engine, many in IN_NUMBERS.items()
}
_READ_DUE: Final = {
    engine: f"""
    SELECT id, next_timer FROM runs WHERE shard {many.format("$1")} AND next_timer <= $2
    ORDER BY next_timer LIMIT {MAX_INBOX_MESSAGES}
    """
    for engine, many in IN_NUMBERS.items()
}
_DELETE_MESSAGES: Final = {
    engine: f"DELETE FROM run_inbox WHERE id {many.format('$1')}"
    for engine, many in IN_NUMBERS.items()
}
_READ_POSTPONED: Final = f"""
SELECT id, message_id, run_id, arrival, tries FROM run_inbox WHERE run_id = $1 AND tries > 0
ORDER BY id LIMIT {MAX_INBOX_MESSAGES}
"""
_POSTPONE: Final = """
UPDATE run_inbox SET tries = tries + 1, due = $2, problem = $3 WHERE id = $1
"""


class RunMessage(Struct, frozen=True):
    """A message to a run.

    While the message is in the inbox, a second one with the same id is dropped; a later duplicate
    is ignored by the state machine.
    """

    id: str
    run_id: str
    arrival: Arrival
    traceparent: str = ""
    correlation_id: str = ""


class InboxMessage(Struct, frozen=True):
    """A message that awaits a decision, in the inbox or offered by the bus."""

    id: int
    """The id of its row; 0 for an offered message, which has no row."""
    message_id: str
    run_id: str
    arrival: str
    tries: int
    message: RunMessage | None = None
    """The decoded message, if it was offered by the bus."""


async def deliver(db: Transaction, messages: Iterable[RunMessage]) -> None:
    """Insert messages into the inboxes of runs, in order, and wake the executors."""
    rows = [
        (each.id, each.run_id, shard_of(each.run_id), encode_event(each.arrival).decode())
        for each in messages
    ]
    if rows:
        await _MESSAGE_INSERTION.run(db, rows)
        await db.notify(INBOX_WAKE)


async def read_messages(
    db: ReadTransaction, engine: Engine, shards: Iterable[int], after: int, now: float
) -> list[InboxMessage]:
    """Return due messages for runs of these shards, in order, with ids above `after`.

    Callers must start again from 0 at times, because a message that is committed late may have a
    smaller id than a message that was read before.
    """
    rows = await db.fetch(_READ_MESSAGES[engine], as_parameter(shards), after, now)
    return [_received(row) for row in rows]


def _received(row: Row) -> InboxMessage:
    return InboxMessage(row["id"], row["message_id"], row["run_id"], row["arrival"], row["tries"])


async def read_postponed(db: ReadTransaction, run_id: str) -> list[InboxMessage]:
    """Return the postponed messages of a run, in order of arrival."""
    rows = await db.fetch(_READ_POSTPONED, run_id)
    return [_received(row) for row in rows]


async def read_due(
    db: ReadTransaction, engine: Engine, shards: Iterable[int], until: float
) -> dict[str, float]:
    """Return the ids of runs in these shards whose timers are due by a time, with the times."""
    rows = await db.fetch(_READ_DUE[engine], as_parameter(shards), until)
    return {row["id"]: row["next_timer"] for row in rows}


async def delete_messages(
    db: Transaction, engine: Engine, messages: Iterable[InboxMessage]
) -> None:
    """Delete messages that were handled from the inbox."""
    ids = [each.id for each in messages if each.id]
    if ids:
        await db.execute(_DELETE_MESSAGES[engine], as_parameter(ids))


async def postpone_messages(db: Transaction, rows: Sequence[tuple[int, float, str]]) -> None:
    """Postpone messages that could not be decided on.

    Each of `rows` has the row id of a message, the time to try again, and the problem.
    """
    await db.execute_many(_POSTPONE, rows)


OUTBOX_WAKE: Final = "outbox"
"""The notification channel that announces rows in the outbox."""
MAX_OUTBOX_ROWS: Final = 1_000
"""The maximum number of rows that the relay reads at once."""
MAX_OUTBOX_BYTES: Final = 16 * 1_048_576
"""The size in bytes at which the relay stops reading rows; the last row may exceed it."""

_NOW: Final = DATABASE_CLOCK["postgresql"]
_INSERT_ROW: Final = """
INSERT INTO outbox (topic, run_id, message_id, message, count) VALUES ($1, $2, $3, $4, $5)
RETURNING id
"""
_INSERT_ROWS: Final = """
INSERT INTO outbox (topic, run_id, message_id, message)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
RETURNING id
"""
_UNPUBLISHED: Final = """
SELECT id, topic, run_id, message_id, octet_length(message) AS size,
    CASE WHEN id = ANY($4::bigint[]) THEN '' ELSE message END AS message
FROM (
    SELECT *, sum(octet_length(message)) OVER (ORDER BY id) - octet_length(message) AS before
    FROM (
        SELECT id, topic, run_id, message_id, message FROM outbox
        WHERE published_at IS NULL AND id <> ALL($3::bigint[]) ORDER BY id LIMIT $1
    ) AS next
) AS summed
WHERE before < $2 ORDER BY id
"""
# Without waiting for the disk: a row that comes back after a power cut is published a second time,
# which consumers ignore.
_DELETE_PUBLISHED: Final = """
DELETE FROM outbox
WHERE id = ANY($1::bigint[]) AND set_config('synchronous_commit', 'off', true) = 'off'
"""
_DELETE_ROW: Final = "DELETE FROM outbox WHERE id = $1"
_MARK_PUBLISHED: Final = f"UPDATE outbox SET published_at = {_NOW} WHERE id = ANY($1::bigint[])"
_DELETE_ARRIVED: Final = """
DELETE FROM outbox USING unnest($1::bigint[], $2::text[]) AS arrived (id, message_id)
WHERE outbox.id = arrived.id AND outbox.message_id = arrived.message_id
"""
_OUTBOX_LENGTH: Final = """
SELECT coalesce(sum(count), 0) AS length FROM outbox WHERE published_at IS NULL
"""
# Results that were published and did not arrive.
_LOST: Final = f"""
FROM outbox WHERE published_at < {_NOW} - $1::double precision AND swept {{times}}
ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED
"""
_PUBLISH_LOST: Final = f"""
UPDATE outbox SET published_at = NULL, swept = swept + 1
WHERE id IN (SELECT id {_LOST.format(times="= 0")})
"""
_LATE_LOST: Final = f"SELECT id, message_id, message {_LOST.format(times='> 0')}"
_PUBLISH_AGAIN: Final = "UPDATE outbox SET published_at = NULL WHERE id = ANY($1::bigint[])"


async def insert_outbox_row(
    db: Transaction, topic: str, run_id: str, message_id: str, message: str, count: int
) -> int:
    """Insert an outbox row that contains `count` messages, and return the row's id."""
    [row] = await db.fetch(_INSERT_ROW, topic, run_id, message_id, message, count)
    id: int = row["id"]
    return id


async def insert_outbox_rows(
    db: Transaction,
    topics: Sequence[str],
    run_ids: Sequence[str],
    message_ids: Sequence[str],
    messages: Sequence[str],
) -> list[int]:
    """Insert an outbox row for each message, and return the rows' ids."""
    rows = await db.fetch(_INSERT_ROWS, topics, run_ids, message_ids, messages)
    return [row["id"] for row in rows]


async def delete_outbox_row(db: Transaction, id: int) -> None:
    """Delete an outbox row whose messages were moved to other rows."""
    await db.execute(_DELETE_ROW, id)


async def read_unpublished(
    store: Store, skipped: Sequence[int] = (), known: Sequence[int] = ()
) -> list[Row]:
    """Return the next outbox rows to publish, except those in `skipped`.

    The messages of rows in `known` are returned empty, because the caller has cached them.
    """
    return await store.fetch(_UNPUBLISHED, MAX_OUTBOX_ROWS, MAX_OUTBOX_BYTES, skipped, known)


def is_full_read(rows: Sequence[Row]) -> bool:
    """Return True if `read_unpublished` reached its limits, so that there may be more rows."""
    return len(rows) >= MAX_OUTBOX_ROWS or sum(row["size"] for row in rows) >= MAX_OUTBOX_BYTES


async def delete_published(store: Store, ids: Sequence[int]) -> None:
    """Delete outbox rows whose messages the broker has acknowledged."""
    if ids:
        await store.write(_DELETE_PUBLISHED, ids)


async def mark_published(store: Store, ids: Sequence[int]) -> None:
    """Mark outbox rows as published, to be deleted when their messages have arrived."""
    if ids:
        await store.write(_MARK_PUBLISHED, ids)


async def delete_arrived(db: Transaction, arrived: Sequence[tuple[int, str]]) -> None:
    """Delete outbox rows whose messages have arrived, given by row id and message id."""
    if arrived:
        ids, message_ids = zip(*arrived, strict=True)
        await db.execute(_DELETE_ARRIVED, ids, message_ids)


async def outbox_length(store: Store) -> int:
    """Return the number of messages in the outbox that are not published."""
    [row] = await store.fetch(_OUTBOX_LENGTH)
    count: int = row["length"]
    return count


async def publish_lost(db: Transaction, seconds: float, limit: int) -> int:
    """Mark rows whose messages were lost for a second publication, and return their number.

    A message is lost if it was published and did not arrive within `seconds`.
    """
    published = await db.execute(_PUBLISH_LOST, seconds, limit)
    if published:
        await db.notify(OUTBOX_WAKE)
    return published


async def read_lost(db: Transaction, seconds: float, limit: int) -> list[Row]:
    """Return rows published twice whose messages did not arrive within `seconds`."""
    return await db.fetch(_LATE_LOST, seconds, limit)


async def publish_again(db: Transaction, ids: Sequence[int]) -> None:
    """Mark these rows for another publication."""
    await db.execute(_PUBLISH_AGAIN, ids)
    await db.notify(OUTBOX_WAKE)


MAX_LETTER_REASON: Final = 4_000
"""The maximum length of the reason in a dead letter, in characters."""

_INSERT_LETTER: Final = """
INSERT INTO dead_letters (id, kind, topic, run_id, task, target, code, message, body, attempts,
    created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (id) DO NOTHING
"""


_SELECT_LETTER: Final = """
SELECT id, kind, topic, run_id, task, target, code, message, body, attempts, created_at,
    replayed_at, replayed_by
FROM dead_letters
"""
ONE_LETTER: Final = f"{_SELECT_LETTER} WHERE id = $1"
MARK_REPLAYED: Final = "UPDATE dead_letters SET replayed_at = $2, replayed_by = $3 WHERE id = $1"
ONE_MESSAGE_LETTER: Final = """
SELECT topic, run_id, body FROM dead_letters WHERE id = $1 AND kind = 'message'
"""


class NewDeadLetter(Struct, frozen=True, kw_only=True):
    """A dead letter to store: a failed task, or a message that could not be used."""

    id: str
    kind: Literal["task", "message"]
    topic: str = ""
    run_id: str = ""
    task: str = ""
    target: str = ""
    code: str
    message: str
    body: str
    """The input of the failed task, or the text of the message."""
    attempts: int = 1
    at: float


async def insert_dead_letter(db: Transaction, letter: NewDeadLetter) -> bool:
    """Store a dead letter; return False if its id exists already."""
    made = await db.execute(
        _INSERT_LETTER, letter.id, letter.kind, letter.topic, letter.run_id, letter.task,
        letter.target, letter.code, _without_nul(letter.message[:MAX_LETTER_REASON]),
        _without_nul(letter.body), letter.attempts, letter.at,
    )  # fmt: skip
    return bool(made)


def _without_nul(text: str) -> str:
    """Remove NUL characters, which PostgreSQL cannot store, from the text of a dead letter."""
    return text.replace("\0", "")


class LetterFilter(Struct, frozen=True, kw_only=True):
    """The conditions for a list of dead letters; a field that is None sets no condition."""

    kind: str | None = None
    run_id: str | None = None
    replayed: bool | None = None

    def where(self) -> tuple[str, list[str]]:
        """Return the conditions as SQL for a WHERE clause, and the values of its parameters."""
        values: list[str] = []
        conditions = ["1 = 1"]
        for column, value in (("kind", self.kind), ("run_id", self.run_id)):
            if value is not None:
                values.append(value)
                conditions.append(f"{column} = ${len(values)}")
        if self.replayed is not None:
            conditions.append(f"replayed_at IS {'NOT ' if self.replayed else ''}NULL")
        return " AND ".join(conditions), values


async def count_letters(db: ReadTransaction, condition: LetterFilter) -> int:
    """Return the number of dead letters that match a filter."""
    where, values = condition.where()
    [count] = await db.fetch(f"SELECT COUNT(*) AS total FROM dead_letters WHERE {where}", *values)
    total: int = count["total"]
    return total


async def list_letters(
    db: ReadTransaction, condition: LetterFilter, before: tuple[float, str], limit: int
) -> list[Row]:
    """Return the newest dead letters that match a filter and precede `before`.

    `before` is the creation time and id of a dead letter.
    """
    where, values = condition.where()
    return await db.fetch(
        f"{_SELECT_LETTER} WHERE {where}"
        f" AND (created_at, id) < (${len(values) + 1}, ${len(values) + 2})"
        f" ORDER BY created_at DESC, id DESC LIMIT {limit}",
        *values,
        *before,
    )
