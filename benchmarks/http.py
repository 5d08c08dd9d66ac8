"""HTTP: a POST with a call of 150 B, on connections that are kept."""

from __future__ import annotations

from benchmarks.framings import Http
from benchmarks.harness import Plan, Subject, compare, one_core
from benchmarks.load import Load, Served, open_socket
from benchmarks.processes import Process, running
from benchmarks.report import Row, at_least
from benchmarks.versus import Versus
from benchmarks.work import Work, echo, padded

TITLE = "HTTP, POST of 150 B on 16 connections, one in flight on each"
CONNECTIONS = 16
SIZE = 150

INLINE, TASKS, STOCK = "`def`", "`async def`", "`def`, asyncio's own loop"
PEERS = ("uvicorn", "fastapi-jsonrpc, `def`", "fastapi-jsonrpc, `async def`")
BOUNDS = {
    "uvicorn": at_least(2.5),
    "fastapi-jsonrpc, `def`": at_least(18),
    "fastapi-jsonrpc, `async def`": at_least(18),
}


def rows(plan: Plan) -> list[Row]:
    with one_core():
        return _rows(plan)


def _rows(plan: Plan) -> list[Row]:
    ours = ("benchmarks.ours.server", "http://127.0.0.1:0/rpc")
    processes = {
        INLINE: Process(*ours),
        TASKS: Process(*ours, "--tasks"),
        STOCK: Process(*ours, "--stock-loop"),
        "uvicorn": Process("benchmarks.peers.asgi_http", peer="uvicorn"),
        "fastapi-jsonrpc, `def`": _fastapi("inline"),
        "fastapi-jsonrpc, `async def`": _fastapi("tasks"),
    }
    work = padded(echo, SIZE)
    with running(*processes.values()):
        ports = {name: int(process.line()) for name, process in processes.items()}
        costs = compare(_served(processes, ports, work, CONNECTIONS), plan)
        alone = compare(_served(processes, ports, work, 1), plan)
    versus = Versus("http", "`echo`", costs)
    one = Versus("http", "`echo` on one connection", alone)
    return [
        *versus.rows(INLINE, PEERS, BOUNDS),
        *versus.rows(TASKS, PEERS),
        *versus.rows(STOCK, PEERS),
        *one.rows(INLINE, PEERS),
        *one.rows(TASKS, PEERS),
    ]


def _fastapi(kind: str) -> Process:
    return Process("benchmarks.peers.fastapi_jsonrpc_http", kind, peer="fastapi-jsonrpc")


def _served(
    processes: dict[str, Process], ports: dict[str, int], work: Work, connections: int
) -> dict[str, Subject]:
    subjects: dict[str, Subject] = {}
    for name, process in processes.items():
        wires = [open_socket(ports[name], Http()) for _ in range(connections)]
        subjects[name] = Served([process], Load(wires, Http(), work))
    return subjects
