"""The hub with 50,000 requirements: three tools called over MCP (2026-07-28), beside the same built
on FastAPI, SQLAlchemy and the official SDK, as one would write it today.

Both ask for a token, search full text in the database and audit every write in its transaction;
ours puts every read on record too. What is compared is the CPU of the server's process, on the same
engine: with SQLite that of the database is in it, that of PostgreSQL's own processes is not.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from benchmarks.eras import STATELESS, said
from benchmarks.harness import Plan, Subject, compare
from benchmarks.hub.corpus import COMMON, COUNT, RARE
from benchmarks.hub.filled import ENGINES, Engine, Hub, ours, sharing_a_core, theirs
from benchmarks.load import Served
from benchmarks.report import Bound, Row, at_least
from benchmarks.versus import Versus
from benchmarks.work import Work

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


GET = Call("get_requirement", {"id": "REQ-25000"}, READS, "`get_requirement`")
SEARCH_RARE = Call(
    "search_requirements", {"query": RARE}, READS, "`search_requirements`, a rare word"
)
SEARCH_COMMON = Call(
    "search_requirements", {"query": COMMON}, READS, "`search_requirements`, a common word"
)
CREATE = Call(
    "create_requirement",
    {"user_story_id": "US-001", "title": "Keep the logs", "description": "For a year."},
    WRITES,
    "`create_requirement`",
)
CALLS = (GET, SEARCH_RARE, SEARCH_COMMON, CREATE)


def rows(plan: Plan) -> list[Row]:
    return [row for engine in ENGINES for call in CALLS for row in _compared(engine, call, plan)]


def _compared(engine: Engine, call: Call, plan: Plan) -> list[Row]:
    # Both are there before anybody connects: a connection that rests for long is closed.
    hubs = {OURS: ours(engine), THEIRS: theirs(engine)}
    subjects = {name: _subject(hub, call) for name, hub in hubs.items()}
    with sharing_a_core(*hubs.values()):
        costs = compare(subjects, plan)
    versus = Versus("hub_calls", call.label, costs)
    found = versus.rows(OURS, [THEIRS], {THEIRS: call.bound})
    return [replace(row, what=f"{call.label}, {engine}") for row in found]


def _subject(hub: Hub, call: Call) -> Subject:
    return Served([hub.process], hub.load(call.work(), clients=CLIENTS))
