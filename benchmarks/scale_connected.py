"""Ten thousand assistants that are connected to one process: each has a session of the handshake
era and listens for what changes. What that takes while nothing happens, and when something does.

By the clock, and on all cores: the other end of all connections is here.
"""

from __future__ import annotations

import json
import re
import resource
import select
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

from msgspec import Struct

from benchmarks.eras import open_session
from benchmarks.harness import Plan, hint
from benchmarks.load import PATIENCE, Socket
from benchmarks.processes import Process, running
from benchmarks.report import Row, Unit, at_most
from benchmarks.scaled import KEY, LIMIT
from benchmarks.workflows.database import database_cpu
from tests.store.cluster import Cluster, running_cluster

GROUP = "scale_connected"
ASSISTANTS, FEW = 10_000, 500
PER_TOKEN = 100
"""How many sessions may belong to one token."""
TITLE = f"{ASSISTANTS:,} assistants that listen, on one process and PostgreSQL"
MCP: Final = b"/api/v1/mcp"
WARM_UP = 100
IDLE_SECONDS = 60.0
KILOBYTES = at_most(16)


class Site(Struct, frozen=True):
    """The server, and the tokens of its assistants."""

    server: Process
    port: int
    admin: str
    tokens: list[str]
    cluster: Cluster

    def cpu(self) -> float:
        return self.server.cpu() + database_cpu(self.cluster)


def rows(plan: Plan) -> list[Row]:
    count = ASSISTANTS if plan.rounds > 3 else FEW
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with _site(count + WARM_UP) as site:
        wires = [_listening(site, number) for number in range(WARM_UP)]
        memory, cpu = site.server.memory(), site.cpu()
        wires += [_listening(site, WARM_UP + number) for number in range(count)]
        began_cpu = (site.cpu() - cpu) / count
        held = (site.server.memory() - memory) / count
        idle = _idle(site)
        seconds, told_cpu = _told(site, wires)
        for wire in wires:
            wire.close()
    return [
        _row("memory of an assistant: a session and its stream", held / 1024, "KB", bounded=True),
        _row("CPU to connect one: handshake and stream, with the database", began_cpu * 1e6, "µs"),
        _row(f"CPU of a core while {count:,} listen and nothing happens", idle * 100, "%"),
        _row(f"a change is told to {count:,}: until the last one heard of it", seconds, "s"),
        _row("CPU to tell one of them", told_cpu / len(wires) * 1e6, "µs"),
    ]


def _row(what: str, value: float, unit: Unit, *, bounded: bool = False) -> Row:
    return Row(group=GROUP, what=what, ours=value, unit=unit, bound=KILOBYTES if bounded else None)


def _listening(site: Site, number: int) -> Socket:
    """A client that shook hands, and listens."""
    if number % 500 == 0:
        hint(f"  {number:,} are connected")
    wire = Socket(site.port)
    token = f"Authorization: Bearer {site.tokens[number // PER_TOKEN]}\r\n".encode()
    lines = open_session(wire, path=MCP, lines=token)
    wire.write(b"GET %b HTTP/1.1\r\nHost: 127.0.0.1:80\r\n%b\r\n" % (MCP, lines))
    head = b""
    while b"\r\n\r\n" not in head:
        head += wire.read()
    if not head.startswith(b"HTTP/1.1 200 "):
        raise AssertionError(f"no stream: {head[:200]!r}")
    return wire


def _idle(site: Site) -> float:
    """The part of a core that is used while nothing happens."""
    cpu, began = site.cpu(), time.monotonic()
    time.sleep(IDLE_SECONDS)
    return (site.cpu() - cpu) / (time.monotonic() - began)


def _told(site: Site, wires: list[Socket]) -> tuple[float, float]:
    """Seconds until all heard of a new prompt, and of CPU."""
    cpu, began = site.cpu(), time.monotonic()
    _create_prompt(site)
    waiting = {wire.fileno(): wire for wire in wires}
    with select.epoll() as poll:
        for file in waiting:
            poll.register(file, select.EPOLLIN)
        while waiting:
            ready = poll.poll(PATIENCE)
            if not ready:
                raise TimeoutError(f"{len(waiting):,} heard nothing within {PATIENCE:g} s")
            for file, _ in ready:
                if file in waiting and b"list_changed" in waiting[file].read():
                    del waiting[file]
                    poll.unregister(file)
    return time.monotonic() - began, site.cpu() - cpu


def _create_prompt(site: Site) -> None:
    connection = HTTPConnection("127.0.0.1", site.port, timeout=PATIENCE)
    headers = {"Authorization": f"Bearer {site.admin}", "Content-Type": "application/json"}
    body = json.dumps({"name": "news", "content": "Something is new."})
    connection.request("POST", "/api/v1/prompts", body, headers)
    answer = connection.getresponse()
    if answer.status != 201:
        raise AssertionError(f"no prompt: {answer.read()[:500]!r}")
    connection.close()


@contextmanager
def _site(assistants: int) -> Iterator[Site]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="accord-bench-")))
        cluster = stack.enter_context(running_cluster(durable=True))
        database, data = cluster.database(), folder / "data"
        wanted = str(-(-assistants // PER_TOKEN))
        maker = Process("benchmarks.ours.assistants", str(data), database, wanted)
        with running(maker):
            admin, *tokens = json.loads(maker.line())
        (data / "accord.toml").write_text(f'secret_key = "{KEY}"\n')
        server = Process(
            *("accord", "serve", "--data", str(data), "--database", database, "--port", "0"),
            *("--log-level", "error", "--rate-limit", str(LIMIT)),
            *("--max-connections", str(2 * assistants), "--max-sessions", str(2 * assistants)),
        )
        stack.enter_context(running(server))
        found = re.search(r"http://127\.0\.0\.1:([0-9]+)", server.line())
        assert found is not None, "the first line names the address"
        yield Site(server, int(found[1]), admin, tokens, cluster)
