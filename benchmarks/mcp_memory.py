"""MCP in one process: a client calls a tool of a server, nothing in between.

Each of the others is compared in the era in which it is faster.
"""

from __future__ import annotations

from benchmarks.harness import Plan, compare
from benchmarks.processes import Process, running, slices
from benchmarks.report import Row, at_least
from benchmarks.versus import Versus

TITLE = "MCP in one process: client and server, `tools/call`"
TEXT = "The quick brown fox jumps over the lazy dog."

TASKS, INLINE = "`async def`", "`def`"
MODES = {"legacy": "2025-11-25", "modern": "2026-07-28"}
PEERS = {"mcp": at_least(20), "fastmcp": None}  # their tools are async


def rows(plan: Plan) -> list[Row]:
    processes = {
        f"{name}, {version}": process
        for mode, version in MODES.items()
        for name, process in {
            TASKS: Process("benchmarks.ours.mcp_memory", mode, "tasks", TEXT),
            INLINE: Process("benchmarks.ours.mcp_memory", mode, "inline", TEXT),
            **{peer: _peer(peer, mode) for peer in PEERS},
        }.items()
    }
    with running(*processes.values()):
        costs = compare(dict(slices(processes, TEXT)), plan)
    versus = Versus("mcp_memory", "client and server", costs)
    bounds = {
        versus.fastest(f"{peer}, {version}" for version in MODES.values()): bound
        for peer, bound in PEERS.items()
    }
    needed = {name: bound for name, bound in bounds.items() if bound is not None}
    return [
        row
        for name in (TASKS, INLINE)
        for version in MODES.values()
        for row in versus.rows(f"{name}, {version}", bounds, needed)
    ]


def _peer(peer: str, mode: str) -> Process:
    return Process(f"benchmarks.peers.{peer}_memory", mode, TEXT, peer=peer)
