"""What waits in the tables of workflows, for Prometheus: of the whole installation, whoever has it
to do. Asked for when somebody looks, and not again for a while after that.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final, get_args

import msgspec
from msgspec import Struct

from accord.store.store import Reading, Row, Store, StoreError
from accord.telemetry.metrics import Exposition, Labels
from accord.workflows.membership import MemberKind
from accord.workflows.storage.backlog import (
    APPROVALS,
    INBOX,
    LETTERS,
    LIVE,
    MEMBERS,
    MOST_LETTERS,
    OLDEST_MESSAGE,
    OLDEST_TASK,
    OVERDUE,
    QUEUED,
    RUNS,
    TASKS,
)

log = logging.getLogger("accord.workflows")

REMEMBERED: Final = 5.0
"""Seconds for which what was read is shown again."""


class _Arrived(Struct, frozen=True):
    at: float


class _Gauge(Struct, frozen=True):
    name: str
    about: str
    samples: list[tuple[Labels, float]] = []


_read_arrival = msgspec.json.Decoder(_Arrived).decode


class Backlog:
    """What waits in one database."""

    def __init__(self, store: Store, *, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._now = now
        self._gauges: list[_Gauge] = []
        self._asked = -REMEMBERED

    async def refresh(self) -> None:
        """Ask the database, if that is due; nothing is shown where it does not answer."""
        if time.monotonic() - self._asked < REMEMBERED:
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

    async def _read(self, db: Reading) -> list[_Gauge]:
        now = self._now()
        runs = _labelled("state", LIVE, await db.fetch(RUNS))
        tasks = _labelled("state", QUEUED, await db.fetch(TASKS))
        members = await db.fetch(MEMBERS[self._store.engine])
        letters = await db.fetch(LETTERS)
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
                [((), (await db.fetch(INBOX))[0]["value"])],
            ),
            _Gauge(
                "accord_run_inbox_seconds", "How long the first of them has waited.",
                _age(now, oldest),
            ),
            _Gauge(
                "accord_timers_late_seconds", "How late the timer is that is overdue the longest.",
                _age(now, (await db.fetch(OVERDUE, now))[0]["at"]),
            ),
            _Gauge(
                "accord_approvals_open", "Decisions that people are asked for.",
                [((), (await db.fetch(APPROVALS))[0]["value"])],
            ),
            _Gauge(
                "accord_dead_letters_kept",
                f"Dead letters that nobody has replayed, {MOST_LETTERS:,} at most.",
                _labelled("kind", ("message", "task"), letters),
            ),
            _Gauge(
                "accord_members",
                "Processes that work on runs and tasks.",
                _labelled("kind", get_args(MemberKind), members),
            ),
        ]  # fmt: skip


def _arrived_at(arrival: str) -> float | None:
    try:
        return _read_arrival(arrival).at
    except (msgspec.DecodeError, RecursionError):  # the executor says so, and tries it again
        return None


def _labelled(label: str, values: Sequence[str], rows: Sequence[Row]) -> list[tuple[Labels, float]]:
    found = {row["label"]: row["value"] for row in rows}
    return [(((label, value),), found.get(value, 0)) for value in values]


def _age(now: float, at: float | None) -> list[tuple[Labels, float]]:
    return [((), 0.0 if at is None else max(now - at, 0.0))]
