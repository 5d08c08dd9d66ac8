"""What is installed in the body of a test is noticed on every machine, also where it is there."""

from __future__ import annotations

import pytest

from tests.installing import note_installation


@pytest.fixture
def prepared() -> str:
    note_installation("what a fixture asks for")
    return "what a fixture asks for"


def test_what_a_fixture_asked_for_may_be_used(prepared: str) -> None:
    note_installation(prepared)


def test_what_no_fixture_asked_for_is_refused() -> None:
    with pytest.raises(AssertionError, match="may install Kafka while its time runs") as refused:
        note_installation("Kafka")
    assert "test_what_no_fixture_asked_for_is_refused" in str(refused.value)
