"""The process itself: what it takes of the machine, and how late its event loop is.

Names that begin with `process_` are those that Prometheus' own clients use, so that what others
made for those shows this process too. What the system does not tell is left out.
"""

from __future__ import annotations

import asyncio
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from accord import __version__
from accord.telemetry.metrics import Exposition, Histogram, Kind

TICK_SECONDS: Final = 0.25
LATENESS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)

_STAT: Final = Path("/proc/self/stat")
_BOOT: Final = Path("/proc/stat")
_FDS: Final = Path("/proc/self/fd")
_START, _VSIZE, _RSS = 19, 20, 21
"""Where things stand in /proc/self/stat, behind the name of the program (proc(5))."""


class Pulse:
    """Sees how late an event loop comes back to what it was asked to do."""

    def __init__(self) -> None:
        self._late = Histogram(LATENESS)

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Watch the loop that runs."""
        loop = asyncio.get_running_loop()
        due = loop.time() + TICK_SECONDS
        timer: asyncio.TimerHandle

        def beat() -> None:
            nonlocal timer, due
            self._late.add(max(loop.time() - due, 0.0))
            due = loop.time() + TICK_SECONDS
            timer = loop.call_at(due, beat)

        timer = loop.call_at(due, beat)
        try:
            yield
        finally:
            timer.cancel()

    def write(self, page: Exposition) -> None:
        name = "accord_event_loop_late_seconds"
        page.family(name, "histogram", "How late the event loop was, measured all the time.")
        self._late.write(page, name, ())


def write_process(page: Exposition) -> None:
    """What the process takes."""
    for name, kind, about, value in _process():
        page.family(name, kind, about, [((), value)])
    labels = (("version", __version__), ("python", platform.python_version()))
    page.family("accord_build_info", "gauge", "Which Accord this is.", [(labels, 1)])


def _process() -> Iterator[tuple[str, Kind, str, float]]:
    import resource  # POSIX only

    yield (
        "process_cpu_seconds_total",
        "counter",
        "Seconds of processors that were used.",
        time.process_time(),
    )
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    yield "process_max_fds", "gauge", "Files and connections that may be open.", limit
    if not _STAT.exists():
        return
    stat = _STAT.read_text().rpartition(")")[2].split()
    pages = os.sysconf("SC_PAGE_SIZE")
    yield "process_open_fds", "gauge", "Those that are.", sum(1 for _ in _FDS.iterdir())
    yield (
        "process_resident_memory_bytes",
        "gauge",
        "Memory that is really used.",
        int(stat[_RSS]) * pages,
    )
    yield "process_virtual_memory_bytes", "gauge", "Memory with all maps.", int(stat[_VSIZE])
    yield (
        "process_start_time_seconds",
        "gauge",
        "When it was started, in seconds since 1970.",
        _booted() + int(stat[_START]) / os.sysconf("SC_CLK_TCK"),
    )


def _booted() -> float:
    for line in _BOOT.read_text().splitlines():
        if line.startswith("btime "):
            return float(line.split()[1])
    return time.time() - time.monotonic()
