"""A PostgreSQL that loses nothing, and the CPU that all its processes have used."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.harness import process_cpu
from tests.store.cluster import Cluster

TICKS = os.sysconf("SC_CLK_TCK")


def database_cpu(cluster: Cluster) -> float:
    """Seconds of CPU of the server, of its processes, and of those of them that have ended."""
    server = cluster.pid
    return process_cpu(server) + _ended(server) + sum(map(_cpu, _children(server)))


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _cpu(pid: int) -> float:
    try:
        return process_cpu(pid)
    except OSError:  # it has ended since, and is counted with those the next time
        return 0.0


def _ended(pid: int) -> float:
    """What a process knows of children that it has waited for: `cutime` and `cstime`."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / TICKS
