"""One run being decided on. Pure: what is decided here is written elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from accord.workflows.core.decisions import decide
from accord.workflows.core.errors import RefusedError
from accord.workflows.core.events import (
    Arrival,
    Command,
    Event,
    RequestApproval,
    RetryRequested,
    RunFinished,
)
from accord.workflows.core.machine import take
from accord.workflows.core.program import find_active
from accord.workflows.core.state import FINAL
from accord.workflows.executor.held import Held
from accord.workflows.storage.inbox import Received

SNAPSHOT_EVENTS: Final = 100
"""After how many events a snapshot is kept, at first: later after a quarter of all, so that those
of a long run do not cost more and more."""


class Turn(Struct):
    """What was decided for a run: the events to record, of which the first is number `first`, and
    the commands to send."""

    held: Held
    messages: Sequence[Received]
    first: int
    events: list[Event]
    commands: list[Command]
    ignored: int
    closed: list[str]
    """Approvals that nobody is asked for any more."""

    @property
    def end(self) -> RunFinished | None:
        """How the run ended in this turn, if it did."""
        last = self.events[-1] if self.events else None
        return last if isinstance(last, RunFinished) else None

    @property
    def outcome(self) -> RunFinished | None:
        """How the run ended, where its parent has to hear of it: it ended in this turn, or had
        completed before another task of its parent began to wait for it."""
        state = self.held.state
        if self.end is not None or state.phase not in FINAL:
            return self.end
        if not any(_is_from_parent(event) for event in self.events):
            return None
        assert state.phase == "completed", "other runs go on"
        return RunFinished(at=self.events[-1].at, status="completed", output=state.output)

    @property
    def wants_snapshot(self) -> bool:
        at = self.held.row.snapshot_at
        since = self.held.state.applied - at
        return bool(self.events) and (
            self.held.state.phase in FINAL or since >= max(SNAPSHOT_EVENTS, at // 4)
        )

    def next_timer(self, now: float) -> float | None:
        """What the row is to say about the time before which nothing is due. It may say too early
        a time, which costs a look at the run then, and spares a write now."""
        written, due = self.held.row.next_timer, self.held.state.next_timer
        if written is None or written <= now or self.held.state.phase in FINAL:
            return due
        return written if due is None else min(written, due)


def begin(held: Held, messages: Sequence[Received]) -> Turn:
    """A turn of a run, in which nothing is decided yet."""
    return Turn(held, messages, held.state.applied + 1, [], [], 0, [])


def play(turn: Turn, arrivals: Sequence[Arrival], now: float) -> Iterator[None]:
    """Decide on what arrived, in this order, and on what is due. It stops now and then, for whoever
    else has something to do."""
    for arrival in arrivals:
        _receive(turn, arrival)
        yield from _decide(turn, now)
    if not arrivals:
        yield from _decide(turn, now)
    held = turn.held
    asked = {each.task for each in turn.commands if isinstance(each, RequestApproval)}
    held.approvals |= asked
    turn.closed = [task for task in held.approvals if find_active(held.state, task) is None]
    held.approvals.difference_update(turn.closed)


def _is_from_parent(event: Event) -> bool:
    return isinstance(event, RetryRequested) and event.parent_task is not None


def _receive(turn: Turn, arrival: Arrival) -> None:
    try:
        event = take(turn.held.program, turn.held.state, arrival)
    except RefusedError:  # whoever asks is told so before; this one did not ask
        event = None
    if event is None:
        turn.ignored += 1
    else:
        turn.events.append(event)


def _decide(turn: Turn, now: float) -> Iterator[None]:
    more = True
    while more:
        decision = decide(turn.held.program, turn.held.state, now)
        turn.events.extend(decision.events)
        turn.commands.extend(decision.commands)
        more = decision.more
        if more:
            yield
