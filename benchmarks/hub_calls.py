"""The hub with 50,000 requirements: three tools called over MCP (2026-07-28), beside the same built
on FastAPI, SQLAlchemy and the official SDK, as one would write it today.

Both ask for a token, search full text in the database and audit every write in its transaction.
What is compared is the CPU of the server's process, on the same engine.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from benchmarks.eras import PATH, STATELESS, said, stateless_lines
from benchmarks.framings import Http
from benchmarks.harness import Plan, Subject, compare
from benchmarks.hub.corpus import COMMON, COUNT, RARE
from benchmarks.load import Load, Served, open_socket
from benchmarks.processes import Process, running
from benchmarks.report import Bound, Row, at_least
from benchmarks.versus import Versus
from benchmarks.work import Work
from tests.store.cluster import running_cluster

TITLE = f"The hub with {COUNT:,} requirements, called over MCP by 8 clients"
CLIENTS = 8
OURS, THEIRS = "ours", "FastAPI + SQLAlchemy + mcp"
READS, WRITES = at_least(8), at_least(4)


class Call:
    """One tool, what it is called with, and what its answer must hold."""

    def __init__(self, name: str, arguments: dict[str, Any], bound: Bound, label: str) -> None:
        self.label = label
        self.bound = bound
        self.params = said(STATELESS, {"name": name, "arguments": arguments})
        self._name = name

    def work(self) -> Work:
        return Work("tools/call", self.params, self._is_right)

    def _is_right(self, result: Any) -> bool:
        found = result["structuredContent"]
        if self._name == "search_requirements":
            return bool(found["items"]) and found["total"] > 0
        return not result.get("isError") and bool(found["reference_id"])


CALLS = (
    Call("get_requirement", {"id": "REQ-25000"}, READS, "`get_requirement`"),
    Call("search_requirements", {"query": RARE}, READS, "`search_requirements`, a rare word"),
    Call("search_requirements", {"query": COMMON}, READS, "`search_requirements`, a common word"),
    Call(
        "create_requirement",
        {"user_story_id": "US-001", "title": "Keep the logs", "description": "For a year."},
        WRITES,
        "`create_requirement`",
    ),
)


def rows(plan: Plan) -> list[Row]:
    found = []
    with tempfile.TemporaryDirectory(prefix="accord-bench-hub-") as folder:
        found += _on("SQLite", plan, Path(folder), "", "")
        with running_cluster() as cluster:
            theirs = cluster.database().replace("postgresql://", "postgresql+asyncpg://", 1)
            found += _on("PostgreSQL", plan, Path(folder), cluster.database(), theirs)
    return found


def _on(engine: str, plan: Plan, folder: Path, ours: str, theirs: str) -> list[Row]:
    with served(folder / f"ours-{engine}", ours) as (process, port, token):
        peer_token = secrets.token_hex(16)
        url = theirs or f"sqlite+aiosqlite:///{folder}/theirs.db"
        peer = Process("benchmarks.peers.hub_app", url, peer_token, peer="fastapi")
        with running(peer):
            peer_port = int(peer.line())
            return [
                row
                for call in CALLS
                for row in _compared(
                    engine,
                    call,
                    {
                        OURS: _subject(process, port, b"/api/v1/mcp", token, call),
                        THEIRS: _subject(peer, peer_port, PATH, peer_token, call),
                    },
                    plan,
                )
            ]


@contextmanager
def served(data: Path, database: str) -> Iterator[tuple[Process, int, str]]:
    """Our hub, filled."""
    process = Process("benchmarks.ours.hub_server", str(data), *([database] if database else []))
    with running(process):
        yield process, int(process.line()), process.line()


def _compared(engine: str, call: Call, subjects: dict[str, Subject], plan: Plan) -> list[Row]:
    versus = Versus("hub_calls", call.label, compare(subjects, plan))
    return [_named(row, engine) for row in versus.rows(OURS, [THEIRS], {THEIRS: call.bound})]


def _named(row: Row, engine: str) -> Row:
    return replace(row, what=row.what.replace(f", {OURS}", f", {engine}"))


def _subject(process: Process, port: int, path: bytes, token: str, call: Call) -> Subject:
    work = call.work()
    lines = stateless_lines(work) + f"Authorization: Bearer {token}\r\n".encode()
    framing = Http(path, lines)
    wires = [open_socket(port, framing) for _ in range(CLIENTS)]
    return Served([process], Load(wires, framing, work))
