"""The next time of a schedule, also on days with 23 and 25 hours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from accord.workflows.core.triggers import Cron, read_cron
from accord.workflows.triggers.triggers import find_zone, known_timezones, next_fire

BERLIN = "Europe/Berlin"
"""Put forward on 2026-03-29 from 2:00 to 3:00, and back on 2026-10-25 from 3:00 to 2:00."""


def fires(cron: str, zone: str, after: str, count: int) -> list[str]:
    """The next times, in their timezone, as text."""
    clock, times = find_zone(zone), []
    at = datetime.fromisoformat(after).replace(tzinfo=clock).timestamp()
    for _ in range(count):
        at = next_fire(read_cron(cron), clock, at)
        times.append(datetime.fromtimestamp(at, clock).isoformat())
    return times


@pytest.mark.parametrize(
    ("cron", "after", "times"),
    [
        ("0 9 * * 1-5", "2026-11-13T09:00", ["2026-11-16T09:00:00+00:00"]),
        ("@daily", "2026-12-31T23:59", ["2027-01-01T00:00:00+00:00"]),
        ("*/30 8,9 * * *", "2026-11-15T08:30", ["2026-11-15T09:00:00+00:00", "2026-11-15T09:30:00+00:00"]),
        ("0 0 29 2 *", "2026-11-15T00:00", ["2028-02-29T00:00:00+00:00"]),
        ("0 0 29 2 *", "2096-03-01T00:00", ["2104-02-29T00:00:00+00:00"]),
        ("0 0 13 * fri", "2026-11-12T00:00", ["2026-11-13T00:00:00+00:00", "2026-11-20T00:00:00+00:00"]),
    ],
)  # fmt: skip
def test_the_next_time_fits_all_fields(cron: str, after: str, times: list[str]) -> None:
    assert fires(cron, "UTC", after, len(times)) == times


def test_a_time_that_a_day_does_not_have_comes_once_and_later() -> None:
    assert fires("30 2 * * *", BERLIN, "2026-03-28T12:00", 2) == [
        "2026-03-29T03:30:00+02:00",
        "2026-03-30T02:30:00+02:00",
    ]
    assert fires("30 2,3 * * *", BERLIN, "2026-03-28T12:00", 2) == [
        "2026-03-29T03:30:00+02:00",
        "2026-03-30T02:30:00+02:00",
    ]


def test_a_time_that_a_day_has_twice_comes_once() -> None:
    assert fires("30 2 * * *", BERLIN, "2026-10-24T12:00", 2) == [
        "2026-10-25T02:30:00+02:00",
        "2026-10-26T02:30:00+01:00",
    ]


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_what_comes_every_hour_goes_by_real_time(day: str) -> None:
    clock = ZoneInfo(BERLIN)
    at = datetime.fromisoformat(f"{day}T00:00").replace(tzinfo=clock).timestamp()
    times = [at]
    for _ in range(20):
        times.append(next_fire(read_cron("*/30 * * * *"), clock, times[-1]))
    assert {later - earlier for earlier, later in pairwise(times)} == {1_800.0}


@pytest.mark.parametrize("zone", [BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Gaza"])
def test_every_day_of_a_year_has_one_run(zone: str) -> None:
    for cron in ("30 2 * * *", "15 0 * * *", "45 1 * * *"):
        clock = find_zone(zone)
        at = datetime(2026, 1, 1, tzinfo=clock).timestamp()
        days = []
        for _ in range(365):
            at = next_fire(read_cron(cron), clock, at)
            days.append(datetime.fromtimestamp(at, clock).date())
        assert all(later - earlier == timedelta(days=1) for earlier, later in pairwise(days))


FIELDS = st.tuples(
    st.sampled_from(["0", "*/7", "5,50", "30-40/5"]),
    st.sampled_from(["*", "2", "1-3", "*/5", "0,23"]),
    st.sampled_from(["*", "*", "1,15", "28-31"]),
    st.sampled_from(["*", "*", "3,10", "jan-mar"]),
    st.sampled_from(["*", "*", "mon-fri", "0", "sat,sun"]),
)


@given(FIELDS, st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1)))
def test_nothing_that_fits_is_left_out(fields: tuple[str, ...], after: datetime) -> None:
    """By a clock without changes the next time is the first minute that fits."""
    cron = read_cron(" ".join(fields))
    start = after.replace(tzinfo=UTC).timestamp()
    found = next_fire(cron, UTC, start)
    minute = (start // 60 + 1) * 60
    while minute < min(found, start + 86_400):
        assert not _fits(cron, minute)
        minute += 60
    assert _fits(cron, found)
    assert found > start


def _fits(cron: Cron, at: float) -> bool:
    time = datetime.fromtimestamp(at, UTC)
    day = cron.has_day(time.month, time.day, time.isoweekday() % 7)
    return day and time.hour in cron.hours and time.minute in cron.minutes and time.second == 0


def test_utc_is_known_whatever_the_machine_knows() -> None:
    assert "UTC" in known_timezones()
    assert "Europe/Berlin" in known_timezones()
