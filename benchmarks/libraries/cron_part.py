"""Cron: reading an expression, the next time, and days on which clocks change."""

# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice, pairwise
from typing import Final
from zoneinfo import ZoneInfo

from croniter import croniter
from cronsim import CronSim

from accord.workflows.core.triggers import read_cron
from accord.workflows.triggers.triggers import next_fire
from benchmarks.libraries.figures import attempt, import_cost, micro, show, versions

Times = Callable[[str, datetime, int], list[datetime]]
BERLIN: Final = "Europe/Berlin"
ZONES: Final = (BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Gaza")


def by_us(cron: str, after: datetime, count: int) -> list[datetime]:
    zone, at, found = after.tzinfo, after.timestamp(), []
    assert zone is not None
    read = read_cron(cron)
    for _ in range(count):
        at = next_fire(read, zone, at)
        found.append(datetime.fromtimestamp(at, zone))
    return found


def by_croniter(cron: str, after: datetime, count: int) -> list[datetime]:
    times = croniter(cron, after)
    return [times.get_next(datetime) for _ in range(count)]


def by_cronsim(cron: str, after: datetime, count: int) -> list[datetime]:
    return list(islice(CronSim(cron, after), count))


SUBJECTS: Final[dict[str, Times]] = {
    "ours": by_us,
    "croniter": by_croniter,
    "cronsim": by_cronsim,
}


def at(text: str, zone: tzinfo) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone)


def clock_changes(times: Times) -> list[str]:
    """What differs from our tests (tests/workflows/triggers/test_triggers_times.py)."""
    wrong = []
    zone = ZoneInfo(BERLIN)
    for name, cron, after, expected in (
        ("gap", "30 2 * * *", "2026-03-28T12:00", ["03-29T03:30", "03-30T02:30"]),
        ("gap and after", "30 2,3 * * *", "2026-03-28T12:00", ["03-29T03:30", "03-30T02:30"]),
        ("twice", "30 2 * * *", "2026-10-24T12:00", ["10-25T02:30", "10-26T02:30"]),
    ):
        found = [f"{each:%m-%dT%H:%M}" for each in times(cron, at(after, zone), 2)]
        if found != expected:
            wrong.append(f"{name}: {found}")
    for day in ("2026-03-29", "2026-10-25"):
        moments = [each.timestamp() for each in times("*/30 * * * *", at(f"{day}T00:00", zone), 20)]
        if {later - earlier for earlier, later in pairwise(moments)} != {1_800.0}:
            wrong.append(f"every half hour of {day}")
    for name in ZONES:
        for cron in ("30 2 * * *", "15 0 * * *", "45 1 * * *"):
            days = [each.date() for each in times(cron, at("2026-01-01", ZoneInfo(name)), 365)]
            off = [one for one, other in pairwise(days) if other - one != timedelta(days=1)]
            if off:
                wrong.append(f"one run a day, {cron} in {name}: {off[0]}")
    return wrong


WRONG: Final = ("0 9 * *", "60 * * * *", "0 0 31 2 *", "*/0 * * * *", "5-1 * * * *", "a b c d e")


def refuses(times: Times, cron: str) -> bool:
    try:
        return not times(cron, at("2026-01-01", UTC), 1)
    except Exception:
        return True


def main() -> None:
    versions("croniter", "cronsim", "python-dateutil")
    berlin = ZoneInfo(BERLIN)
    usual, rare = at("2026-11-15T10:00", berlin), at("2026-11-15T10:00", UTC)
    for name, times in SUBJECTS.items():
        wrong = clock_changes(times)

        def often(count: int, times: Times = times) -> None:
            for _ in range(count):
                times("0 9 * * 1-5", usual, 1)

        def leap(count: int, times: Times = times) -> None:
            for _ in range(count):
                times("0 0 29 2 *", rare, 1)

        show(
            name,
            [
                ("read and next, `0 9 * * 1-5` in Berlin, µs", micro(often, 2_000)),
                ("read and next, `0 0 29 2 *`, µs", micro(leap, 100)),
                ("cases of changing clocks that differ, of 17", len(wrong)),
                *((f"  {each}", "") for each in wrong[:6]),
                ("accepts of wrong ones", [each for each in WRONG if not refuses(times, each)]),
            ],
        )
    hostile = "','.join(str(n % 60) for n in range(100_000)) + ' * * * *'"
    start = "from datetime import datetime; cron = " + hostile
    show(
        "an expression of 300 KB",
        [
            (
                "ours",
                attempt(f"{start}; from accord.workflows.core.triggers import *; read_cron(cron)"),
            ),
            (
                "croniter",
                attempt(f"{start}; from croniter import croniter; croniter(cron); print('read')"),
            ),
            (
                "cronsim",
                attempt(
                    f"{start}; from cronsim import CronSim; "
                    "CronSim(cron, datetime.now()); print('read')"
                ),
            ),
        ],
    )
    show(
        "import",
        [
            ("ours, without the rest of workflows", "with the code around it"),
            ("croniter", import_cost("import croniter")),
            ("cronsim", import_cost("import cronsim")),
        ],
    )


main()
