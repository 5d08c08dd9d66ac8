"""What work costs in CPU time, compared with other work on the same machine at the same time."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from time import thread_time_ns
from typing import Final

RUNS: Final = 7
ATTEMPTS: Final = 6
SHORT_NS: Final = 200_000
SMALL: Final = 16 * 1024
"""Messages from this size on may cost twice as much as a valid one, smaller ones 50 µs more."""
SMALL_SLACK_NS: Final = 50_000
SLACK_NS: Final = 10_000
"""What the error and its answer may cost beside reading."""


def assert_refused_cheaply(
    refuse: Callable[[], object], serve: Callable[[], object], size: int
) -> None:
    """Assert that `refuse` costs no more than the bound says, where `serve` takes a valid message.

    The best of interleaved runs counts; noise can only add to a run, so more runs are made
    while the bound is missed.
    """
    refused = served = 1 << 62
    refuse()
    serve()
    was_enabled, tracer = gc.isenabled(), sys.gettrace()
    gc.disable()
    sys.settrace(None)  # what measures coverage costs more than what is measured here
    try:
        for _ in range(ATTEMPTS):
            for _ in range(RUNS):
                refused = min(refused, _cost(refuse))
                served = min(served, _cost(serve))
            if refused <= bound(served, size):
                return
    finally:
        sys.settrace(tracer)
        if was_enabled:
            gc.enable()
    raise AssertionError(
        f"refusing {size:,} bytes costs {refused / 1000:,.0f} µs, serving {served / 1000:,.0f} µs"
    )


def bound(served: int, size: int) -> int:
    return 2 * served + SLACK_NS if size >= SMALL else served + SMALL_SLACK_NS


def _cost(work: Callable[[], object]) -> int:
    """CPU time of this thread in nanoseconds; of short work the mean of several times."""
    begun = thread_time_ns()
    work()
    took = thread_time_ns() - begun
    if took >= SHORT_NS:
        return took
    begun = thread_time_ns()
    for _ in range(5):
        work()
    return (thread_time_ns() - begun) // 5
