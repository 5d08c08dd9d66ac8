"""What executors and bridges have done, for Prometheus. Plain numbers of one process, changed on
its event loop only."""

from __future__ import annotations

from collections import Counter
from typing import Final

from accord.telemetry.metrics import Exposition, Histogram, Kind, Labels

SECONDS: Final = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1_800.0, 7_200.0, 86_400.0, 604_800.0)

_FAMILIES: Final[dict[str, tuple[str, Kind, str]]] = {
    "decided": ("accord_runs_decided_total", "counter", "Decisions recorded, one run each."),
    "started": ("accord_runs_started_total", "counter", "Runs that began."),
    "ignored": (
        "accord_run_messages_ignored_total",
        "counter",
        "Messages for runs that were late, double or meaningless.",
    ),
    "undecided": (
        "accord_runs_undecided_total",
        "counter",
        "Decisions that failed and are tried again.",
    ),
    "dead_letters": (
        "accord_dead_letters_total",
        "counter",
        "Messages and tasks that were given up.",
    ),
    "fenced": (
        "accord_executor_fenced_total",
        "counter",
        "Writes refused because another executor had taken over.",
    ),
    "shards": ("accord_executor_shards", "gauge", "Shards that this executor has."),
    "held": ("accord_executor_held_runs", "gauge", "Runs whose state is kept in memory."),
    "lag": (
        "accord_executor_lag_seconds",
        "gauge",
        "How long the oldest message of the last decision had waited.",
    ),
}


class Counts:
    """The counts of one process."""

    def __init__(self) -> None:
        self.decided = 0
        self.events: Counter[str] = Counter()
        """By type."""
        self.started = 0
        self.finished: Counter[str] = Counter()
        """By the state that they ended in."""
        self.seconds = Histogram(SECONDS)
        """From the beginning of a run to its end."""
        self.ignored = 0
        self.undecided = 0
        self.dead_letters = 0
        self.fenced = 0
        self.shards = 0
        self.held = 0
        self.lag = 0.0

    def write(self, page: Exposition) -> None:
        for field, (name, kind, about) in _FAMILIES.items():
            page.family(name, kind, about, [((), getattr(self, field))])
        page.family(
            "accord_run_events_total",
            "counter",
            "Events recorded in histories, by type.",
            _labelled("type", self.events),
        )
        page.family(
            "accord_runs_finished_total",
            "counter",
            "Runs that ended, by how.",
            _labelled("state", self.finished),
        )
        page.family("accord_run_seconds", "histogram", "How long runs took that ended.")
        self.seconds.write(page, "accord_run_seconds", ())


def _labelled(label: str, counts: Counter[str]) -> list[tuple[Labels, float]]:
    return [(((label, value),), count) for value, count in sorted(counts.items())]
