"""The hub with all requirements, ours and the other one, on both engines: each is filled once, for
all that measure it in this run, and ends with it."""

from __future__ import annotations

import atexit
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from benchmarks.environments import ROOT
from benchmarks.eras import PATH, stateless_lines
from benchmarks.framings import Http
from benchmarks.harness import one_core, say
from benchmarks.load import Load, open_socket
from benchmarks.processes import Process, running
from benchmarks.work import Work
from tests.store.cluster import Cluster, running_cluster

Engine: TypeAlias = Literal["SQLite", "PostgreSQL"]
ENGINES: Final[tuple[Engine, ...]] = ("SQLite", "PostgreSQL")
OURS_PATH: Final = b"/api/v1/mcp"


class Hub(Struct, frozen=True):
    """One that is served."""

    process: Process
    port: int
    path: bytes
    token: str
    password: str = ""
    """Of the administrator, where pages are measured."""

    def load(self, work: Work, *, clients: int) -> Load:
        """Calls over MCP, in the stateless era."""
        lines = stateless_lines(work) + f"Authorization: Bearer {self.token}\r\n".encode()
        framing = Http(self.path, lines)
        return Load([open_socket(self.port, framing) for _ in range(clients)], framing, work)


@contextmanager
def sharing_a_core(*hubs: Hub) -> Iterator[None]:
    """Within this, we and these share a core, as in `one_core`; they were filled on all of them."""
    with one_core():
        core, policy = os.sched_getaffinity(0), os.SCHED_BATCH
        _schedule(hubs, core, policy)
        try:
            yield
        finally:
            _schedule(hubs, set(range(os.cpu_count() or 1)), os.SCHED_OTHER)


def _schedule(hubs: Iterable[Hub], cores: set[int], policy: int) -> None:
    for hub in hubs:
        for thread in os.listdir(f"/proc/{hub.process.pid}/task"):
            os.sched_setaffinity(int(thread), cores)
            os.sched_setscheduler(int(thread), policy, os.sched_param(0))


@cache
def ours(engine: Engine, name: str = "ours", tree: Path = ROOT) -> Hub:
    say(f"  filling {name} on {engine}")
    database = [] if engine == "SQLite" else [_cluster().database()]
    data = _folder() / f"{name}-{engine}"
    process = Process("benchmarks.ours.hub_server", str(data), *database, tree=tree)
    _until_the_end(process)
    return Hub(process, int(process.line()), OURS_PATH, process.line(), process.line())


@cache
def theirs(engine: Engine) -> Hub:
    say(f"  filling the other one on {engine}")
    if engine == "SQLite":
        url = f"sqlite+aiosqlite:///{_folder()}/theirs.db"
    else:
        url = _cluster().database().replace("postgresql://", "postgresql+asyncpg://", 1)
    token = secrets.token_hex(16)
    process = _until_the_end(Process("benchmarks.peers.hub_app", url, token, peer="fastapi"))
    return Hub(process, int(process.line()), PATH, token)


@cache
def _opened() -> ExitStack:
    stack = ExitStack()
    atexit.register(stack.close)
    return stack


@cache
def _folder() -> Path:
    return Path(_opened().enter_context(tempfile.TemporaryDirectory(prefix="accord-bench-hub-")))


@cache
def _cluster() -> Cluster:
    return _opened().enter_context(running_cluster())


def _until_the_end(process: Process) -> Process:
    _opened().enter_context(running(process))
    return process
