"""What a process holds: memory, objects, tasks, files, threads."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import resource
import sys
import threading
from typing import Final

from msgspec import Struct

MIB: Final = 1024 * 1024


class Held(Struct, frozen=True, kw_only=True):
    """What a process holds at one moment."""

    rss: int
    """Bytes of memory that are resident."""
    objects: int
    """Objects that the garbage collector knows, after a collection."""
    tasks: int
    files: int
    threads: int


def held() -> Held:
    """What this process holds once all garbage is collected and given back."""
    for _ in range(3):
        gc.collect()
    _trim()
    return Held(
        rss=_rss(),
        objects=len(gc.get_objects()),
        tasks=len(asyncio.all_tasks()),
        files=len(os.listdir("/dev/fd")),
        threads=threading.active_count(),
    )


def allow_files(count: int) -> None:
    """Let this process open so many files, as far as the system does."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if most == resource.RLIM_INFINITY else min(count, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _rss() -> int:
    if sys.platform == "linux":
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _trim() -> None:
    """Have the C library give back what it keeps for later: it is nobody's."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
