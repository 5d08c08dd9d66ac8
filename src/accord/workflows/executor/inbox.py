"""The inbox of an executor: the messages and timers to decide on next.

It contains messages that arrived for the executor's runs, due timers, and results offered by a bus
in the same process. Offered results are in no table until they are recorded. Messages and timers
that cause errors are postponed; messages that cannot be decoded finally become dead letters.
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
"""The interval in seconds at which all messages and timers are read, not only new ones."""


class Agenda:
    """A reader of the messages and timers to decide on next.

    Only one asyncio task may use it.
    """

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
        """The number of seconds to wait for a notification before the next `read`."""
        if self._next_due is None:
            return CHECK_SECONDS
        return min(max(self._next_due - self._now(), 0.0), CHECK_SECONDS)

    def forget(self) -> None:
        """Make the next `read` return everything, because the shards have changed."""
        self._looked = -CHECK_SECONDS
        self._marks = (0, 0)

    def note(self, due: float | None) -> None:
        """Remember the time of a run's timer, because no notification will announce it."""
        if due is not None:
            self._next_due = due if self._next_due is None else min(due, self._next_due)

    def is_due(self, now: float) -> bool:
        """Return True if messages or timers must be read even without a notification."""
        is_time = monotonic() - self._looked >= CHECK_SECONDS
        return is_time or (self._next_due is not None and self._next_due <= now)

    async def read(self, shards: Iterable[int], now: float) -> dict[str, list[InboxMessage]]:
        """Return the runs to decide on, with their messages. Raise StoreError if a query fails."""
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
    """Group messages by run.

    If any message of a run failed before, only the run's first message is returned, so that the
    messages are decided on one by one.
    """
    found: dict[str, list[InboxMessage]] = {}
    for message in messages:
        found.setdefault(message.run_id, []).append(message)
    return {
        run_id: each[:1] if any(message.tries for message in each) else each
        for run_id, each in found.items()
    }


class Offer(Struct, eq=False):
    """Messages with task results that a bus in the same process offered together.

    The future `done` gets the ids of the messages that were recorded.
    """

    messages: list[InboxMessage]
    recorded: set[str]
    done: asyncio.Future[set[str]]


class Offers:
    """The queue of offers. Belongs to the event loop."""

    def __init__(self) -> None:
        self._waiting: list[Offer] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, messages: Iterable[RunMessage]) -> asyncio.Future[set[str]]:
        """Queue an offer; the returned future gets the ids of the recorded messages."""
        received = [_received(each) for each in messages]
        offer = Offer(received, set(), asyncio.get_running_loop().create_future())
        self._waiting.append(offer)
        return offer.done

    def take(self) -> list[Offer]:
        """Remove and return all queued offers; the caller must pass them to `settle_offers`."""
        offers, self._waiting = self._waiting, []
        return offers


def record_offers(offers: Sequence[Offer], messages: Iterable[InboxMessage]) -> None:
    """Note in the offers that these messages were recorded."""
    ids = [each.message_id for each in messages if each.message is not None]
    for offer in offers:
        offer.recorded.update(ids)


def settle_offers(offers: Sequence[Offer]) -> None:
    """Complete the futures of these offers with the ids of the recorded messages."""
    for offer in offers:
        if not offer.done.done():
            offer.done.set_result(offer.recorded)


def _received(message: RunMessage) -> InboxMessage:
    return InboxMessage(0, message.id, message.run_id, "", 0, message)


MAX_TRIES: Final = 1_440
"""How often an unreadable message is tried, for about a day, before it is given up."""


class DecisionProblem(Struct, frozen=True):
    """Messages of a run that could not be decided on, and the error.

    Without messages, it was a timer that could not be decided on.
    """

    run_id: str
    messages: Sequence[InboxMessage]
    error: Exception
    row: RunRow | None = None
    """The run's row if nothing can be decided on the run; None if only the messages failed."""

    @property
    def problem(self) -> str:
        """The reason of the problem, encoded for storage."""
        if isinstance(self.error, UnreadableMessageError):
            return encode_problem(unreadable_message(self.error))
        return encode_problem(problem_of(self.error))

    @property
    def is_new(self) -> bool:
        """True if the problem has not been logged before."""
        if self.row is not None:
            return self.row.problem != self.problem
        return any(not each.tries for each in self.messages)

    @property
    def given_up(self) -> list[InboxMessage]:
        """The messages that are unreadable after the maximum number of tries."""
        if not isinstance(self.error, UnreadableMessageError):
            return []
        return [each for each in self.messages if each.tries + 1 >= MAX_TRIES]


async def postpone_problems(
    db: Transaction, engine: Engine, problems: Sequence[DecisionProblem], now: float
) -> None:
    """Postpone the messages and timers with problems; make dead letters of those given up."""
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
    """A message cannot be decoded by any release."""
