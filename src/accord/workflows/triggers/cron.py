"""When a schedule is next, on the clocks of a timezone.

Clocks are put forward and back. A time that a day does not have is made up for: it comes as much
later as the clock was put forward. A time that a day has twice counts once, the first time. A
schedule of every hour goes by real time: no hour is left out or counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from accord.workflows.core.triggers import Cron

_MOST_DAYS: Final = 366 * 9
"""A 29th of February is at most eight years away."""
_DAY: Final = timedelta(days=1)


@lru_cache(1)
def known_timezones() -> frozenset[str]:
    """The timezones that this machine knows; UTC whatever it knows."""
    return frozenset(available_timezones()) | {"UTC"}


def find_zone(name: str) -> tzinfo:
    """A timezone that is known."""
    return UTC if name == "UTC" else ZoneInfo(name)


def next_fire(cron: Cron, zone: tzinfo, after: float) -> float:
    """The first time of a schedule after another, in seconds since 1970."""
    # From the day before: what was skipped at its end comes later.
    day = datetime.fromtimestamp(after, zone).date() - _DAY
    for _ in range(_MOST_DAYS):
        if cron.has_day(day.month, day.day, day.isoweekday() % 7):
            later = [each for each in _instants(cron, zone, day) if each > after]
            if later:
                return min(later)
        day += _DAY
    raise AssertionError("every schedule that can be read has a day")


def _instants(cron: Cron, zone: tzinfo, day: date) -> Iterator[float]:
    for hour in cron.hours:
        for minute in cron.minutes:
            yield _instant(zone, day, hour, minute, fold=0)
            if cron.every_hour:
                yield _instant(zone, day, hour, minute, fold=1)


def _instant(zone: tzinfo, day: date, hour: int, minute: int, *, fold: int) -> float:
    return datetime.combine(day, time(hour, minute, fold=fold), zone).timestamp()
