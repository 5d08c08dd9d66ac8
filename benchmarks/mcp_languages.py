"""MCP over HTTP beside the official SDKs of other languages: a call of a tool, with sessions.

Each runs as its guide shows it, with five tools that return a text; we run on our own server
without uvloop. *Tuned*, answers of the others are JSON instead of streams of events, and the Rust
SDK has no sessions, which spares it more. The load is that of the comparison with the Python SDKs.
"""

from __future__ import annotations

from typing import Final

from benchmarks.eras import HANDSHAKE, http, tool_call
from benchmarks.harness import Plan, Subject, compare, one_core
from benchmarks.load import Load, Served, open_socket
from benchmarks.processes import Process, running
from benchmarks.report import Bound, Row, at_least
from benchmarks.toolchains import built
from benchmarks.versus import Versus

TITLE = "MCP over HTTP beside SDKs of other languages, `tools/call` on 16 connections, 2025-11-25"
CONNECTIONS = 16
TOOLS = 5
TEXT = "The quick brown fox jumps over the lazy dog."

OURS: Final = {"`async def`": (), "`def`": ("--inline",)}
PEERS: Final[dict[str, tuple[str, tuple[str, ...], Bound]]] = {
    "rmcp (Rust) tuned": ("rmcp", ("tuned",), at_least(1.2)),
    "rmcp (Rust) as it comes": ("rmcp", (), at_least(2)),
    "Go SDK as it comes": ("go_sdk", (), at_least(3)),
    "TypeScript SDK as it comes": ("typescript_sdk", (), at_least(9)),
}


def rows(plan: Plan) -> list[Row]:
    with one_core():
        return _rows(plan)


def _rows(plan: Plan) -> list[Row]:
    url = "http://127.0.0.1:0/mcp"
    processes = {
        name: Process("benchmarks.ours.mcp_server", url, str(TOOLS), "--no-extras", *how)
        for name, how in OURS.items()
    }
    for name, (peer, options, _) in PEERS.items():
        command = built(peer)
        if command is not None:
            processes[name] = Process(peer, str(TOOLS), *options, command=command)
    with running(*processes.values()):
        subjects: dict[str, Subject] = {}
        for name, process in processes.items():
            work, port = tool_call(HANDSHAKE)(TEXT), int(process.line())
            framing = http(HANDSHAKE, port, work)
            wires = [open_socket(port, framing) for _ in range(CONNECTIONS)]
            subjects[name] = Served([process], Load(wires, framing, work))
        costs = compare(subjects, plan)
    bounds = {name: bound for name, (_, _, bound) in PEERS.items() if name in processes}
    versus = Versus("mcp_languages", "`tools/call`", costs)
    return [row for ours in OURS for row in versus.rows(ours, bounds, bounds)]
