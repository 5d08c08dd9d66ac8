"""MCP in one process: a client calls a tool of a server, nothing in between.

Bounds are about what people get who install a library, add an `async def` that returns a text
with no option, and call it by a client with no option but the version: 2026-07-28 is what each
client speaks by itself here. Such a peer's tool has an output schema, its answer repeats the
text as structured content, and its client checks that. Tuned, without bounds, it has no
structured content, and the version in which it is faster.
"""

from __future__ import annotations

from benchmarks.harness import Plan, compare
from benchmarks.processes import Process, running, slices
from benchmarks.report import Row, at_least
from benchmarks.versus import Versus

TITLE = "MCP in one process: client and server, `tools/call`"
TEXT = "The quick brown fox jumps over the lazy dog."

TASKS, INLINE = "`async def`", "`def`"
MODES = {"legacy": "2025-11-25", "auto": "2026-07-28"}
PEERS = ("mcp", "fastmcp")  # their tools are async
BOUNDS = {"mcp": at_least(20)}


def rows(plan: Plan) -> list[Row]:
    processes = {
        f"{name}, {version}": process
        for mode, version in MODES.items()
        for name, process in {
            TASKS: Process("benchmarks.ours.mcp_memory", mode, "tasks", TEXT),
            INLINE: Process("benchmarks.ours.mcp_memory", mode, "inline", TEXT),
            **{f"{peer} as it comes": _peer(peer, mode) for peer in PEERS},
            **{f"{peer} tuned": _peer(peer, mode, "tuned") for peer in PEERS},
        }.items()
    }
    with running(*processes.values()):
        costs = compare(dict(slices(processes, TEXT)), plan)
    versus = Versus("mcp_memory", "client and server", costs)
    return [row for name in (TASKS, INLINE) for row in _rows(versus, name)]


def _rows(versus: Versus, ours: str) -> list[Row]:
    bounded, tuned = [], []
    fastest = [versus.fastest(f"{peer} tuned, {it}" for it in MODES.values()) for peer in PEERS]
    for version in MODES.values():
        bounds = {f"{peer} as it comes, {version}": bound for peer, bound in BOUNDS.items()}
        peers = [f"{peer} as it comes, {version}" for peer in PEERS]
        bounded += versus.rows(f"{ours}, {version}", peers, bounds)
        tuned += versus.rows(f"{ours}, {version}", fastest)
    return [*bounded, *tuned]


def _peer(peer: str, mode: str, *options: str) -> Process:
    return Process(f"benchmarks.peers.{peer}_memory", mode, TEXT, *options, peer=peer)
