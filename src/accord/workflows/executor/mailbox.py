"""What an executor has to decide on: messages that arrived for the runs of its shards, and runs in
which something is due.

What cannot be decided on stays where it is and is tried again, with a growing delay, so that it
never holds up other runs; the reason is kept beside it. Only a message that nobody could read for
a day, in which it may be repaired or a newer release installed, becomes a dead letter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from accord.operations.identifiers import new_id
from accord.store.store import Engine, Reading, Row, Transaction
from accord.workflows.executor.errors import UnreadableMessageError
from accord.workflows.storage.dead_letters import DeadLetter, keep_letter
from accord.workflows.storage.inbox import Message
from accord.workflows.storage.lists import IN_NUMBERS, as_parameter
from accord.workflows.storage.loading import RunRow
from accord.workflows.storage.problems import encode_problem, problem_of, unreadable_message

MOST_MESSAGES: Final = 500
"""How many are read at once."""
MOST_BYTES: Final = 4 * 1024 * 1024
"""How many bytes of them; one may be larger."""
LONGEST_DELAY: Final = 60.0
"""How long a message waits at most before it is tried again."""
MOST_TRIES: Final = 1_440
"""Tries of a message that cannot be read: about a day."""

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
                AND (due <= $3 OR due > $3 + {LONGEST_DELAY})
            ORDER BY id LIMIT {MOST_MESSAGES}
        ) AS first
    ) AS measured
    WHERE before < {MOST_BYTES} ORDER BY id
    """
    for engine, many in IN_NUMBERS.items()
}
_DUE: Final = {
    engine: f"""
    SELECT id, next_timer FROM runs WHERE shard {many.format("$1")} AND next_timer <= $2
    ORDER BY next_timer LIMIT {MOST_MESSAGES}
    """
    for engine, many in IN_NUMBERS.items()
}
_DELETE: Final = {
    engine: f"DELETE FROM run_inbox WHERE id {many.format('$1')}"
    for engine, many in IN_NUMBERS.items()
}
_POSTPONED: Final = f"""
SELECT id, message_id, run_id, arrival, tries FROM run_inbox WHERE run_id = $1 AND tries > 0
ORDER BY id LIMIT {MOST_MESSAGES}
"""
_POSTPONE: Final = """
UPDATE run_inbox SET tries = tries + 1, due = $2, problem = $3 WHERE id = $1
"""
_HOLD: Final = "UPDATE runs SET problem = $2 WHERE id = $1"
_POSTPONE_TIMER: Final = "UPDATE runs SET problem = $2, next_timer = $3 WHERE id = $1"


class Received(Struct, frozen=True):
    """A message, not yet looked into: in the inbox, or offered by the bus."""

    id: int
    """Of its row; 0 where it has none."""
    message_id: str
    run_id: str
    arrival: str
    tries: int
    message: Message | None = None
    """What was offered."""


class Trouble(Struct, frozen=True):
    """Messages of a run on which nothing could be decided, and why; without messages it was the
    time that nothing could be decided on."""

    run_id: str
    messages: Sequence[Received]
    error: Exception
    row: RunRow | None = None
    """Of the run, where the trouble is with that: nothing at all can be decided on it."""

    @property
    def problem(self) -> str:
        """What is kept of it."""
        if isinstance(self.error, UnreadableMessageError):
            return encode_problem(unreadable_message(self.error))
        return encode_problem(problem_of(self.error))

    @property
    def is_new(self) -> bool:
        """Whether nobody has been told yet."""
        if self.row is not None:
            return self.row.problem != self.problem
        return any(not each.tries for each in self.messages)

    @property
    def given_up(self) -> list[Received]:
        """Messages that nobody could read for a day."""
        if not isinstance(self.error, UnreadableMessageError):
            return []
        return [each for each in self.messages if each.tries + 1 >= MOST_TRIES]


async def read_messages(
    db: Reading, engine: Engine, shards: Iterable[int], after: int, now: float
) -> list[Received]:
    """What arrived for the runs of these shards, the first first; of messages with greater ids than
    `after` only. What commits late may have a smaller one than what was seen already."""
    rows = await db.fetch(_READ[engine], as_parameter(shards), after, now)
    return [_received(row) for row in rows]


def _received(row: Row) -> Received:
    return Received(row["id"], row["message_id"], row["run_id"], row["arrival"], row["tries"])


async def read_postponed(db: Reading, run_id: str) -> list[Received]:
    """The messages for a run that could not be decided on before, the first first."""
    rows = await db.fetch(_POSTPONED, run_id)
    return [_received(row) for row in rows]


async def read_due(
    db: Reading, engine: Engine, shards: Iterable[int], until: float
) -> dict[str, float]:
    """The runs of these shards in which something may be due until then, and when, the first
    first."""
    rows = await db.fetch(_DUE[engine], as_parameter(shards), until)
    return {row["id"]: row["next_timer"] for row in rows}


async def delete_messages(db: Transaction, engine: Engine, messages: Iterable[Received]) -> None:
    ids = [each.id for each in messages if each.id]
    if ids:
        await db.execute(_DELETE[engine], as_parameter(ids))


async def postpone(
    db: Transaction, engine: Engine, troubles: Sequence[Trouble], now: float
) -> None:
    """Try again later what could not be decided on, or give up what nobody can read."""
    for trouble in troubles:
        given_up, problem = trouble.given_up, trouble.problem
        for each in given_up:
            await keep_letter(db, _dead_letter(trouble, each, now))
        await delete_messages(db, engine, given_up)
        later = [each for each in trouble.messages if each.id and each not in given_up]
        if later:
            rows = [(each.id, now + _delay(each.tries), problem) for each in later]
            await db.execute_many(_POSTPONE, rows)
        if not trouble.messages:
            await db.execute(_POSTPONE_TIMER, trouble.run_id, problem, now + LONGEST_DELAY)
        elif trouble.row is not None:
            await db.execute(_HOLD, trouble.run_id, problem)


def _delay(tries: int) -> float:
    return min(2.0 ** min(tries, 10), LONGEST_DELAY)


def _dead_letter(trouble: Trouble, message: Received, now: float) -> DeadLetter:
    return DeadLetter(
        id=new_id(),
        kind="message",
        topic="run_inbox",
        run_id=message.run_id,
        code=type(trouble.error.__cause__ or trouble.error).__name__,
        message=str(trouble.error),
        body=message.arrival,
        attempts=message.tries + 1,
        at=now,
    )
