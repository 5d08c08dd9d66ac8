"""Two workers of `accord serve` against one: a requirement read over JSON-RPC, MCP and REST.

The workers share the port (SO_REUSEPORT), their limits and their sessions. The kernel gives each
connection to one of them by chance, so that there are many. Unlike elsewhere they are not kept on
one core: two workers are for two cores, and on one they would drive each other out of its caches.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from benchmarks.eras import HANDSHAKE, STATELESS, open_session, said, stateless_lines
from benchmarks.framings import Framing, Http, Reader
from benchmarks.harness import Plan, compare
from benchmarks.load import Asked, Load, Socket, open_socket
from benchmarks.report import Row, at_most
from benchmarks.scaled import Deployment, deployed, share
from benchmarks.work import REQUESTS, Work

GROUP = "scale_calls"
CONNECTIONS = 200
TITLE = f"Two workers of the whole system against one, {CONNECTIONS} connections, PostgreSQL"
RATIO, SHARE = at_most(1.1), at_most(65)
LONGER: Final = 5
"""Slices are so many times as long as others: connections to the database are many, and all of them
are to have been used."""
REFERENCE: Final = "REQ-001"
MCP: Final = b"/api/v1/mcp"


class Reads(Struct, frozen=True):
    """A requirement, over REST."""

    def requests(self) -> list[bytes]:
        return [f"/api/v1/requirements/{REFERENCE}".encode()] * REQUESTS

    def check(self, answers: Sequence[bytes], count: int) -> None:
        for answer in set(answers):
            if json.loads(answer).get("reference_id") != REFERENCE:
                raise AssertionError(f"wrong answer: {answer[:500]!r}")
        if len(answers) != count:
            raise AssertionError(f"{len(answers):,} answers to {count:,} requests")


class Get:
    """GET of paths."""

    def __init__(self, lines: bytes) -> None:
        self._lines = lines

    def frame(self, message: bytes) -> bytes:
        return b"GET %b HTTP/1.1\r\nHost: 127.0.0.1:80\r\n%b\r\n" % (message, self._lines)

    def reader(self) -> Reader:
        return Http().reader()


class _Subject:
    """One deployment under load, and how it was shared among its workers."""

    def __init__(self, deployment: Deployment, framing: Framing, work: Asked) -> None:
        self._deployment = deployment
        self._framing = framing
        self._work = work
        self._before = deployment.each_cpu()

    def run(self, count: int) -> float:
        """With new connections each time: those that rest while others have their turn are closed,
        and the kernel shares them anew."""
        deployment, framing = self._deployment, self._framing
        wires = [open_socket(deployment.port, framing) for _ in range(CONNECTIONS)]
        load = Load(wires, framing, self._work)
        load.send(CONNECTIONS)
        before = deployment.cpu()
        load.send(count)
        used = deployment.cpu() - before
        load.close()
        return used

    def share(self) -> float:
        return share(self._before, self._deployment.each_cpu())


def rows(plan: Plan) -> list[Row]:
    with deployed() as (one, two):
        return [row for what in WAYS for row in _rows(what, one, two, plan)]


def _rows(what: str, one: Deployment, two: Deployment, plan: Plan) -> list[Row]:
    subjects = {"one": _Subject(one, *WAYS[what](one)), "two": _Subject(two, *WAYS[what](two))}
    costs = compare(dict(subjects), replace(plan, slice_seconds=LONGER * plan.slice_seconds))
    busier = subjects["two"].share()
    return [
        Row(
            group=GROUP,
            what=f"{what}: CPU of workers and database, one call",
            ours=costs.cost("two") * 1e6,
            unit="µs",
            against="one worker",
            theirs=costs.cost("one") * 1e6,
            ratio=costs.ratio("two", "one"),
            bound=RATIO,
        ),
        Row(
            group=GROUP,
            what=f"{what}: share of the busier worker",
            ours=busier * 100,
            unit="%",
            bound=SHARE,
        ),
    ]


def _rpc(deployment: Deployment) -> tuple[Framing, Asked]:
    work = Work("get_requirement", {"id": REFERENCE}, _is_it)
    return Http(b"/rpc", deployment.lines), work


def _stateless(deployment: Deployment) -> tuple[Framing, Asked]:
    work = Work("tools/call", said(STATELESS, _tool()), _is_it_in_a_tool)
    return Http(MCP, stateless_lines(work) + deployment.lines), work


def _handshake(deployment: Deployment) -> tuple[Framing, Asked]:
    """All calls in one session, which both workers know."""
    wire = Socket(deployment.port)
    lines = open_session(wire, path=MCP, lines=deployment.lines)
    wire.close()
    return Http(MCP, lines), Work("tools/call", _tool(), _is_it_in_a_tool)


def _rest(deployment: Deployment) -> tuple[Framing, Asked]:
    return Get(deployment.lines), Reads()


def _tool() -> dict[str, Any]:
    return {"name": "get_requirement", "arguments": {"id": REFERENCE}}


def _is_it(result: Any) -> bool:
    return bool(result["reference_id"] == REFERENCE)


def _is_it_in_a_tool(result: Any) -> bool:
    return _is_it(result["structuredContent"])


WAYS: Final = {
    "`get_requirement` over JSON-RPC": _rpc,
    f"`get_requirement` over MCP {STATELESS}": _stateless,
    f"`get_requirement` over MCP {HANDSHAKE}, in a session": _handshake,
    "`get_requirement` over REST": _rest,
}
