"""Metrics of executors, workers and buses, and of unfinished work.

Counters are plain numbers of one process, changed only on its event loop. The backlog covers the
whole installation; it is queried on demand, and cached for some seconds.
"""

from __future__ import annotations

import logging
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, Protocol, TypeAlias, get_args

import msgspec
from msgspec import Struct

from accord.store.store import ReadTransaction, Row, Store, StoreError
from accord.telemetry.metrics import Exposition, Histogram, Kind as MetricKind, Labels
from accord.workflows.storage.leases import MemberKind
from accord.workflows.storage.runs import (
    COUNT_DEAD_LETTERS,
    COUNT_INBOX,
    COUNT_LIVE_RUNS,
    COUNT_MEMBERS,
    COUNT_OPEN_APPROVALS,
    COUNT_OPEN_TASKS,
    LIVE_STATUSES,
    MAX_COUNTED_LETTERS,
    OLDEST_MESSAGE,
    OLDEST_TASK,
    OLDEST_TIMER,
    OPEN_TASK_STATES,
)
from accord.workflows.storage.tasks import Kind

RUN_SECONDS: Final = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1_800.0, 7_200.0, 86_400.0, 604_800.0)

_FAMILIES: Final[dict[str, tuple[str, MetricKind, str]]] = {
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


class ExecutorMetrics:
    """The counters of one executor process."""

    def __init__(self) -> None:
        self.decided = 0
        self.events: Counter[str] = Counter()
        """The number of recorded events, by type."""
        self.started = 0
        self.finished: Counter[str] = Counter()
        """The number of ended runs, by status."""
        self.seconds = Histogram(RUN_SECONDS)
        """A histogram of the durations of ended runs."""
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


CALL_SECONDS: Final = (
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    300.0,
)
MAX_TARGET_LABELS: Final = 200
OTHERS: Final = "_others"
"""The label shared by all targets after the first `MAX_TARGET_LABELS`."""

TaskEnd: TypeAlias = Literal["success", "error", "cancelled", "asked"]


class BridgeMetrics:
    """The counters of one or more workers."""

    def __init__(self) -> None:
        self.ends: dict[tuple[Kind, TaskEnd], int] = {}
        self.retried = 0
        self.opened = 0
        self.lost = 0
        self._calls: dict[tuple[Kind, str], _TargetCalls] = {}

    def ended(self, kind: Kind, end: TaskEnd) -> None:
        self.ends[kind, end] = self.ends.get((kind, end), 0) + 1

    def answered(self, kind: Kind, target: str, seconds: float, *, well: bool) -> None:
        """Record a call to a target with its duration.

        `well` is False if the failure shows that the target is unhealthy.
        """
        calls = self._calls.get((kind, target))
        if calls is None:
            key = (kind, target if len(self._calls) < MAX_TARGET_LABELS else OTHERS)
            calls = self._calls.setdefault(key, _TargetCalls())
        if well:
            calls.well += 1
        else:
            calls.ill += 1
        calls.buckets[bisect_left(CALL_SECONDS, seconds)] += 1
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
            page.histogram(
                "accord_task_call_seconds", labels, CALL_SECONDS, each.buckets, each.seconds
            )


class _TargetCalls:
    """The counters and the duration histogram of calls to one target."""

    __slots__ = ("buckets", "ill", "seconds", "well")

    def __init__(self) -> None:
        self.well = 0
        self.ill = 0
        self.buckets = [0] * (len(CALL_SECONDS) + 1)
        self.seconds = 0.0


_BY_TOPIC: Final[dict[str, tuple[str, MetricKind, str]]] = {
    "published": ("accord_bus_published_total", "counter", "Messages acknowledged by the broker."),
    "consumed": ("accord_bus_consumed_total", "counter", "Messages received and stored."),
    "duplicates": (
        "accord_bus_duplicates_total",
        "counter",
        "Messages dropped because what they say was known.",
    ),
    "dead_letters": (
        "accord_bus_dead_letters_total",
        "counter",
        "Messages that were given up.",
    ),
    "lag": ("accord_bus_lag", "gauge", "Messages in the broker that were not received yet."),
}
_PLAIN: Final[dict[str, tuple[str, MetricKind, str]]] = {
    "failures": (
        "accord_bus_publish_failures_total",
        "counter",
        "Messages that the broker did not acknowledge, and that are sent again.",
    ),
    "swept": (
        "accord_bus_swept_total",
        "counter",
        "Tasks and results sent again because nobody received them.",
    ),
    "rebalances": (
        "accord_bus_rebalances_total",
        "counter",
        "Times that partitions were given to a consumer here.",
    ),
    "stalls": (
        "accord_bus_stalls_total",
        "counter",
        "Times that a consumer got nothing of what the broker had, and was replaced.",
    ),
    "outbox": ("accord_bus_outbox", "gauge", "Messages that wait to be published."),
    "outbox_seconds": (
        "accord_bus_outbox_seconds",
        "gauge",
        "How long the relay has been behind.",
    ),
}


class BusMetrics:
    """The counters of the bus in one process; only the relay's process measures the outbox."""

    def __init__(self) -> None:
        self.published: Counter[str] = Counter()
        self.consumed: Counter[str] = Counter()
        self.duplicates: Counter[str] = Counter()
        self.dead_letters: Counter[str] = Counter()
        self.lag: dict[str, int] = {}
        self.failures = 0
        self.swept = 0
        self.rebalances = 0
        self.stalls = 0
        self.outbox = 0
        self.outbox_seconds = 0.0

    def write(self, page: Exposition) -> None:
        for field, (name, kind, about) in _BY_TOPIC.items():
            values = sorted(getattr(self, field).items())
            page.family(
                name, kind, about, [((("topic", topic),), value) for topic, value in values]
            )
        for field, (name, kind, about) in _PLAIN.items():
            page.family(name, kind, about, [((), getattr(self, field))])


log = logging.getLogger("accord.workflows")

CACHE_SECONDS: Final = 5.0
"""How long the backlog is cached, in seconds."""


class _ArrivalTime(Struct, frozen=True):
    at: float


class _Gauge(Struct, frozen=True):
    name: str
    about: str
    samples: list[tuple[Labels, float]] = []


_read_arrival = msgspec.json.Decoder(_ArrivalTime).decode


class Backlog:
    """Gauges of the unfinished work in one database."""

    def __init__(self, store: Store, *, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._now = now
        self._gauges: list[_Gauge] = []
        self._asked = -CACHE_SECONDS

    async def refresh(self) -> None:
        """Query the gauges if the cache has expired; clear them if the database is unavailable."""
        if time.monotonic() - self._asked < CACHE_SECONDS:
            return
        self._asked = time.monotonic()
        try:
            self._gauges = await self._store.read(self._read, snapshot=True)
        except StoreError as error:
            self._gauges = []
            log.warning("what waits in workflows is not known: %s", error)

    def write(self, page: Exposition) -> None:
        for gauge in self._gauges:
            page.family(gauge.name, "gauge", gauge.about, gauge.samples)

    async def _read(self, db: ReadTransaction) -> list[_Gauge]:
        now = self._now()
        runs = _by_label("state", LIVE_STATUSES, await db.fetch(COUNT_LIVE_RUNS))
        tasks = _by_label("state", OPEN_TASK_STATES, await db.fetch(COUNT_OPEN_TASKS))
        members = await db.fetch(COUNT_MEMBERS[self._store.engine])
        letters = await db.fetch(COUNT_DEAD_LETTERS)
        arrived = await db.fetch(OLDEST_MESSAGE)
        oldest = _arrived_at(arrived[0]["arrival"]) if arrived else None
        return [
            _Gauge("accord_runs", "Runs that have not ended, by state.", runs),
            _Gauge("accord_tasks", "Tasks that have not ended, by state.", tasks),
            _Gauge(
                "accord_task_wait_seconds",
                "How long the task has waited that nobody has taken for the longest.",
                _age(now, (await db.fetch(OLDEST_TASK, now))[0]["at"]),
            ),
            _Gauge(
                "accord_run_inbox",
                "Messages for runs that nothing was decided on yet.",
                [((), (await db.fetch(COUNT_INBOX))[0]["value"])],
            ),
            _Gauge(
                "accord_run_inbox_seconds", "How long the first of them has waited.",
                _age(now, oldest),
            ),
            _Gauge(
                "accord_timers_late_seconds", "How late the timer is that is overdue the longest.",
                _age(now, (await db.fetch(OLDEST_TIMER, now))[0]["at"]),
            ),
            _Gauge(
                "accord_approvals_open", "Decisions that people are asked for.",
                [((), (await db.fetch(COUNT_OPEN_APPROVALS))[0]["value"])],
            ),
            _Gauge(
                "accord_dead_letters_kept",
                f"Dead letters that nobody has replayed, {MAX_COUNTED_LETTERS:,} at most.",
                _by_label("kind", ("message", "task"), letters),
            ),
            _Gauge(
                "accord_members",
                "Processes that work on runs and tasks.",
                _by_label("kind", get_args(MemberKind), members),
            ),
        ]  # fmt: skip


def _arrived_at(arrival: str) -> float | None:
    try:
        return _read_arrival(arrival).at
    except (msgspec.DecodeError, RecursionError):  # the executor logs it
        return None


def _by_label(label: str, values: Sequence[str], rows: Sequence[Row]) -> list[tuple[Labels, float]]:
    found = {row["label"]: row["value"] for row in rows}
    return [(((label, value),), found.get(value, 0)) for value in values]


def _age(now: float, at: float | None) -> list[tuple[Labels, float]]:
    return [((), 0.0 if at is None else max(now - at, 0.0))]


class SpanRecorder(Protocol):
    """A recorder of tracing spans for past work, such as `accord.telemetry.tracing.PastSpans`."""

    def tell(
        self,
        name: str,
        *,
        began: float,
        attributes: Mapping[str, str | int],
        traceparent: str | None = None,
        place: Literal["internal", "consumer"] = "internal",
        error: str = "",
    ) -> None: ...
