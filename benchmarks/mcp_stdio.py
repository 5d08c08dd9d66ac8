"""MCP over stdio: a call of a tool, 1 KB a message, sixteen in flight.

Bounds are about what people get who install a library and add an `async def` that returns a
text, with no option, in the same version of the protocol. Such a peer's tool has an output
schema, and its answer repeats the text as structured content; ours is text. We run without
uvloop, as the others do. Tuned, without bounds, they have no structured content, and the version
in which they are faster.
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
    ours = ("benchmarks.ours.mcp_server", "stdio:", str(TOOLS), "--no-extras")
    processes = {
        (name, era): process
        for era in ERAS
        for name, process in {
            TASKS: Process(*ours),
            INLINE: Process(*ours, "--inline"),
            **{f"{peer} as it comes": _peer(peer) for peer in PEERS},
            **{f"{peer} tuned": _peer(peer, "tuned") for peer in PEERS},
        }.items()
    }
    with running(*processes.values()):
        costs = compare(
            {f"{name}, {era}": _served(process, era) for (name, era), process in processes.items()},
            plan,
        )
    versus = Versus("mcp_stdio", "`tools/call`", costs)
    return [row for name in (TASKS, INLINE) for row in _against(versus, name)]


def _against(versus: Versus, ours: str) -> list[Row]:
    bounded, tuned = [], []
    fastest = [versus.fastest(f"{peer} tuned, {era}" for era in ERAS) for peer in PEERS]
    for era in ERAS:
        bounds = {f"{peer} as it comes, {era}": bound for peer, bound in PEERS.items()}
        bounded += versus.rows(f"{ours}, {era}", bounds, bounds)
        tuned += versus.rows(f"{ours}, {era}", fastest)
    return [*bounded, *tuned]


def _peer(peer: str, *options: str) -> Process:
    module = f"benchmarks.peers.{peer}_server"
    return Process(module, "stdio", str(TOOLS), *options, peer=peer)


def _served(process: Process, era: Version) -> Subject:
    if era == HANDSHAKE:
        shake_hands(process)
    work = padded(tool_call(era), SIZE)
    return Served([process], Load([Pipes(process)], Newline(), work, window=WINDOW))
