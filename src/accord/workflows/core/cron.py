"""Schedules as cron has them: five fields, or a word like `@daily`. Which times they stand for on
the clocks of a timezone is found elsewhere.

    minute (0-59)  hour (0-23)  day (1-31)  month (1-12, jan-dec)  weekday (0-7, sun-sat)

A field is `*`, a number, a range `a-b`, each with a step `/n`, or several with commas between. As
everywhere, a day is one that fits the day of the month or the weekday where both are restricted.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from accord.workflows.core.errors import CronError

WORDS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_LONGEST: Final = 200
_MONTH_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class _Field(Struct, frozen=True):
    """What one field may have; `names` are its values as words, from the least on."""

    what: str
    least: int
    most: int
    names: tuple[str, ...] = ()


_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day", 1, 31),
    _Field(
        "month", 1, 12,
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    ),
    _Field("weekday", 0, 7, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)  # fmt: skip


class Cron(Struct, frozen=True):
    """The times of a schedule. Weekdays are counted from 0, which is Sunday."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool
    """Whether one of day and weekday is enough."""

    @property
    def every_hour(self) -> bool:
        return len(self.hours) == 24

    def has_day(self, month: int, day: int, weekday: int) -> bool:
        if month not in self.months:
            return False
        fits = (day in self.days, weekday in self.weekdays)
        return any(fits) if self.either else all(fits)


def read_cron(text: str) -> Cron:
    """The schedule that a text is. Raises CronError."""
    if len(text) > _LONGEST:
        raise CronError(f"it has more than {_LONGEST} characters")
    parts = WORDS.get(text.strip().lower(), text).lower().split()
    if len(parts) != len(_FIELDS):
        raise CronError(f"it has {len(parts)} fields, not {len(_FIELDS)}")
    minutes, hours, days, months, weekdays = (
        _values(part, field) for part, field in zip(parts, _FIELDS, strict=True)
    )
    either = not parts[2].startswith("*") and not parts[4].startswith("*")
    if not either and all(min(days) > _MONTH_DAYS[month - 1] for month in months):
        raise CronError("there is no such day")
    return Cron(minutes, hours, days, months, frozenset(day % 7 for day in weekdays), either)


def _values(text: str, field: _Field) -> frozenset[int]:
    values: set[int] = set()
    for part in text.split(","):
        values.update(_range(part, field))
    return frozenset(values)


def _range(text: str, field: _Field) -> range:
    whole, slash, step = text.partition("/")
    if slash and (not _is_number(step) or int(step) == 0):
        raise CronError(f"the {field.what} {text!r} has no step")
    if whole == "*":
        # 7 is Sunday as well as 0: every second weekday begins with one of them only.
        first, last = field.least, 6 if field.what == "weekday" else field.most
    else:
        begin, dash, end = whole.partition("-")
        first = _value(begin, field)
        last = _value(end, field) if dash else field.most if slash else first
    if last < first:
        raise CronError(f"the {field.what} {text!r} ends before it begins")
    return range(first, last + 1, int(step) if slash else 1)


def _value(text: str, field: _Field) -> int:
    if text in field.names:
        return field.least + field.names.index(text)
    if _is_number(text) and field.least <= int(text) <= field.most:
        return int(text)
    raise CronError(f"{text!r} is no {field.what} ({field.least}-{field.most})")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 4
