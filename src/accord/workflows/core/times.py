"""Times as seconds since 1970, from RFC 3339 texts."""

from __future__ import annotations

import re
from typing import Final

_TIME: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_MONTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def read_time(text: str) -> float | None:
    """Seconds since 1970 of a time like `2026-11-15T09:30:00Z`; None for what is no time."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    if not 1 <= month <= 12 or not 1 <= day <= _days(year, month):
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    offset = _offset(found[8])
    seconds = _days_since_1970(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second
    return None if offset is None else seconds - offset + float(found[7] or 0)


def _offset(zone: str) -> int | None:
    if zone in "Zz":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > 23 or minutes > 59:
        return None
    return (hours * 3_600 + minutes * 60) * (-1 if zone[0] == "-" else 1)


def _leaps(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days(year: int, month: int) -> int:
    return 29 if month == 2 and _leaps(year) else _MONTHS[month - 1]


def _days_since_1970(year: int, month: int, day: int) -> int:
    # Years that begin in March end with the leap day, so that months need no table.
    year -= month <= 2
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * 146_097 + day_of_era - 719_468
