"""MCP servers with many tools, over HTTP: the list of 200, and a call where there are 1,000.

The others run as they come: their tools, added with no option, have output schemas.
"""

from __future__ import annotations

from benchmarks.eras import ERAS, STATELESS, Version, http, list_tools, tool_call
from benchmarks.harness import Costs, Plan, Subject, compare, one_core
from benchmarks.load import Load, Served, open_socket
from benchmarks.processes import Process, running
from benchmarks.report import Row, at_most
from benchmarks.versus import Versus
from benchmarks.work import Work

TITLE = "MCP servers with many tools, over HTTP"
TEXT = "The quick brown fox jumps over the lazy dog."
LISTED, MANY, FEW = 200, 1_000, 5

OURS = "`async def`"
PEERS = ("mcp", "fastmcp")


def rows(plan: Plan) -> list[Row]:
    with one_core():
        return [*_lists(plan), *_calls(plan)]


def _lists(plan: Plan) -> list[Row]:
    names = ["echo", "report", *(f"look_{number}" for number in range(LISTED - 2))]
    processes = {name: _process(name, LISTED) for name in (OURS, *PEERS)}
    with running(*processes.values()):
        ports = {name: int(process.line()) for name, process in processes.items()}
        subjects: dict[str, Subject] = {
            f"{name}, {era}": _served(process, ports[name], era, list_tools(era, names))
            for name, process in processes.items()
            for era in ERAS
        }
        versus = Versus("mcp_tools", f"`tools/list` with {LISTED} tools", compare(subjects, plan))
    return [
        row
        for era in ERAS
        for row in versus.rows(f"{OURS}, {era}", [f"{peer}, {era}" for peer in PEERS])
    ]


def _calls(plan: Plan) -> list[Row]:
    processes = {
        (name, tools): _process(name, tools) for name in (OURS, *PEERS) for tools in (FEW, MANY)
    }
    with running(*processes.values()):
        # All of them are awaited before the first is connected to: ours cuts who says nothing.
        ports = {key: int(process.line()) for key, process in processes.items()}
        work = tool_call(STATELESS)(TEXT)
        costs = compare(
            {
                f"{name}, {tools}": _served(process, ports[name, tools], STATELESS, work)
                for (name, tools), process in processes.items()
            },
            plan,
        )
    return [_growth(name, costs) for name in (OURS, *PEERS)]


def _growth(name: str, costs: Costs) -> Row:
    many, few = f"{name}, {MANY}", f"{name}, {FEW}"
    return Row(
        group="mcp_tools",
        what=f"`tools/call` with {MANY:,} tools, {name}",
        ours=costs.cost(many) * 1e6,
        unit="µs",
        against=f"with {FEW} tools",
        theirs=costs.cost(few) * 1e6,
        ratio=costs.ratio(many, few),
        bound=at_most(1.1) if name == OURS else None,
    )


def _process(name: str, tools: int) -> Process:
    if name == OURS:
        return Process("benchmarks.ours.mcp_server", "http://127.0.0.1:0/mcp", str(tools))
    return Process(f"benchmarks.peers.{name}_server", "http", str(tools), peer=name)


def _served(process: Process, port: int, era: Version, work: Work) -> Subject:
    framing = http(era, port, work)
    wires = [open_socket(port, framing) for _ in range(16)]
    return Served([process], Load(wires, framing, work))
