"""Messages of 1 KB over the pipes of a process, sixteen in flight."""

from __future__ import annotations

import json

from benchmarks.framings import ContentLength, Framing, Newline
from benchmarks.harness import Costs, Plan, Subject, compare, one_core
from benchmarks.load import Load, Pipes, Served
from benchmarks.processes import Process, running
from benchmarks.report import Row, at_least, at_most
from benchmarks.versus import Versus
from benchmarks.work import Work, echo, padded, tool_call

TITLE = "Stdio, messages of 1 KB, 16 in flight"
SIZE = 1_024
WINDOW = 16

INLINE, TASKS = "`def`", "`async def`"

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}

LSP = {"python-lsp-jsonrpc": at_least(1.5), "pygls": at_least(50)}
MCP = {"mcp": at_least(40), "fastmcp": at_least(60)}


def rows(plan: Plan) -> list[Row]:
    with one_core():
        return _rows(plan)


def _rows(plan: Plan) -> list[Row]:
    lsp = {
        **_ours("content-length"),
        "python-lsp-jsonrpc": Process("benchmarks.peers.pylsp_stdio", peer="python-lsp-jsonrpc"),
        "pygls": Process("benchmarks.peers.pygls_stdio", peer="pygls"),
    }
    mcp = {
        **_ours("newline"),
        "mcp": Process("benchmarks.peers.mcp_stdio", peer="mcp"),
        "fastmcp": Process("benchmarks.peers.fastmcp_stdio", peer="fastmcp"),
    }
    with running(*lsp.values(), *mcp.values()):
        for name in MCP:
            _shake_hands(mcp[name])
        over_headers = _measure(lsp, ContentLength(), padded(echo, SIZE), plan)
        over_lines = _measure(mcp, Newline(), padded(tool_call, SIZE), plan)
        writes = _writes_per_answer(mcp[INLINE])
    lsp_rows = Versus("stream", "`echo`, Content-Length framing", over_headers)
    mcp_rows = Versus("stream", "`tools/call`, a message per line", over_lines)
    return [
        *lsp_rows.rows(INLINE, LSP, LSP),
        *lsp_rows.rows(TASKS, LSP),
        *mcp_rows.rows(INLINE, MCP, MCP),
        *mcp_rows.rows(TASKS, MCP, MCP),  # the tools of the others are async too
        Row(
            group="stream",
            what="calls of `write` per answer, `def`",
            ours=writes,
            unit="writes",
            bound=at_most(0.5),
            proves=("F-23",),
        ),
    ]


def _ours(framing: str) -> dict[str, Process]:
    command = ("benchmarks.ours.server", "stdio:", "--framing", framing)
    return {INLINE: Process(*command), TASKS: Process(*command, "--tasks")}


def _measure(processes: dict[str, Process], framing: Framing, work: Work, plan: Plan) -> Costs:
    subjects: dict[str, Subject] = {
        name: Served([process], Load([Pipes(process)], framing, work, window=WINDOW))
        for name, process in processes.items()
    }
    return compare(subjects, plan)


def _shake_hands(process: Process) -> None:
    """MCP's opening; the methods that follow need it."""
    process.ask(json.dumps(INITIALIZE))
    answer = json.loads(process.line())
    if "result" not in answer:
        raise AssertionError(f"initialize failed: {answer}")
    process.ask(json.dumps(INITIALIZED))


def _writes_per_answer(process: Process) -> float:
    load = Load([Pipes(process)], Newline(), padded(tool_call, SIZE), window=WINDOW)
    before = process.writes()
    load.send(count := 10_000)
    return (process.writes() - before) / count
