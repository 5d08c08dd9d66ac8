"""The inbox of an executor: runs to decide on next.

Messages that arrived for its runs, timers that are due, and results that a bus in the same process
offers, which are in no table until they are recorded. Messages and timers that cannot be decided
on are postponed, and become dead letters in the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Final

from msgspec import Struct

from accord.operations.context import new_id
from accord.store.store import Engine, Store, Transaction
from accord.workflows.storage.history import RunRow, encode_problem, problem_of, unreadable_message
from accord.workflows.storage.messages import (
    MAX_DELAY_SECONDS,
    MAX_INBOX_MESSAGES,
    InboxMessage,
    NewDeadLetter,
    RunMessage,
    delete_messages,
    insert_dead_letter,
    postpone_messages,
    read_due,
    read_messages,
)
from accord.workflows.storage.runs import hold_run, postpone_timer

CHECK_SECONDS: Final = 1.0
"""The interval in seconds at which everything is read."""


class Agenda:
    """The runs to decide on next. Used by one task."""

    def __init__(self, store: Store, now: Callable[[], float]) -> None:
        self._store = store
        self._now = now
        self._next_due: float | None = None
        self._looked = 0.0
        self._newest = 0
        self._marks = (0, 0)
        self.forget()

    @property
    def pause(self) -> float:
        """The number of seconds until the next timer, as far as is known."""
        if self._next_due is None:
            return CHECK_SECONDS
        return min(max(self._next_due - self._now(), 0.0), CHECK_SECONDS)

    def forget(self) -> None:
        """Read everything again, because the shards have changed."""
        self._looked = -CHECK_SECONDS
        self._marks = (0, 0)

    def note(self, due: float | None) -> None:
        """Note a time at which a timer is due; nothing notifies of it."""
        if due is not None:
            self._next_due = due if self._next_due is None else min(due, self._next_due)

    def is_due(self, now: float) -> bool:
        """Return True if it is time to read, with or without a notification."""
        is_time = monotonic() - self._looked >= CHECK_SECONDS
        return is_time or (self._next_due is not None and self._next_due <= now)

    async def read(self, shards: Iterable[int], now: float) -> dict[str, list[InboxMessage]]:
        """Return the runs to decide on, with their messages. Raise StoreError."""
        is_time = monotonic() - self._looked >= CHECK_SECONDS
        after = 0 if is_time else self._marks[0]
        messages = await read_messages(self._store, self._store.engine, shards, after, now)
        if messages:
            self._newest = max(self._newest, messages[-1].id)
        found = _by_run(messages)
        if is_time or (self._next_due is not None and self._next_due <= now):
            for run_id in await self._due(shards, now):
                found.setdefault(run_id, [])
        if is_time:
            self._looked = monotonic()
            self._marks = (self._marks[1], self._newest)
        return found

    async def _due(self, shards: Iterable[int], now: float) -> list[str]:
        soon = await read_due(self._store, self._store.engine, shards, now + CHECK_SECONDS)
        due = [run_id for run_id, at in soon.items() if at <= now]
        # A full read: there may be more, so read again at once.
        following = now if len(due) >= MAX_INBOX_MESSAGES else None
        self._next_due = min((at for at in soon.values() if at > now), default=following)
        return due


def _by_run(messages: Sequence[InboxMessage]) -> dict[str, list[InboxMessage]]:
    """Return messages by run; a message that failed before goes alone."""
    found: dict[str, list[InboxMessage]] = {}
    for message in messages:
        found.setdefault(message.run_id, []).append(message)
    return {
        run_id: each[:1] if any(message.tries for message in each) else each
        for run_id, each in found.items()
    }


class Offer(Struct, eq=False):
    """Messages that came together; `done` gets the ids of the recorded ones."""

    messages: list[InboxMessage]
    recorded: set[str]
    done: asyncio.Future[set[str]]


class Offers:
    """Waiting offers. Belongs to the event loop."""

    def __init__(self) -> None:
        self._waiting: list[Offer] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, messages: Iterable[RunMessage]) -> asyncio.Future[set[str]]:
        """Add an offer; await the future for the ids of the recorded messages."""
        received = [_received(each) for each in messages]
        offer = Offer(received, set(), asyncio.get_running_loop().create_future())
        self._waiting.append(offer)
        return offer.done

    def take(self) -> list[Offer]:
        """Return and remove all offers; each is to be settled."""
        offers, self._waiting = self._waiting, []
        return offers


def record_offers(offers: Sequence[Offer], messages: Iterable[InboxMessage]) -> None:
    """Note that these messages are recorded."""
    ids = [each.message_id for each in messages if each.message is not None]
    for offer in offers:
        offer.recorded.update(ids)


def settle_offers(offers: Sequence[Offer]) -> None:
    """Complete these offers with the ids that were recorded."""
    for offer in offers:
        if not offer.done.done():
            offer.done.set_result(offer.recorded)


def _received(message: RunMessage) -> InboxMessage:
    return InboxMessage(0, message.id, message.run_id, "", 0, message)


MAX_TRIES: Final = 1_440
"""Tries of a message that cannot be read: about a day."""


class DecisionProblem(Struct, frozen=True):
    """Messages of a run that could not be decided on, and the error.

    Without messages, a timer could not be decided on.
    """

    run_id: str
    messages: Sequence[InboxMessage]
    error: Exception
    row: RunRow | None = None
    """The row of the run, if the problem is with the run: nothing can be decided on it."""

    @property
    def problem(self) -> str:
        """The problem, encoded for storage."""
        if isinstance(self.error, UnreadableMessageError):
            return encode_problem(unreadable_message(self.error))
        return encode_problem(problem_of(self.error))

    @property
    def is_new(self) -> bool:
        """True if the problem was not logged yet."""
        if self.row is not None:
            return self.row.problem != self.problem
        return any(not each.tries for each in self.messages)

    @property
    def given_up(self) -> list[InboxMessage]:
        """Messages that could not be read for a day."""
        if not isinstance(self.error, UnreadableMessageError):
            return []
        return [each for each in self.messages if each.tries + 1 >= MAX_TRIES]


async def postpone_problems(
    db: Transaction, engine: Engine, problems: Sequence[DecisionProblem], now: float
) -> None:
    """Postpone undecidable messages and timers, or give up unreadable messages."""
    for trouble in problems:
        given_up, problem = trouble.given_up, trouble.problem
        for each in given_up:
            await insert_dead_letter(db, _dead_letter(trouble, each, now))
        await delete_messages(db, engine, given_up)
        later = [each for each in trouble.messages if each.id and each not in given_up]
        if later:
            rows = [(each.id, now + _delay(each.tries), problem) for each in later]
            await postpone_messages(db, rows)
        if not trouble.messages:
            await postpone_timer(db, trouble.run_id, problem, now + MAX_DELAY_SECONDS)
        elif trouble.row is not None:
            await hold_run(db, trouble.run_id, problem)


def _delay(tries: int) -> float:
    return min(2.0 ** min(tries, 10), MAX_DELAY_SECONDS)


def _dead_letter(trouble: DecisionProblem, message: InboxMessage, now: float) -> NewDeadLetter:
    return NewDeadLetter(
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


class UnreadableMessageError(Exception):
    """A message that no release can read."""
