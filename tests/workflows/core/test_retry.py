"""The next attempt of a failed task: its delay, its number and its limits."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from accord.workflows.core.definition import Retry
from accord.workflows.core.retry import Attempt, delay, next_attempt

PLAIN = Retry(jitter=False)


@pytest.mark.parametrize(
    ("tried", "seconds"), [(1, 1.0), (2, 2.0), (3, 4.0), (6, 30.0), (10_000_000, 30.0)]
)
def test_the_delay_grows_up_to_the_longest(tried: int, seconds: float) -> None:
    assert delay(PLAIN, tried, 0.5) == seconds


def test_a_delay_that_overflows_is_the_longest() -> None:
    assert delay(Retry(multiplier=100.0, jitter=False), 1_001, 0.5) == 30.0


@given(st.integers(1, 50), st.floats(0.0, 1.0))
def test_jitter_is_between_half_and_all_of_the_delay(tried: int, random: float) -> None:
    longest = delay(PLAIN, tried, 0.0)
    assert longest / 2 <= delay(Retry(), tried, random) <= longest


def test_the_same_message_follows_on_an_unknown_outcome() -> None:
    assert next_attempt(PLAIN, Attempt(), "unknown", now=10.0, random=0.0) == Attempt(2, 1, 11.0)


def test_a_new_message_follows_on_a_definite_failure() -> None:
    made = Attempt(2, 1, 11.0)
    policy = Retry(jitter=False, failures="all")
    assert next_attempt(policy, made, "definite", now=12.0, random=0.0) == Attempt(3, 2, 14.0)


def test_a_definite_failure_is_not_tried_again_unless_the_policy_says_so() -> None:
    assert next_attempt(PLAIN, Attempt(), "definite", now=0.0, random=0.0) is None


def test_the_other_side_may_ask_for_more_time() -> None:
    following = next_attempt(PLAIN, Attempt(), "unknown", now=0.0, random=0.0, retry_after=7.0)
    assert following == Attempt(2, 1, 7.0)


def test_no_attempt_follows_on_the_last_one() -> None:
    assert next_attempt(PLAIN, Attempt(3, 1), "unknown", now=0.0, random=0.0) is None


def test_no_attempt_begins_after_the_deadline() -> None:
    assert next_attempt(PLAIN, Attempt(), "unknown", now=0.0, random=0.0, deadline=1.0) is None
    assert next_attempt(PLAIN, Attempt(), "unknown", now=0.0, random=0.0, deadline=1.1) is not None
