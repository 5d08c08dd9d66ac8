"""Messages and timers that an executor could not decide on.

Each stays where it is and is tried again, with a growing delay, so that it
never holds up other runs; the reason is kept beside it. Only a message that nobody could read for
a day, in which it may be repaired or a newer release installed, becomes a dead letter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from accord.operations.identifiers import new_id
from accord.store.store import Engine, Transaction
from accord.workflows.executor.errors import UnreadableMessageError
from accord.workflows.storage.dead_letters import DeadLetter, keep_letter
from accord.workflows.storage.inbox import (
    LONGEST_DELAY,
    Received,
    delete_messages,
    postpone_messages,
)
from accord.workflows.storage.loading import RunRow
from accord.workflows.storage.problems import encode_problem, problem_of, unreadable_message
from accord.workflows.storage.runs import hold_run, postpone_timer

MOST_TRIES: Final = 1_440
"""Tries of a message that cannot be read: about a day."""


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
            await postpone_messages(db, rows)
        if not trouble.messages:
            await postpone_timer(db, trouble.run_id, problem, now + LONGEST_DELAY)
        elif trouble.row is not None:
            await hold_run(db, trouble.run_id, problem)


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
