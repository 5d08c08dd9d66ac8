"""MCP over HTTP: a call of a tool, on our own server and mounted on uvicorn.

The others run as they come, on uvicorn with h11 and asyncio's own loop; what is mounted is also
compared with them on the same uvicorn, which has httptools and uvloop. Each is compared in the
era in which it is faster.
"""

from __future__ import annotations

from benchmarks.eras import ERAS, Version, http, tool_call
from benchmarks.harness import Plan, Subject, compare, one_core
from benchmarks.load import Load, Served, open_socket
from benchmarks.processes import Process, running
from benchmarks.report import Bound, Row, at_least
from benchmarks.versus import Versus

TITLE = "MCP over HTTP, `tools/call` on 16 connections, one in flight on each"
CONNECTIONS = 16
TOOLS = 5
TEXT = "The quick brown fox jumps over the lazy dog."

TASKS, INLINE = "`async def`", "`def`"
MOUNTED, MOUNTED_INLINE = "`async def`, on uvicorn", "`def`, on uvicorn"
OURS = {
    TASKS: ("http://127.0.0.1:0/mcp", str(TOOLS)),
    INLINE: ("http://127.0.0.1:0/mcp", str(TOOLS), "--inline"),
    MOUNTED: ("asgi", str(TOOLS)),
    MOUNTED_INLINE: ("asgi", str(TOOLS), "--inline"),
}
PEERS = ("mcp", "fastmcp")  # their tools are async
SAME = {peer: f"{peer} on the same uvicorn" for peer in PEERS}
OWN = {"mcp": at_least(40), "fastmcp": at_least(80)}
ON_UVICORN = {"mcp": at_least(15), "fastmcp": at_least(30)}
BOUNDS = {TASKS: OWN, INLINE: OWN, MOUNTED: ON_UVICORN, MOUNTED_INLINE: ON_UVICORN}


def rows(plan: Plan) -> list[Row]:
    with one_core():
        return _rows(plan)


def _rows(plan: Plan) -> list[Row]:
    processes = {
        **{name: Process("benchmarks.ours.mcp_server", *how) for name, how in OURS.items()},
        **{peer: _peer(peer, "http") for peer in PEERS},
        **{name: _peer(peer, "http-extras") for peer, name in SAME.items()},
    }
    with running(*processes.values()):
        ports = {name: int(process.line()) for name, process in processes.items()}
        costs = compare(
            {
                _in(era, name): _served(process, ports[name], era)
                for name, process in processes.items()
                for era in ERAS
            },
            plan,
        )
    versus = Versus("mcp_http", "`tools/call`", costs)
    same = [_fastest(versus, name) for name in SAME.values()]
    return [
        *(row for name in OURS for era in ERAS for row in _against_bare(versus, _in(era, name))),
        *(row for era in ERAS for row in versus.rows(_in(era, MOUNTED), same)),
    ]


def _against_bare(versus: Versus, ours: str) -> list[Row]:
    bounds: dict[str, Bound] = {
        _fastest(versus, peer): bound for peer, bound in BOUNDS[ours.rpartition(", ")[0]].items()
    }
    return versus.rows(ours, bounds, bounds)


def _fastest(versus: Versus, name: str) -> str:
    return versus.fastest(_in(era, name) for era in ERAS)


def _in(era: Version, name: str) -> str:
    return f"{name}, {era}"


def _peer(peer: str, how: str) -> Process:
    return Process(f"benchmarks.peers.{peer}_server", how, str(TOOLS), peer=peer)


def _served(process: Process, port: int, era: Version) -> Subject:
    work = tool_call(era)(TEXT)
    framing = http(era, port, work)
    wires = [open_socket(port, framing) for _ in range(CONNECTIONS)]
    return Served([process], Load(wires, framing, work))
