"""How things are compared on a noisy machine.

What counts is CPU time per operation, not the clock on the wall. The subjects take turns in
short slices, so that whatever disturbs the machine disturbs all of them, and a ratio is the
median of the ratios of the rounds.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Protocol

from msgspec import Struct


class Plan(Struct, frozen=True):
    """How much is measured."""

    rounds: int
    slice_seconds: float
    """CPU time that one subject gets in one round."""
    samples: int
    """How many latencies are taken."""
    connections: int
    """How many connections are opened where memory is measured."""


FULL = Plan(rounds=11, slice_seconds=0.2, samples=40_000, connections=2_000)
QUICK = Plan(rounds=3, slice_seconds=0.05, samples=5_000, connections=500)


class Subject(Protocol):
    """Something that does one kind of operation, as often as it is told to."""

    def run(self, count: int) -> float:
        """Do it so often, check every answer, and say how many seconds of CPU that took."""


class Costs(Struct, frozen=True):
    """What an operation cost each subject, in seconds of CPU, round by round."""

    rounds: dict[str, list[float]]

    def cost(self, name: str) -> float:
        return median(self.rounds[name])

    def ratio(self, name: str, to: str) -> float:
        """How many times the cost of `to` is the cost of `name`."""
        pairs = zip(self.rounds[name], self.rounds[to], strict=True)
        return median(one / other for one, other in pairs)


def compare(subjects: dict[str, Subject], plan: Plan) -> Costs:
    """Let the subjects take turns."""
    counts = {name: _calibrate(name, subject, plan) for name, subject in subjects.items()}
    rounds: dict[str, list[float]] = {name: [] for name in subjects}
    for number in range(plan.rounds):
        hint(f"  round {number + 1} of {plan.rounds}")
        for name in _rotated(list(subjects), number):
            rounds[name].append(subjects[name].run(counts[name]) / counts[name])
    return Costs(rounds)


def _rotated(names: Sequence[str], by: int) -> list[str]:
    """Nobody always runs after the same neighbour."""
    start = by % len(names)
    return [*names[start:], *names[:start]]


def _calibrate(name: str, subject: Subject, plan: Plan) -> int:
    """How many operations fill a slice; this is its warm-up too."""
    hint(f"  warming up {name}")
    subject.run(1)  # a program that serves stdio may still be starting
    count = 16
    while (seconds := subject.run(count)) < plan.slice_seconds / 4:
        count *= 4 if seconds < plan.slice_seconds / 32 else 2
    return max(16, int(count * plan.slice_seconds / seconds))


@contextmanager
def one_core() -> Iterator[None]:
    """Within this, we and the processes that we start share a core and do not interrupt each other.

    What a request costs a server depends on whether it is woken for each or for many, and left
    alone the scheduler settles for one or the other by chance. As batch jobs on one core, both
    sides run until they have nothing left to do: a server finds all requests that are in
    flight, as one under full load does. With one in flight it is woken for each.
    """
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, cores)


def process_cpu(pid: int) -> float:
    """Seconds of CPU that all threads of a process have used, those that ended among them.

    Linux: the clock that clock_getcpuclockid(3) gives, which counts what schedstat counts,
    in nanoseconds.
    """
    return time.clock_gettime_ns(~pid << 3 | 2) / 1e9


def percentile(values: Sequence[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def say(text: str) -> None:
    """Progress, for people: it goes to stderr."""
    print(text, file=sys.stderr, flush=True)


def hint(text: str) -> None:
    """What happens right now; written over by what is said next, and only where it can be."""
    if sys.stderr.isatty():
        print(f"\x1b[K{text}", end="\r", file=sys.stderr, flush=True)
