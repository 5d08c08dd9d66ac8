"""Histories that were recorded once fold and replay as they did then."""

from __future__ import annotations

from typing import get_args

import pytest

from accord.workflows.core.decisions import decide
from accord.workflows.core.events import Arrival, Decided
from accord.workflows.core.machine import fold
from accord.workflows.core.program import compile_program
from accord.workflows.core.state import State
from accord.workflows.core.transitions import apply
from tests.workflows.core.recorded import Recorded, read_histories

HISTORIES = list(read_histories())


@pytest.mark.parametrize("recorded", HISTORIES, ids=lambda recorded: recorded.name)
def test_a_recorded_history_replays_identically(recorded: Recorded) -> None:
    program = compile_program(recorded.definition)
    state, place = State(), 0
    while place < len(recorded.history):
        event = recorded.history[place]
        if isinstance(event, get_args(Arrival)):
            apply(program, state, event)
            place += 1
        decided = decide(program, state, event.at).events
        assert list(decided) == recorded.history[place : place + len(decided)]
        assert decided or isinstance(event, get_args(Arrival))
        place += len(decided)
    assert fold(program, recorded.history) == state


OUTCOMES = {
    "review": "completed",
    "review-failing": "failed",
    "people": "completed",
    "loops": "completed",
    "prose": "completed",
}


def test_recorded_histories_end_as_they_did() -> None:
    ended = {
        recorded.name: fold(compile_program(recorded.definition), recorded.history).status
        for recorded in HISTORIES
    }
    assert ended == OUTCOMES


def test_every_kind_of_event_was_recorded() -> None:
    kinds = {type(event) for recorded in HISTORIES for event in recorded.history}
    missing = {kind.__name__ for kind in (*get_args(Arrival), *get_args(Decided))} - {
        kind.__name__ for kind in kinds
    }
    assert missing == set()
