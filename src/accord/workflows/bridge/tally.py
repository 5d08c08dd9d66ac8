"""What a worker did, for Prometheus. Of targets, whose names workflows choose, only so many are
told apart."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final, Literal, TypeAlias

from accord.telemetry.metrics import Exposition
from accord.workflows.storage.tasks import Kind

SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
MAX_TARGETS: Final = 200
OTHERS: Final = "_others"
"""Stands for all targets that came after those."""

End: TypeAlias = Literal["success", "error", "cancelled", "asked"]


class Tally:
    """Counts of one worker, or of several."""

    def __init__(self) -> None:
        self.ends: dict[tuple[Kind, End], int] = {}
        self.retried = 0
        self.opened = 0
        self.lost = 0
        self._calls: dict[tuple[Kind, str], _Calls] = {}

    def ended(self, kind: Kind, end: End) -> None:
        self.ends[kind, end] = self.ends.get((kind, end), 0) + 1

    def answered(self, kind: Kind, target: str, seconds: float, *, well: bool) -> None:
        """A target answered so long after it was asked, or turned out to be ill."""
        calls = self._calls.get((kind, target))
        if calls is None:
            key = (kind, target if len(self._calls) < MAX_TARGETS else OTHERS)
            calls = self._calls.setdefault(key, _Calls())
        if well:
            calls.well += 1
        else:
            calls.ill += 1
        calls.buckets[bisect_left(SECONDS, seconds)] += 1
        calls.seconds += seconds

    def write(self, page: Exposition) -> None:
        page.family(
            "accord_tasks_ended_total",
            "counter",
            "Tasks that ended, or asked for input.",
            (
                ((("kind", kind), ("outcome", end)), count)
                for (kind, end), count in sorted(self.ends.items())
            ),
        )
        page.family(
            "accord_task_retries_total",
            "counter",
            "Attempts that are made again.",
            [((), self.retried)],
        )
        page.family(
            "accord_task_breaker_opened_total",
            "counter",
            "How often somebody who fails was left alone.",
            [((), self.opened)],
        )
        page.family(
            "accord_tasks_lost_total",
            "counter",
            "Tasks that another took over, whose outcome here was dropped.",
            [((), self.lost)],
        )
        self._write_calls(page)

    def _write_calls(self, page: Exposition) -> None:
        calls = sorted(self._calls.items())
        page.family(
            "accord_task_calls_total",
            "counter",
            "Calls of agents, tools, methods and operations, by whether they answered.",
            (
                ((("kind", kind), ("target", target), ("answered", answered)), count)
                for (kind, target), each in calls
                for answered, count in (("no", each.ill), ("yes", each.well))
            ),
        )
        page.family(
            "accord_task_call_seconds", "histogram", "How long it took until they answered."
        )
        for (kind, target), each in calls:
            labels = (("kind", kind), ("target", target))
            page.histogram("accord_task_call_seconds", labels, SECONDS, each.buckets, each.seconds)


class _Calls:
    """Of one target."""

    __slots__ = ("buckets", "ill", "seconds", "well")

    def __init__(self) -> None:
        self.well = 0
        self.ill = 0
        self.buckets = [0] * (len(SECONDS) + 1)
        self.seconds = 0.0
