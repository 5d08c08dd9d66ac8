"""MCP over stdio: a call of a tool, 1 KB a message, sixteen in flight.

Each of the others is compared in the era in which it is faster.
"""

from __future__ import annotations

from benchmarks.eras import ERAS, HANDSHAKE, Version, shake_hands, tool_call
from benchmarks.framings import Newline
from benchmarks.harness import Plan, Subject, compare, one_core
from benchmarks.load import Load, Pipes, Served
from benchmarks.processes import Process, running
from benchmarks.report import Row, at_least
from benchmarks.versus import Versus
from benchmarks.work import padded

TITLE = "MCP over stdio, `tools/call` with messages of 1 KB, 16 in flight"
SIZE = 1_024
WINDOW = 16
TOOLS = 5

TASKS, INLINE = "`async def`", "`def`"
PEERS = {"mcp": at_least(40), "fastmcp": at_least(60)}  # their tools are async


def rows(plan: Plan) -> list[Row]:
    with one_core():
        return _rows(plan)


def _rows(plan: Plan) -> list[Row]:
    ours = ("benchmarks.ours.mcp_server", "stdio:", str(TOOLS))
    processes = {
        (name, era): process
        for era in ERAS
        for name, process in {
            TASKS: Process(*ours),
            INLINE: Process(*ours, "--inline"),
            **{peer: _peer(peer) for peer in PEERS},
        }.items()
    }
    with running(*processes.values()):
        costs = compare(
            {f"{name}, {era}": _served(process, era) for (name, era), process in processes.items()},
            plan,
        )
    versus = Versus("mcp_stdio", "`tools/call`", costs)
    bounds = {
        versus.fastest(f"{peer}, {era}" for era in ERAS): bound for peer, bound in PEERS.items()
    }
    return [
        row
        for name in (TASKS, INLINE)
        for era in ERAS
        for row in versus.rows(f"{name}, {era}", bounds, bounds)
    ]


def _peer(peer: str) -> Process:
    return Process(f"benchmarks.peers.{peer}_server", "stdio", str(TOOLS), peer=peer)


def _served(process: Process, era: Version) -> Subject:
    if era == HANDSHAKE:
        shake_hands(process)
    work = padded(tool_call(era), SIZE)
    return Served([process], Load([Pipes(process)], Newline(), work, window=WINDOW))
