"""The expressions of triggers, and cron schedules.

A trigger has a filter and an input for the runs that it starts. Their expressions see one variable,
which is `event`, `schedule` or `request`. A schedule is a cron expression of five fields, or a word
such as `@daily`. `accord.workflows.triggers` computes the times in a timezone.
"""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn

from msgspec import Struct

from accord.workflows.core.definition import Trigger, TriggerKind
from accord.workflows.core.errors import CronError, EvaluationError
from accord.workflows.core.expressions.evaluation import (
    Template,
    read_template,
    render,
    render_truth,
)
from accord.workflows.core.expressions.functions import Budget
from accord.workflows.core.expressions.syntax import LoopFieldName, StepFieldName

_TIME: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_MONTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def read_time(text: str) -> float | None:
    """Convert a time like `2026-11-15T09:30:00Z` to seconds since 1970; None if it is invalid."""
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


WORDS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MAX_EXPRESSION_LENGTH: Final = 200
_MONTH_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class _Field(Struct, frozen=True):
    """A field of a cron expression, with its range of values.

    `names` are the words for the values: the first word means `least`, the second `least + 1`.
    """

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
    """A parsed cron expression. Weekdays count from 0, which is Sunday."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool
    """True if a date needs to match either `days` or `weekdays`, False if it must match both."""

    @property
    def every_hour(self) -> bool:
        """True if the schedule fires in every hour of the day."""
        return len(self.hours) == 24

    def has_day(self, month: int, day: int, weekday: int) -> bool:
        """Return True if the schedule fires on this date."""
        if month not in self.months:
            return False
        fits = (day in self.days, weekday in self.weekdays)
        return any(fits) if self.either else all(fits)


def read_cron(text: str) -> Cron:
    """Parse a cron expression. Raise CronError if it is invalid."""
    if len(text) > _MAX_EXPRESSION_LENGTH:
        raise CronError(f"it has more than {_MAX_EXPRESSION_LENGTH} characters")
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
    base, slash, step = text.partition("/")
    if slash and (not _is_number(step) or int(step) == 0):
        raise CronError(f"the {field.what} {text!r} has no step")
    if base == "*":
        # 7 is Sunday as well as 0: `*/2` must not count Sunday twice.
        first, last = field.least, 6 if field.what == "weekday" else field.most
    else:
        begin, dash, end = base.partition("-")
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


SEEN: Final[dict[TriggerKind, str]] = {
    "event": "event",
    "schedule": "schedule",
    "webhook": "request",
}
"""The name of the variable in the expressions of a trigger, by the kind of trigger."""


class Start(Struct, frozen=True):
    """A compiled trigger: the trigger with its parsed filter and input."""

    trigger: Trigger
    filter: Template | None
    input: Template | None


def compile_trigger(trigger: Trigger) -> Start:
    """Parse the expressions of a valid trigger."""
    variables = frozenset({SEEN[trigger.kind]})
    return Start(
        trigger,
        None if trigger.filter is None else read_template(trigger.filter, variables),
        None if trigger.input is None else read_template(trigger.input, variables),
    )


def applies(start: Start, seen: Any) -> bool:
    """Return True if the trigger has no filter, or its filter accepts `seen`.

    Raise EvaluationError if the filter cannot be evaluated.
    """
    return start.filter is None or render_truth(start.filter, _Scope(seen), Budget())


def input_for(start: Start, seen: Any) -> Any:
    """Return the input for a run that the trigger starts.

    Raise EvaluationError if the input cannot be evaluated.
    """
    if start.input is not None:
        return render(start.input, _Scope(seen), Budget())
    return seen["body"] if start.trigger.kind == "webhook" else seen


class _Scope:
    """The scope of a trigger's expressions."""

    def __init__(self, seen: Any) -> None:
        self._seen = seen

    def variable(self, name: str) -> Any:
        return self._seen

    def step(self, name: str, field: StepFieldName) -> NoReturn:
        raise EvaluationError("no step has run before a run")

    def loop(self, up: int, field: LoopFieldName) -> NoReturn:
        raise EvaluationError("there is no loop around a trigger")
