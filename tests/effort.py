"""Measures of work that do not depend on how busy the machine is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import thread_time
from types import FrameType
from typing import Any

ROUNDS = 7


def calls(work: Callable[[], object]) -> int:
    """Return how many Python and C functions `work` calls."""
    count = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def growth(small: Callable[[], object], large: Callable[[], object]) -> float:
    """Return how many times the CPU time of `small` the work of `large` takes.

    Runs alternate and the best of each counts, so that other programs disturb both alike.
    """
    best = [float("inf"), float("inf")]
    for _ in range(ROUNDS):
        for at, work in enumerate((small, large)):
            begun = thread_time()
            work()
            best[at] = min(best[at], thread_time() - begun)
    return best[1] / best[0]
