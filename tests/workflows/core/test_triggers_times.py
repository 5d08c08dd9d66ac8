"""Times as texts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from accord.workflows.core.triggers import read_time


@given(
    st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)),
    st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)
def test_any_time_is_what_the_standard_library_says(time: datetime, zone: timezone) -> None:
    local = time.replace(tzinfo=zone)
    expected = (local - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    assert read_time(local.isoformat()) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    "text",
    [
        "", "2026-11-15", "2026-11-15T09:30:00", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z",
        "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z",
        "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+00:60", "2026-01-01T00:00:00Z ",
    ],
)  # fmt: skip
def test_what_is_no_time_is_none(text: str) -> None:
    assert read_time(text) is None


def test_leap_days_are_days() -> None:
    assert read_time("2024-02-29t00:00:00.5z") == 1709164800.5
    assert read_time("1900-02-29T00:00:00Z") is None
