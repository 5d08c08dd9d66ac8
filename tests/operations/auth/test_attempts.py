"""How fast somebody may guess passwords."""

from __future__ import annotations

from accord.operations.auth.attempts import (
    FORGET_SECONDS,
    FREE_ATTEMPTS_OF_ADDRESS,
    Attempts,
    SignInDelay,
)


def test_five_wrong_passwords_are_free_and_then_each_waits_twice_as_long() -> None:
    attempts = Attempts()
    assert [attempts.begin("ada", "A", 0.0).wait for _ in range(5)] == [0.0] * 5
    assert attempts.begin("ada", "A", 0.0) == SignInDelay(wait=1.0)
    assert attempts.begin("ada", "A", 0.5) == SignInDelay(wait=0.5)
    assert attempts.begin("ada", "A", 1.0).wait == 0.0
    assert attempts.begin("ada", "A", 1.0) == SignInDelay(wait=2.0)
    assert attempts.begin("ada", "A", 3.0).wait == 0.0
    assert attempts.begin("ada", "A", 3.0) == SignInDelay(wait=4.0)


def test_nobody_waits_longer_than_a_minute() -> None:
    attempts = Attempts()
    now = 0.0
    for _ in range(30):
        now += attempts.begin("ada", "A", now).wait
    assert attempts.begin("ada", "A", now).wait <= 60.0


def test_the_right_password_starts_anew() -> None:
    attempts = Attempts()
    for _ in range(5):
        attempts.begin("ada", "A", 0.0)
    attempts.succeeded("ada", "A")
    assert attempts.begin("ada", "A", 0.0).wait == 0.0


def test_whoever_fails_in_somebodys_name_delays_them_and_does_not_lock_them_out() -> None:
    attempts = Attempts()
    for number in range(1000):
        attempts.begin("ada", f"attacker {number % 200}", float(number))
    pace = attempts.begin("ada", "home", 1000.0)
    assert (pace.wait, pace.delay) == (0.0, 2.0)


def test_an_address_that_tries_many_names_waits() -> None:
    attempts = Attempts()
    for number in range(FREE_ATTEMPTS_OF_ADDRESS):
        assert attempts.begin(f"name {number}", "A", 0.0).wait == 0.0
    assert attempts.begin("another name", "A", 0.0) == SignInDelay(wait=1.0)
    assert attempts.begin("another name", "B", 0.0) == SignInDelay()


def test_failures_are_forgotten() -> None:
    attempts = Attempts()
    for _ in range(6):
        attempts.begin("ada", "A", 0.0)
    assert attempts.begin("ada", "A", FORGET_SECONDS + 1.0) == SignInDelay()
