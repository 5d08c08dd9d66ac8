"""One bound for the memory of all messages that are on their way."""

from __future__ import annotations

from accord.transports.memory_budget import SMALL_BYTES, MemoryBudget, Reservation

BIG = 4 * SMALL_BYTES


def test_what_is_reserved_is_held_until_it_is_released() -> None:
    budget = MemoryBudget(3 * BIG)
    first, second = Reservation(budget), Reservation(budget)

    assert first.resize(BIG)
    assert second.resize(BIG)
    assert first.resize(2 * BIG)
    assert budget.held == 3 * BIG
    first.release()
    assert budget.held == BIG
    assert second.resize(3 * BIG)
    assert second.resize(BIG)
    assert budget.held == BIG


def test_a_message_that_does_not_fit_gives_up_what_it_held() -> None:
    budget = MemoryBudget(2 * BIG)
    first, second = Reservation(budget), Reservation(budget)

    assert first.resize(BIG)
    assert second.resize(BIG)
    assert not second.resize(BIG + 1)
    assert (second.size, budget.held) == (0, BIG)
    assert first.resize(2 * BIG)


def test_small_messages_always_fit_and_are_not_counted() -> None:
    budget = MemoryBudget(BIG)
    big, small = Reservation(budget), Reservation(budget)

    assert big.resize(BIG)
    assert small.resize(SMALL_BYTES)
    assert budget.held == BIG
    assert not small.resize(SMALL_BYTES + 1)


def test_a_message_that_is_alone_always_fits() -> None:
    budget = MemoryBudget(BIG)
    first, second = Reservation(budget), Reservation(budget)

    assert first.resize(10 * BIG)
    assert not second.resize(BIG)
    first.release()
    assert second.resize(BIG)


def test_a_part_is_bounded_by_itself_and_by_the_whole() -> None:
    budget = MemoryBudget(4 * BIG)
    part = budget.part(2)
    one, two, other = Reservation(part), Reservation(part), Reservation(budget)

    assert one.resize(BIG)
    assert two.resize(BIG)
    assert not two.resize(BIG + 1)
    assert other.resize(3 * BIG)
    assert (part.held, budget.held) == (BIG, 4 * BIG)
    assert not one.resize(BIG + 1)
    assert (part.held, budget.held) == (0, 3 * BIG)


def test_without_a_limit_everything_fits() -> None:
    budget = MemoryBudget(None)
    both = [Reservation(budget), Reservation(budget.part(4))]

    assert all(each.resize(1000 * BIG) for each in both)
    assert budget.held == 2000 * BIG


def test_whoever_forgets_a_reservation_releases_it() -> None:
    budget = MemoryBudget(BIG)
    assert Reservation(budget).resize(BIG)

    assert budget.held == 0
