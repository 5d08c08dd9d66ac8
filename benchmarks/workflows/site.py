"""The engines that are compared, each with a process of its own, on one PostgreSQL."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

from benchmarks.framings import Http
from benchmarks.processes import Process, running
from tests.store.cluster import Cluster, running_cluster
from tools.kafka import Broker

STEPS = 10
"""In each run, one after the other."""


class Served(Struct, frozen=True):
    """An `accord serve` with the workflows of `benchmarks.ours.workflow_server`."""

    process: Process
    port: int
    token: str

    def framing(self, workflow: str) -> Http:
        """How runs of a workflow are started over REST."""
        token = f"Authorization: Bearer {self.token}\r\n".encode()
        return Http(f"/api/v1/workflows/{workflow}/runs".encode(), token)


class Site:
    """What was started, and ends with the block."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="accord-bench-"))
        )
        self.cluster: Cluster = stack.enter_context(running_cluster(durable=True))
        self.agent = self._started(Process("benchmarks.ours.instant_agent"))
        self._agent_port = self.agent.line()

    def ours(self, name: str, *database: str) -> Served:
        """On SQLite, on the PostgreSQL that is given, or also on a bus."""
        data = str(self._folder / name)
        arguments = (data, self._agent_port, str(STEPS), *database)
        process = self._started(Process("benchmarks.ours.workflow_server", *arguments))
        return Served(process, int(process.line()), process.line())

    def dbos(self) -> Process:
        database = self.cluster.database()
        arguments = (database, str(STEPS))
        process = self._started(Process("benchmarks.peers.dbos_steps", *arguments, peer="dbos"))
        process.line()
        return process

    def broker(self) -> Broker:
        folder = self._folder / "kafka"
        folder.mkdir()
        broker = Broker(folder)
        self._stack.callback(broker.kill)
        broker.start()
        return broker

    def _started(self, process: Process) -> Process:
        self._stack.enter_context(running(process))
        return process


@contextmanager
def open_site() -> Iterator[Site]:
    with ExitStack() as stack:
        yield Site(stack)
