"""`accord serve` with one worker and with two, each on a PostgreSQL of its own that loses nothing.

What counts is the CPU of the workers and of all processes of their database together. Nobody else
uses that database, so that what workers do while nothing is asked of them is in it too.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from benchmarks.harness import process_cpu
from benchmarks.processes import Process, running
from benchmarks.workflows.database import database_cpu
from tests.store.cluster import Cluster, running_cluster

KEY: Final = "0" * 64
STEPS: Final = 10
"""In each run, one after the other."""
LIMIT: Final = 60_000_000
"""What a caller may spend a minute: calls are counted as always, and nobody is refused."""


class Deployment(Struct, frozen=True):
    """A server that runs."""

    port: int
    token: str
    pids: tuple[int, ...]
    """Of its workers."""
    cluster: Cluster

    @property
    def lines(self) -> bytes:
        """The header line that says who calls."""
        return f"Authorization: Bearer {self.token}\r\n".encode()

    def cpu(self) -> float:
        return sum(self.each_cpu()) + database_cpu(self.cluster)

    def each_cpu(self) -> list[float]:
        return [process_cpu(pid) for pid in self.pids]


@contextmanager
def deployed(*, workers: tuple[int, ...] = (1, 2)) -> Iterator[list[Deployment]]:
    """Servers with so many workers each."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="accord-bench-")))
        agent = Process("benchmarks.ours.instant_agent")
        stack.enter_context(running(agent))
        agent_port = agent.line()
        yield [_deployed(stack, folder / str(count), count, agent_port) for count in workers]


def share(before: list[float], after: list[float]) -> float:
    """How much of the workers' CPU the busiest of them had."""
    used = [now - then for then, now in zip(before, after, strict=True)]
    return max(used) / sum(used)


def _deployed(stack: ExitStack, data: Path, workers: int, agent_port: str) -> Deployment:
    cluster = stack.enter_context(running_cluster(durable=True))
    database = cluster.database()
    maker = Process("benchmarks.ours.scaled_data", str(data), database, agent_port, str(STEPS))
    with running(maker):
        token = maker.line()
    (data / "accord.toml").write_text(f'secret_key = "{KEY}"\n')
    server = Process(
        *("accord", "serve", "--data", str(data), "--database", database, "--port", "0"),
        *("--workers", str(workers), "--log-level", "error", "--allow-private-agents"),
        *("--rate-limit", str(LIMIT)),
    )
    stack.enter_context(running(server))
    found = re.search(r"http://127\.0\.0\.1:([0-9]+)", server.line())
    assert found is not None, "the first line names the address"
    pids = (server.pid,) if workers == 1 else _children(server.pid)
    assert len(pids) == workers
    return Deployment(int(found[1]), token, pids, cluster)


def _children(pid: int) -> tuple[int, ...]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return tuple(int(each) for each in text.split())
