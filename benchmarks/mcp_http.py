"""MCP over HTTP: a call of a tool, on our own server and mounted on uvicorn.

Bounds are about what people get who install a library and add an `async def` that returns a
text, with no option. Such a peer says more than we do: its tool has an output schema, and its
answer repeats the text as structured content, in a stream of events; ours is text, in JSON. It
runs on what its own `run` starts, uvicorn with h11 and asyncio's loop; we run on our own server
without uvloop. Each is compared in the same version of the protocol.

Beside that, without bounds, what is like for like: mounted on the same uvicorn, which has
httptools and uvloop; a tool that returns an object, which all of us send as structured content;
and the others tuned, on httptools and uvloop, with answers in JSON, without structured content,
and in the version in which they are faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from benchmarks.eras import ERAS, Version, http, structured_call, tool_call
from benchmarks.harness import Plan, Subject, compare, one_core
from benchmarks.load import Load, Served, open_socket
from benchmarks.processes import Process, running
from benchmarks.report import Row, at_least
from benchmarks.versus import Versus
from benchmarks.work import Work

TITLE = "MCP over HTTP, `tools/call` on 16 connections, one in flight on each"
CONNECTIONS = 16
TOOLS = 5
TEXT = "The quick brown fox jumps over the lazy dog."

TASKS, INLINE, LOOPED = "`async def`", "`def`", "`async def`, with uvloop"
MOUNTED, MOUNTED_INLINE = "`async def`, on uvicorn", "`def`, on uvicorn"
OBJECTS = "`async def` that returns an object"
URL = "http://127.0.0.1:0/mcp"
OURS = {
    TASKS: (URL, str(TOOLS), "--no-extras"),
    INLINE: (URL, str(TOOLS), "--no-extras", "--inline"),
    LOOPED: (URL, str(TOOLS)),
    MOUNTED: ("asgi", str(TOOLS)),
    MOUNTED_INLINE: ("asgi", str(TOOLS), "--inline"),
}
PEERS = ("mcp", "fastmcp")  # their tools are async
COME = {peer: f"{peer} as it comes" for peer in PEERS}
SAME = {peer: f"{peer} on the same uvicorn" for peer in PEERS}
TUNED = {peer: f"{peer} tuned" for peer in PEERS}
OWN = {"mcp": at_least(25), "fastmcp": at_least(40)}
ON_UVICORN = {"mcp": at_least(12), "fastmcp": at_least(20)}
BOUNDS = {TASKS: OWN, INLINE: OWN, MOUNTED: ON_UVICORN, MOUNTED_INLINE: ON_UVICORN}


def rows(plan: Plan) -> list[Row]:
    with one_core():
        return _rows(plan)


def _rows(plan: Plan) -> list[Row]:
    processes = {
        **{name: Process("benchmarks.ours.mcp_server", *how) for name, how in OURS.items()},
        **{name: _peer(peer, "http") for peer, name in COME.items()},
        **{name: _peer(peer, "http-extras") for peer, name in SAME.items()},
        **{name: _peer(peer, "http-extras", "tuned") for peer, name in TUNED.items()},
    }
    with running(*processes.values()):
        ports = {name: int(process.line()) for name, process in processes.items()}

        def subject(name: str, era: Version, call: Callable[[str], Work]) -> Subject:
            return _served(processes[name], ports[name], era, call(TEXT))

        texts = {
            _in(era, name): subject(name, era, tool_call(era)) for name in processes for era in ERAS
        }
        objects = {
            _in(era, name): subject(process, era, structured_call(era))
            for name, process in {OBJECTS: TASKS, **{it: it for it in COME.values()}}.items()
            for era in ERAS
        }
        costs = compare(texts, plan)
        structured = compare(objects, plan)
    versus = Versus("mcp_http", "`tools/call`", costs)
    return [
        *(row for name in (TASKS, INLINE) for row in _as_it_comes(versus, name)),
        *_tuned(versus, LOOPED),
        *_in_turn(Versus("mcp_http", "`tools/call`", structured), OBJECTS, COME.values()),
        *(row for name in (MOUNTED, MOUNTED_INLINE) for row in _mounted(versus, name)),
    ]


def _as_it_comes(versus: Versus, ours: str) -> list[Row]:
    """Rows with bounds, in each version, and those against the others at their best."""
    bounded = []
    for era in ERAS:
        bounds = {_in(era, COME[peer]): bound for peer, bound in BOUNDS[ours].items()}
        bounded += versus.rows(_in(era, ours), bounds, bounds)
    return [*bounded, *_tuned(versus, ours)]


def _mounted(versus: Versus, ours: str) -> list[Row]:
    return [*_as_it_comes(versus, ours), *_in_turn(versus, ours, SAME.values())]


def _in_turn(versus: Versus, ours: str, peers: Iterable[str]) -> list[Row]:
    names = list(peers)
    return [
        row
        for era in ERAS
        for row in versus.rows(_in(era, ours), [_in(era, peer) for peer in names])
    ]


def _tuned(versus: Versus, ours: str) -> list[Row]:
    fastest = [versus.fastest(_in(era, peer) for era in ERAS) for peer in TUNED.values()]
    return [row for era in ERAS for row in versus.rows(_in(era, ours), fastest)]


def _in(era: Version, name: str) -> str:
    return f"{name}, {era}"


def _peer(peer: str, *how: str) -> Process:
    place, *options = how
    module = f"benchmarks.peers.{peer}_server"
    return Process(module, place, str(TOOLS), *options, peer=peer)


def _served(process: Process, port: int, era: Version, work: Work) -> Subject:
    framing = http(era, port, work)
    wires = [open_socket(port, framing) for _ in range(CONNECTIONS)]
    return Served([process], Load(wires, framing, work))
