"""How a subject that needs no connection is measured: a count comes in, CPU time goes out.

Each subject is a process of its own, in the environment of the library it shows. It prints
one answer, which the benchmark checks. Then the benchmark writes numbers of operations to
its stdin, and reads the nanoseconds of thread CPU time that they took from its stdout. Runs
in every environment, so it imports nothing else.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable


def measure(answer: str, operate: Callable[[int], object]) -> None:
    """Show `answer`, then serve slices until stdin ends; `operate(count)` does the work."""
    print(answer, flush=True)
    for line in sys.stdin:
        count = int(line)
        started = time.thread_time_ns()
        operate(count)
        print(time.thread_time_ns() - started, flush=True)


async def measure_async(answer: str, operate: Callable[[int], Awaitable[object]]) -> None:
    """`measure` inside of a loop; nothing else runs there between two slices."""
    print(answer, flush=True)
    for line in sys.stdin:
        count = int(line)
        started = time.thread_time_ns()
        await operate(count)
        print(time.thread_time_ns() - started, flush=True)


def repeat(operation: Callable[[], object], expected: object) -> Callable[[int], None]:
    """An `operate` that compares each answer of `operation`."""

    def operate(count: int) -> None:
        for _ in range(count):
            answer = operation()
            if answer != expected:
                raise AssertionError(f"expected {expected!r}, got {answer!r}")

    return operate
