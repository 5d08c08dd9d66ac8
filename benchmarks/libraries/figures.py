"""How parts are measured: CPU time as the least of several rounds, imports in fresh processes."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import Final

ROUNDS: Final = 7
_IMPORT: Final = """
import os, time
def memory():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
started, before = time.process_time(), memory()
{statements}
print(time.process_time() - started, (memory() - before) / 1024**2)
"""


def micro(operate: Callable[[int], object], count: int) -> float:
    """Microseconds of CPU for one operation; `operate(count)` does so many."""
    operate(max(1, count // 10))
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        operate(count)
        best = min(best, time.process_time() - started)
    return best / count * 1e6


async def micro_async(operate: Callable[[int], Awaitable[object]], count: int) -> float:
    """As `micro`, inside of a loop."""
    await operate(max(1, count // 10))
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        await operate(count)
        best = min(best, time.process_time() - started)
    return best / count * 1e6


def import_cost(statements: str) -> str:
    """CPU time and memory of an import in a process of its own."""
    found = []
    for _ in range(ROUNDS + 1):
        done = subprocess.run(
            [sys.executable, "-c", _IMPORT.format(statements=statements)],
            capture_output=True,
            text=True,
            check=True,
        )
        seconds, megabytes = done.stdout.split()
        found.append((float(seconds), float(megabytes)))
    seconds_of, megabytes_of = zip(*found[1:], strict=True)
    return f"{median(seconds_of) * 1e3:.0f} ms, {median(megabytes_of):.0f} MB"


def attempt(program: str, *, seconds: float = 10, megabytes: int = 2048) -> str:
    """What becomes of a hostile input in a process with bounded time and memory."""
    limit = megabytes * 1024 * 1024

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            preexec_fn=bound,
        )
    except subprocess.TimeoutExpired:
        return f"stopped after {seconds:g} s"
    taken = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    said = (done.stdout or done.stderr).strip().splitlines()
    last = said[-1][:100] if said else f"exit code {done.returncode}"
    return f"{last} ({taken:.2f} s)"


def show(title: str, figures: Iterable[tuple[str, object]]) -> None:
    print(f"  {title}")
    for name, figure in figures:
        text = f"{figure:10.2f}" if isinstance(figure, float) else str(figure)
        print(f"    {name:<44} {text}", flush=True)


def versions(*packages: str) -> None:
    found = []
    for each in packages:
        try:
            found.append(f"{each} {version(each)}")
        except PackageNotFoundError:
            found.append(f"{each} is missing")
    print(f"  Python {sys.version.split()[0]}; {', '.join(found)}")
