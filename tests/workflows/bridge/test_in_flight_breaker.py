"""The circuit breaker of a target."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from accord.workflows.bridge.in_flight import HALF_OPEN_CALLS, OPEN_SECONDS, WINDOW_SECONDS, Breaker


def opened(at: float = 0.0) -> Breaker:
    breaker = Breaker()
    for _ in range(5):
        breaker.failed(at)
    return breaker


def test_five_failures_in_a_row_open_it() -> None:
    breaker = Breaker()
    assert [breaker.failed(float(n)) for n in range(5)] == [False] * 4 + [True]
    assert (breaker.state(5.0), breaker.room(5.0)) == ("open", 0)


def test_a_success_begins_a_new_row() -> None:
    breaker = Breaker()
    for n in range(4):
        breaker.failed(float(n))
    breaker.succeeded(4.0)
    assert not breaker.failed(5.0)
    assert (breaker.state(5.0), breaker.room(5.0)) == ("closed", None)


def test_half_of_ten_calls_open_it() -> None:
    breaker = Breaker()
    opens = []
    for n in range(5):
        breaker.succeeded(float(n))
        opens.append(breaker.failed(float(n)))
    assert opens == [False] * 4 + [True]


def test_what_is_long_ago_does_not_count() -> None:
    breaker = Breaker()
    for _ in range(4):
        breaker.failed(0.0)
    breaker.succeeded(0.0)
    later = WINDOW_SECONDS + 1.0
    for n in range(6):
        breaker.succeeded(later + n)
    assert [breaker.failed(later + 10.0) for _ in range(4)] == [False] * 4


def test_three_calls_try_whether_it_works_again() -> None:
    breaker = opened()
    assert breaker.state(OPEN_SECONDS - 0.1) == "open"
    assert (breaker.state(OPEN_SECONDS), breaker.room(OPEN_SECONDS)) == ("trial", HALF_OPEN_CALLS)
    for left in (2, 1, 0):
        breaker.call_started()
        assert breaker.room(OPEN_SECONDS) == left
    for state in ("trial", "trial", "closed"):
        breaker.succeeded(OPEN_SECONDS + 1.0)
        assert breaker.state(OPEN_SECONDS + 1.0) == state


def test_one_failed_trial_opens_it_again() -> None:
    breaker = opened()
    breaker.call_started()
    assert breaker.failed(OPEN_SECONDS + 1.0)
    assert breaker.state(OPEN_SECONDS + 2.0) == "open"
    assert breaker.state(2 * OPEN_SECONDS + 1.0) == "trial"


def test_a_trial_that_tells_nothing_makes_room_for_another() -> None:
    breaker = opened()
    for _ in range(3):
        breaker.call_started()
    breaker.call_dropped()
    assert breaker.room(OPEN_SECONDS) == 1


@pytest.mark.parametrize("works", [True, False])
def test_what_began_before_it_opened_changes_nothing(works: bool) -> None:
    breaker = opened()
    if works:
        breaker.succeeded(1.0)
    else:
        assert not breaker.failed(1.0)
    assert (breaker.state(1.0), breaker.state(OPEN_SECONDS)) == ("open", "trial")


@given(st.lists(st.tuples(st.booleans(), st.floats(0.0, 200.0)), max_size=60))
def test_it_always_closes_once_everything_works(calls: list[tuple[bool, float]]) -> None:
    breaker, now = Breaker(), 0.0
    for works, pause in calls:
        now += pause
        if breaker.room(now) != 0:
            breaker.call_started()
            if works:
                breaker.succeeded(now)
            else:
                breaker.failed(now)
    for _ in range(4):
        now += OPEN_SECONDS
        while (room := breaker.room(now)) is not None and room > 0:
            breaker.call_started()
            breaker.succeeded(now)
    assert breaker.state(now) == "closed"
