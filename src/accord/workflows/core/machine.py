"""A run is a fold over its history.

    program = compile_program(definition)
    state = fold(program, history)                      # or a state kept, and the events since
    event = receive(program, state, arrival)            # something arrived: record the event
    decision = decide(program, state, now)              # what follows, applied already

Whoever drives a run records the event and `decision.events` in this order, sends
`decision.commands` in the same transaction, and decides again when something arrives or at
`state.next_timer`.
"""

from __future__ import annotations

from collections.abc import Iterable

from accord.workflows.core.arrivals import admit
from accord.workflows.core.decisions import Decision, decide
from accord.workflows.core.events import Arrival, Event
from accord.workflows.core.program import Program, compile_program
from accord.workflows.core.state import State
from accord.workflows.core.transitions import apply

__all__ = ["Decision", "State", "apply", "compile_program", "decide", "fold", "receive", "take"]


def fold(program: Program, history: Iterable[Event], state: State | None = None) -> State:
    """The state after a history; or after more of it, where the state before is given."""
    state = State() if state is None else state
    for event in history:
        apply(program, state, event)
    return state


def receive(program: Program, state: State, arrival: Arrival) -> Arrival:
    """Applies what arrived to `state`; what is returned is to be recorded.

    Raises RefusedError for a signal that is too large.
    """
    event = admit(arrival)
    apply(program, state, event)
    return event


def take(program: Program, state: State, arrival: Arrival) -> Arrival | None:
    """As `receive`; but what is late, double or meaningless leaves no trace: None, and nothing is
    to be recorded."""
    ignored = state.ignored
    event = receive(program, state, arrival)
    if state.ignored == ignored:
        return event
    # Whoever ignores an event changes nothing but these two.
    state.ignored = ignored
    state.applied -= 1
    return None
